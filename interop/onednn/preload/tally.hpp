#pragma once // SPDX-License-Identifier: Apache-2.0

// Counts this process's primitives for the summary with which `octet preload` ends: how many Octet took and
// left, by kind and reason, and the time of their executions. Nothing is counted unless OCTET_DNNL_REPORT
// names a file, to which lines are added when the process ends: "on Octet|on oneDNN", kind, reason, how many,
// between tabs; and "seconds" with both times.

#include <string>

namespace octet::onednn {

bool is_tallied();

/// A primitive descriptor was asked for. `reason` is empty where Octet took it.
void tally(const std::string &kind, const std::string &reason);

} // namespace octet::onednn
