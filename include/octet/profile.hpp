#pragma once // SPDX-License-Identifier: Apache-2.0

// Runtimes by name. A profile says, for each operator of a framework and each condition on its tensors, which
// arithmetic the runtime gives it, how the multipliers are derived, and in which source that was read.
// `network_options::profile` chooses one; the other profiles describe libraries whose contracts `octet match`
// and doc/contracts.md name. Part of octet::network.

#include <optional>
#include <string>
#include <vector>

#include "octet/export.hpp"
#include "octet/requantization.hpp"

namespace octet {
inline namespace v0 {

/// The arithmetic of an operator under a condition. The first entry of an operator whose condition holds
/// counts.
struct profile_entry {
    std::string op;        ///< the framework's name: "CONV_2D"
    std::string condition; ///< a predicate on types, scales and constants; empty: always
    std::string kernel;    ///< the runtime's kernel: "XNNPACK", "LiteRT's optimized kernel", …
    /// The rule by which sums of products, or another operator, are requantized; empty where `arithmetic`
    /// alone says it.
    std::optional<requantization_rule> rule;
    std::string arithmetic; ///< the formula, in the notation of doc/arithmetic.md
    std::string derivation; ///< how multipliers follow from scales; empty: there are none
    std::string source;     ///< file and version
};

/// A runtime.
struct profile {
    std::string name;                   ///< "litert-2026.08-x86"
    std::string framework;              ///< "tflite", "onnx"; empty: a library of single operations
    std::string summary;                ///< the runtime, its version and the machine
    std::vector<profile_entry> entries; ///< the first entry of an operator whose condition holds decides
};

/// All profiles; those of TFLite's networks come first.
OCTET_API const std::vector<profile> &all_profiles();

/// Returns the profile of that name. For "NAME+SUBSTITUTE", which takes from SUBSTITUTE the contracts that
/// NAME lacks, it is the profile NAME. Throws `invalid_arguments` with the closest names for a name that does
/// not exist.
OCTET_API const profile &find_profile(const std::string &name);

} // namespace v0
} // namespace octet
