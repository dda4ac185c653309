#pragma once

// What is printed while primitives are made and run (OCTET_VERBOSE, set_verbose). A line is one write, so
// that lines of several threads stay whole.

#include <string>

namespace octet::impl {

/// Prints "octet_verbose,event,cpu,…" on stdout as one write.
void print_verbose(const std::string &event, const std::string &line);

/// Milliseconds since an arbitrary start.
double now_ms();

} // namespace octet::impl
