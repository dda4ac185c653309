#pragma once

// The server's log, in words on stderr, and the access log, a JSON object per request. Both are written by a thread of their
// own; where requests come faster than a file takes lines, the oldest lines are lost and no request waits.

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
    /// Opens the file anew, after somebody renamed it.
    void reopen();

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace octet::serve
