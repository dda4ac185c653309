#pragma once // SPDX-License-Identifier: Apache-2.0

// A program that answers questions, line by line.

#include <string>
#include <vector>

#include <sys/types.h>

namespace octet::tools {

/// Started with one end of a socket as its file descriptor 3; what it prints goes to stderr. Ends when the object does,
/// by the end of the channel, or else by force.
class child_process {
public:
    /// `arguments[0]` is looked for in PATH. Throws octet::error if it cannot be started.
    explicit child_process(const std::vector<std::string> &arguments);
    ~child_process();
    child_process(const child_process &) = delete;
    child_process &operator=(const child_process &) = delete;

    /// Sends a line and waits for one. Throws octet::error if the program has ended.
    std::string ask(const std::string &line);

private:
    [[noreturn]] void fail() const;

    std::string name_;
    int channel_ = -1;
    pid_t child_ = 0;
    std::string received_; ///< behind the last line
};

} // namespace octet::tools
