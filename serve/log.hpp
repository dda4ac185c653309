#pragma once // SPDX-License-Identifier: Apache-2.0

// The server's log, in words on stderr, and the access log, a JSON object per request. Both are written by
// threads of their own, line by line and at once. Where lines come faster than they can be written, or the
// disk is full, they are counted and lost: no request waits.

#include <cstdint>
#include <memory>
#include <string>

#include "core/service.hpp"

namespace octet::serve {

class log {
public:
    /// `access_file`: "" none, "-" standard output, else a file that lines are appended to. Throws octet::error.
    explicit log(const std::string &access_file);
    ~log();
    void info(const std::string &sentence);
    void error(const std::string &sentence);
    bool has_access_log() const;
    void write(const access &a);
    /// Opens the file anew, after somebody renamed it. Throws octet::error.
    void reopen();
    /// Waits until all is written, for a second at most.
    void flush();
    /// Lines of the access log that nobody will read.
    std::uint64_t lost_lines() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace octet::serve
