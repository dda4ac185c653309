#pragma once // SPDX-License-Identifier: Apache-2.0

// The contract finder: inputs at which contracts differ, and which contracts agree with a device's outputs
// for them. A device that agrees with none gets no name.
//
//     const subject s = make_subject(parse_description(json, "op.json"));
//     const inputs probes = propose(s, 256);
//     const verdict v = judge(s, probes, outputs of the device);

#include <string>
#include <vector>

#include "match/subject.hpp"

namespace octet::match {

constexpr std::size_t fewest_outputs = 16, most_outputs = 1024;

/// Inputs for about `outputs` results of the device: first rows that tell contracts apart, several for each
/// pair, then rows from everywhere. Fewer where the operator has no more inputs. Throws octet::error unless
/// 16 <= outputs <= 1024.
inputs propose(const subject &s, std::size_t outputs);

/// The first result that a contract computes otherwise.
struct excluded_contract {
    std::size_t contract;         ///< index
    std::size_t different, first; ///< how many results differ; index of the first
    std::int32_t expected, got;
    std::string where; ///< its inputs
};

struct verdict {
    std::size_t results = 0;
    std::vector<std::size_t> consistent; ///< contracts, by index
    std::vector<excluded_contract> excluded;
    /// If several are consistent: inputs at which they differ. Has no rows if no input that was tried tells
    /// them apart.
    inputs separating;
};

/// Throws octet::error for outputs of another shape or type, for NaN, and for fewer than 16 results.
verdict judge(const subject &s, const inputs &probes, const values &outputs);

/// As `judge`, in lines: names, then what excludes the others.
std::string to_text(const verdict &v, const subject &s);
/// The verdict as a JSON object: "results", "consistent", "excluded", "refused", "separable".
std::string to_json_text(const verdict &v, const subject &s);

} // namespace octet::match
