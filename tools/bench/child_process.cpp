// A socket rather than pipes: a write to a program that has ended is then an error instead of a signal.
// SPDX-License-Identifier: Apache-2.0
#include "bench/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "octet/error.hpp"

namespace octet::tools {
namespace {

constexpr int childs_end = 3;

[[noreturn]] void refuse(const std::string &what, int error_number) {
    throw error(status::runtime_error, what + ": " + std::generic_category().message(error_number));
}

} // namespace

child_process::child_process(const std::vector<std::string> &arguments) : name_(arguments.at(0)) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        refuse(name_ + " cannot be talked to", errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], childs_end);
    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    const int failure = posix_spawnp(&child_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    channel_ = ends[0];
    if (failure == 0)
        return;
    close(channel_);
    refuse(name_ + " cannot be started", failure);
}

child_process::~child_process() {
    constexpr int patience = 2'000'000, step = 10'000; // microseconds
    close(channel_);
    for (int waited = 0; waited < patience; waited += step) {
        if (waitpid(child_, nullptr, WNOHANG) != 0)
            return;
        usleep(step);
    }
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
}

std::string child_process::ask(const std::string &line) {
    const std::string message = line + '\n';
    for (std::size_t sent = 0; sent < message.size();) {
        const ssize_t n = send(channel_, message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            fail();
        sent += static_cast<std::size_t>(n < 0 ? 0 : n);
    }
    for (;;) {
        if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
            std::string answer = received_.substr(0, end);
            received_.erase(0, end + 1);
            return answer;
        }
        char bytes[4096];
        const ssize_t n = recv(channel_, bytes, sizeof bytes, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            fail();
        received_.append(bytes, static_cast<std::size_t>(n < 0 ? 0 : n));
    }
}

void child_process::fail() const {
    throw error(status::runtime_error, name_ + " ended; what it printed stands above");
}

} // namespace octet::tools
