// Vectors hold elements of a row side by side. Contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "loops/cached_codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "loops/levels.hpp"

namespace octet::loops {

void cached_codes::read(dim_t row, float *codes_of, float *values) const {
    const auto *const bytes = static_cast<const std::uint8_t *>(codes) + row * row_bytes();
    for (dim_t i = 0; i < width; i++)
        codes_of[i] = bits == 8 ? static_cast<float>(static_cast<std::int8_t>(bytes[i]))
                                : static_cast<float>((bytes[i / 2] >> (i % 2 * 4) & 15) - 8);
    for (dim_t i = 0; i < width; i++)
        values[i] = has_one_scale_behind_sums() ? codes_of[i] : codes_of[i] * scale(i);
}

void cached_codes::round(const float *x, void *to) const {
    auto *const bytes = static_cast<std::uint8_t *>(to);
    const float least = bits == 8 ? -128.f : -8.f, most = bits == 8 ? 127.f : 7.f;
    for (dim_t i = 0; i < width; i++) {
        const float code = std::clamp(std::nearbyint(x[i] * (1.f / scale(i))), least, most);
        if (bits == 8)
            bytes[i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(code));
        else if (i % 2 == 0)
            bytes[i / 2] = static_cast<std::uint8_t>(code + 8.f);
        else
            bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] | static_cast<int>(code + 8.f) << 4);
    }
}

namespace {

OCTET_LOOP float dot_of_codes(const cached_codes &c, const float *q, const float *codes_of,
                              const float *values) {
    constexpr dim_t sixteen = 16;
    float lanes[2][sixteen] = {};
    const dim_t whole = c.width / sixteen * sixteen;
    for (dim_t i = 0; i < whole; i += sixteen)
        for (dim_t l = 0; l < sixteen; l++) {
            float &lane = lanes[i / sixteen % 2][l];
            lane = __builtin_fmaf(q[i + l], values[i + l], lane);
        }
    for (dim_t l = 0; l < sixteen; l++)
        lanes[0][l] = lanes[0][l] + lanes[1][l];
    for (dim_t half = sixteen / 2; half > 0; half /= 2)
        for (dim_t l = 0; l < half; l++)
            lanes[0][l] = lanes[0][l] + lanes[0][l + half];
    float sum = lanes[0][0];
    for (dim_t i = whole; i < c.width; i++) {
        const float product = q[i] * codes_of[i];
        sum = c.has_one_scale_behind_sums() ? sum + product
              : c.is_per_element            ? sum + product * c.scale(i)
                                            : __builtin_fmaf(product, c.scale(i), sum);
    }
    return c.has_one_scale_behind_sums() ? sum * c.scales[0] : sum;
}

OCTET_LOOP void add_codes(const cached_codes &c, float p, const float *codes_of, const float *values,
                          float *y) {
    const dim_t whole = c.has_one_scale_behind_sums() ? c.width : c.width / 16 * 16;
    for (dim_t i = 0; i < whole; i++)
        y[i] = __builtin_fmaf(p, values[i], y[i]);
    for (dim_t i = whole; i < c.width; i++)
        y[i] = __builtin_fmaf(p * codes_of[i], c.scale(i), y[i]);
}

} // namespace

cached_code_loops::cached_code_loops()
    : dot(compiled_for_level<dot_of_codes>()), add(compiled_for_level<add_codes>()) {}

} // namespace octet::loops
