#pragma once // SPDX-License-Identifier: Apache-2.0

// Runtimes by name. A profile says, for each operator of a framework and each condition on its tensors, which arithmetic the
// runtime gives it, how the multipliers are derived, and in which source that was read. `network_options::profile` chooses
// one; the other profiles describe libraries whose contracts `octet match` and doc/contracts.md name. Part of octet::network.

#include <optional>
#include <string>
#include <vector>

#include "octet/export.hpp"
#include "octet/requantization.hpp"

namespace octet {
inline namespace v0 {

/// The arithmetic of an operator under a condition. The first entry of an operator whose condition holds counts.
struct profile_entry {
    std::string op;        ///< the framework's name: "CONV_2D"
    std::string condition; ///< on types, scales and constants; empty: always
    std::string kernel;    ///< what runs it there: "XNNPACK", "LiteRT's optimized kernel", …
    /// The rule of sums of products, and of what else it names alone; empty where `arithmetic` is all that names it.
    std::optional<requantization_rule> rule;
    std::string arithmetic; ///< the formula, in the notation of doc/arithmetic.md
    std::string derivation; ///< of its multipliers from scales; empty: it has none
    std::string source;     ///< file and version
};

/// A runtime.
struct profile {
    std::string name;      ///< "litert-2026.08-x86"
    std::string framework; ///< of its networks: "tflite", "onnx"; empty: a library of single operations
    std::string summary;   ///< what runtime, version and machine
    std::vector<profile_entry> entries; ///< the first of an operator whose condition holds decides
};

/// All of them, those of TFLite's networks first.
OCTET_API const std::vector<profile> &all_profiles();

/// By name. Of "NAME+SUBSTITUTE", which takes what NAME has no contract for from SUBSTITUTE, that of NAME. Throws
/// `invalid_arguments` for a name that there is not, with those that are closest.
OCTET_API const profile &find_profile(const std::string &name);

} // namespace v0
} // namespace octet
