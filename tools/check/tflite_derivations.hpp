#pragma once // SPDX-License-Identifier: Apache-2.0

// The multipliers and limits that a vector file recorded from the framework, against what Octet derives from
// the scales of the same case. The expressions, and the precision of each, are TensorFlow Lite's.

#include <string>
#include <vector>

#include "check/vector_file.hpp"

namespace octet::vectors {

struct operator_record {
    std::string op;
    json_value params;
    std::vector<tensor_record> inputs, outputs;
    std::vector<std::pair<std::string, tensor_record>> variants; ///< results of other builds, by their names
};

/// Empty, or the first recorded parameter that Octet derives differently, with both values.
std::string derivation_complaint(const operator_record &r);
/// Returns the complaint about a case of LiteRT's default runtime, or an empty string; `path` names the
/// kernel that made the case: xnnpack, builtin.
std::string litert_derivation_complaint(const operator_record &r, const std::string &path);

} // namespace octet::vectors
