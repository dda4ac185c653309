#pragma once // SPDX-License-Identifier: Apache-2.0

// Products whose source is quantized while they run, a second time: quantizers and orders by the formulas of
// doc/dynamic.md alone (dynamic_formulas.cpp), and random products (dynamic_draw.cpp).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "octet/octet.hpp"

namespace octet::oracle::dynamic {

/// A product with the numbers of its tensors, all of which their types hold exactly.
struct product {
    dim_t m = 1, n = 1, k = 1, group = 1; ///< k: no groups
    source_quantization source{};
    combination order = combination::dynamic_row;
    data_type src = data_type::f32, weights = data_type::s8, scale_type = data_type::f32,
              dst = data_type::f32;
    std::vector<float> x;                       ///< {M, K}
    std::vector<std::int32_t> w;                ///< {N, K}
    std::vector<float> scales;                  ///< {N, G}
    std::vector<std::int32_t> zero_points;      ///< {N, G}, or {N}, or empty
    std::vector<float> bias;                    ///< {N}, or empty
    bool has_relu = false;                      ///< behind the product
    std::vector<float> addend;                  ///< added behind it: {M, N}, or empty
    float dst_scale = 1.f;                      ///< of codes
    std::optional<std::int32_t> dst_zero_point; ///< of codes

    dim_t groups() const { return (k + group - 1) / group; }
    bool has_groups() const { return group != k; }
};

/// What is right: {M, N}, as floats that dst's type holds, or codes.
std::vector<float> result(const product &p);

/// The number rounded to a type of floats, to nearest and even.
float rounded(float x, data_type type);

product draw(std::uint64_t seed, std::uint64_t number);

} // namespace octet::oracle::dynamic
