#pragma once // SPDX-License-Identifier: Apache-2.0

// Contracts of sums of products: each requantization rule with each way to derive its parameters from scales,
// evaluated by the definitions in src/common. A new row of the table of rules is a new contract here.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "match/subject.hpp"
#include "octet/requantization.hpp"

namespace octet::match {

/// real = src * weights * acc = dst * (code - zero_point), and code lies between low and high.
struct accumulator_scales {
    float src = 0, weights = 0, dst = 0;
    std::int32_t zero_point = 0;
    std::int32_t low = -128, high = 127;
    std::int64_t magnitude = 0; ///< bound of |acc|, from which gemmlowp's legacy stage has its multiplier
    data_type type = data_type::s8;
    std::int32_t bias = 0; ///< in the device's own units, like acc

    double factor() const {
        return static_cast<double>(src) * static_cast<double>(weights) / static_cast<double>(dst);
    }
};

/// A rule with its parameters: from an accumulator to a code.
struct scaling {
    requantization_rule rule;
    std::string derivations; ///< those that give these parameters: "tflite_f64, tflite_f32prod"
    std::function<std::int32_t(std::int32_t)> code;
};

/// Scalings under one rule. Throws octet::error for one that cannot represent the factor.
std::vector<scaling> scalings_of(requantization_rule rule, const accumulator_scales &s);

/// Accumulators at which rules differ: around every boundary between two codes, around powers of two, at both
/// ends, and at random.
std::vector<std::int32_t> interesting_accumulators(const accumulator_scales &s, std::int64_t limit);

subject accumulator_subject(const description &d);
subject product_subject(const description &d);

} // namespace octet::match
