#pragma once // SPDX-License-Identifier: Apache-2.0

// TFLite's integer arithmetic on single numbers, for operators that carry state from element to element and so are
// loops of their own between Octet's products. Formulas as in doc/arithmetic.md, rule tflite_2step.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "network/graph/graph.hpp"

namespace octet::model {

template <typename T> T saturated(std::int64_t x) {
    return static_cast<T>(
        std::clamp<std::int64_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

/// a * b / 2^31, ties up.
inline std::int32_t high_product(std::int32_t a, std::int32_t b) {
    return saturated<std::int32_t>((std::int64_t{a} * b + (std::int64_t{1} << 30)) >> 31);
}

/// x * m.multiplier * 2^(m.shift - 31), rounded twice: the product down from ties, the right shift away from zero.
inline std::int32_t scaled(std::int32_t x, const fixed_point_multiplier &m) {
    const auto shifted =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << std::max(m.shift, 0)); // wraps, as there
    const std::int32_t high = high_product(shifted, m.multiplier);
    const int right = std::max(-m.shift, 0);
    const auto mask = static_cast<std::int32_t>((std::int64_t{1} << right) - 1);
    return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0) ? 1 : 0);
}

/// 1 / sqrt(x), of 0 that of 1: Newton's steps from 1 in Q3.28, for x times a power of 4 in [1/4, 1).
fixed_point_multiplier inverse_square_root(std::int32_t x);

/// 2^16 / (1 + exp(-i / 24)) for i = 0 … 255, to within 1.2: TFLite's published values, which no rounding of the
/// function gives.
extern const std::uint16_t sigmoid_table[256];

/// Q3.12 -> Q0.15: the table over 3x / 2^9 steps, between them a line.
inline std::int16_t sigmoid_q15(std::int16_t x) {
    const std::int32_t position = 3 * x;
    const auto magnitude = static_cast<std::uint32_t>(std::abs(position));
    const std::uint32_t i = magnitude >> 9, rest = magnitude & 0x1ff; // i <= 192
    const std::uint32_t low = sigmoid_table[i], high = sigmoid_table[i + 1];
    const std::uint32_t y = (low << 9) + rest * (high - low); // Q0.25
    return static_cast<std::int16_t>((position >= 0 ? y + (1u << 9) : (1u << 25) - y + (1u << 9) - 1) >> 10);
}

/// A fixed-point number whose least bit is worth 2^power -> Q0.15, as 2 sigmoid(2x) - 1. Powers: -27 … 2.
inline std::int16_t tanh_q15(std::int16_t x, int power) {
    const int left = power + 12; // to Q3.12
    const std::int32_t position = left >= 0 ? x * (3 << left) : (x * 3 + (1 << (-left - 1))) >> -left;
    const auto magnitude = static_cast<std::uint32_t>(std::abs(position));
    const std::uint32_t i = magnitude >> 8, rest = magnitude & 0xff;
    std::int32_t y = 0xffff << 8; // Q0.24
    if (i < 255)
        y = static_cast<std::int32_t>((std::uint32_t{sigmoid_table[i]} << 8) +
                                      rest * (std::uint32_t{sigmoid_table[i + 1]} - sigmoid_table[i]));
    constexpr std::int32_t half = 1 << 23, nearest = 1 << 7;
    return static_cast<std::int16_t>((position >= 0 ? y - half + nearest : half - y + nearest - 1) >> 8);
}

} // namespace octet::model
