#pragma once // SPDX-License-Identifier: Apache-2.0

// TFLite's sum of two rescaled 8-bit codes, in one multiplication each. The framework rounds three times:
// each rescaled code, 20 bits up, and the rescaled sum. A `code_sum` is one weighted sum, rounded once:
//
//   (x * a + y * b + 2^(shift-1)) >> shift
//
// with weights of 30 bits, so near to the exact one that for most scales no pair of codes tells the
// difference. Codes are so few that all pairs are tried; where a pair does, there is no code_sum.

#include <cstdint>
#include <optional>

#include "common/element.hpp"
#include "octet/requantization.hpp"

namespace octet::impl::jit {

/// Bits of the low part of a weight.
constexpr int code_sum_low_bits = 15;

struct code_sum {
    /// The parts of both weights: 15 bits from 0, and what lies above, in 16 bits.
    std::int16_t a_low, a_high, b_low, b_high;
    int shift; ///< from the high parts on, 15 less than that of the sum
    std::int32_t zero_point_a, zero_point_b;
    bool ties_away; ///< from zero: the rule's ties of negative sums are rounded down
};

/// Codes that are centred by a known zero point within their range.
struct centred_codes {
    type_range range;
    std::int32_t zero_point = 0;
};

/// requantize(requantize(x << 20, m.a) + requantize(y << 20, m.b), m.dst), y negated to subtract.
std::optional<code_sum> make_code_sum(requantization_rule rule, const add_multipliers &m,
                                      const centred_codes &x, const centred_codes &y, bool subtracts = false);

/// Words of its parameter vectors, the same for every column.
constexpr int code_sum_params = 5;
std::int32_t code_sum_word(const code_sum &s, int param);

} // namespace octet::impl::jit
