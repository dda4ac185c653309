#pragma once

#include <string>

namespace octet::impl {

/// Prints "octet_verbose,event,cpu,…" on stdout as one write.
void print_verbose(const std::string &event, const std::string &line);

/// Milliseconds since an arbitrary start.
double now_ms();

} // namespace octet::impl
