// SPDX-License-Identifier: Apache-2.0
#include "tools/tests/command/process.hpp"

#include <cstdio>
#include <memory>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

namespace octet::tests {
namespace {

/// An unnamed file instead of a pipe: the program never waits for a reader, whichever text comes first.
class captured_text {
public:
    captured_text() : file_(std::tmpfile(), std::fclose) {
        if (!file_)
            throw std::runtime_error("no temporary file");
    }
    int descriptor() const { return fileno(file_.get()); }
    std::string text() const {
        std::string result;
        std::rewind(file_.get());
        for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get()))
            result += static_cast<char>(c);
        return result;
    }

private:
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file_;
};

} // namespace

outcome run_program(const std::string &program, const std::vector<std::string> &arguments,
                    const output_target &standard_output) {
    const captured_text out, err;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (standard_output.is_closed)
        posix_spawn_file_actions_addclose(&actions, 1);
    else if (!standard_output.file.empty())
        posix_spawn_file_actions_addopen(&actions, 1, standard_output.file.c_str(), O_WRONLY, 0);
    else
        posix_spawn_file_actions_adddup2(&actions, out.descriptor(), 1);
    posix_spawn_file_actions_adddup2(&actions, err.descriptor(), 2);

    std::vector<char *> argv = {const_cast<char *>(program.c_str())};
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    pid_t child = 0;
    const int failure = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0)
        throw std::runtime_error(program + " cannot be started");
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out.text(), err.text()};
}

} // namespace octet::tests
