#pragma once // SPDX-License-Identifier: Apache-2.0

// Why ONNX Runtime's outputs are not Octet's: the differences that doc/onnx.md lists, as far as a program can
// tell which is at work.

#include <functional>
#include <string>
#include <vector>

#include "octet/network.hpp"

namespace octet::tools {

/// The reason in words, or an empty text: none that is listed applies. `theirs`: the bytes of each output of
/// the network `ours`, which has run. `without_rows_alike` makes it anew without that option and runs it.
std::string difference_reason(const std::vector<std::string> &theirs, const network &ours,
                              const std::function<network()> &without_rows_alike);

} // namespace octet::tools
