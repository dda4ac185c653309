#pragma once // SPDX-License-Identifier: Apache-2.0

// Verbose mode (OCTET_VERBOSE, set_verbose, set_log): rows of a table, printed while primitives are made and
// run. doc/verbose.md describes the columns.

#include <string>

namespace octet::impl {

/// One row: "octet_verbose,event,cpu,implementation,rest". The first row is preceded by the table's head and by
/// what runs here. Rows of several threads stay whole.
void log_event(const char *event, const std::string &implementation, const std::string &rest);

/// Milliseconds since an arbitrary start, and a time to 0.1 us: "0.7340".
double now_ms();
std::string milliseconds_text(double milliseconds);

} // namespace octet::impl
