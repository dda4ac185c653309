#pragma once // SPDX-License-Identifier: Apache-2.0

// The user's environment variables: OCTET_DNNL decides whether Octet takes problems at all;
// OCTET_DNNL_VERBOSE prints which it takes.

#include <string>

namespace octet::onednn {

enum class policy {
    off,       ///< everything falls back
    automatic, ///< Octet computes what it takes
    only       ///< an int8 problem that Octet refuses is an error
};
policy policy_in_force();

/// Adds a byte to the file that OCTET_DNNL_REPORT names, if it names one: `octet preload` wants to know
/// whether anything in its program called oneDNN.
void report_call();

/// True if `tell` prints.
bool is_verbose();
/// One line on standard error, unless the same was told before: "octet: taken: …".
void tell(const std::string &line);

} // namespace octet::onednn
