#pragma once // SPDX-License-Identifier: Apache-2.0

// Idioms: one line of client code each, with what it prints. The same lines are compiled against oneDNN's
// header and against octet/compat/dnnl.hpp, and must print the same. Begin reading at idioms.inl.

#include <string>
#include <utility>
#include <vector>

namespace idioms {

/// Name and output of each, in order; a failure's output is its status.
using results = std::vector<std::pair<std::string, std::string>>;

/// Run in a library of its own, which hides the rest of oneDNN's header.
namespace onednn {
__attribute__((visibility("default"))) results run();
} // namespace onednn

namespace octet {
results run();
} // namespace octet

} // namespace idioms
