// The compiler's vectors. A code is rounded by an addition that leaves no room for a fraction.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/recurrent/loops.hpp"

#include <cmath>

#include "cpu/machine/avx2.hpp"

namespace octet::impl::recurrent {

namespace {

/// Sums of s32 wrap.
OCTET_AVX2_INLINE float sum_of(std::int32_t x, std::int32_t h, float factor) {
    return static_cast<float>(
               static_cast<std::int32_t>(static_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(h))) /
           factor;
}

OCTET_AVX2_INLINE std::uint8_t code_of(float h, float scale, float shift, float highest) {
    constexpr float no_fraction = 0x1.8p23f;
    float v = h * scale + shift;
    v = v > 0.f ? v : 0.f;
    v = v < highest ? v : highest;
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(v + no_fraction - no_fraction));
}

} // namespace

void shift_biases(const std::int32_t *of_x, const std::int32_t *of_h, const float *factor, float shift,
                  float *bias, float *bias_h, dim_t count) {
    for (dim_t k = 0; k < count; k++) {
        const auto x = static_cast<float>(of_x[k]), h = static_cast<float>(of_h[k]);
        bias[k] = bias[k] - ((bias_h ? x : h + x) * shift) / factor[k];
        if (bias_h)
            bias_h[k] = bias_h[k] - (h * shift) / factor[k];
    }
}

OCTET_AVX2 void add_gates(const std::int32_t *x, const std::int32_t *h, const gate_params &p,
                          float *__restrict gate, dim_t count) {
    for (dim_t k = 0; k < count; k++)
        gate[k] = sum_of(x[k], h[k], p.factor[k]) + p.bias[k];
}
OCTET_AVX2 void add_gates(const float *x, const float *h, const gate_params &p, float *__restrict gate,
                          dim_t count) {
    for (dim_t k = 0; k < count; k++)
        gate[k] = (x[k] + h[k]) + p.bias[k];
}

OCTET_AVX2 void add_reset_gate(const std::int32_t *x, const std::int32_t *h, const gate_params &p,
                               const float *bias_h, const float *reset, float *__restrict gate, dim_t count) {
    for (dim_t k = 0; k < count; k++)
        gate[k] = std::fma(reset[k], static_cast<float>(h[k]) / p.factor[k] + bias_h[k],
                           static_cast<float>(x[k]) / p.factor[k]) +
                  p.bias[k];
}
OCTET_AVX2 void add_reset_gate(const float *x, const float *h, const gate_params &p, const float *bias_h,
                               const float *reset, float *__restrict gate, dim_t count) {
    for (dim_t k = 0; k < count; k++)
        gate[k] = std::fma(reset[k], h[k] + bias_h[k], x[k]) + p.bias[k];
}

OCTET_AVX2 void add_peephole(const float *weights, const float *c, float *__restrict gate, dim_t count) {
    for (dim_t k = 0; k < count; k++)
        gate[k] = std::fma(weights[k], c[k], gate[k]);
}

OCTET_AVX2 void update_cells(const float *i, const float *f, const float *candidate, float *__restrict c,
                             float *__restrict copy, dim_t count) {
    for (dim_t k = 0; k < count; k++)
        copy[k] = c[k] = std::fma(i[k], candidate[k], c[k] * f[k]);
}

OCTET_AVX2 void state_loops::store_product(const float *a, const float *b, std::uint8_t *__restrict to,
                                           dim_t count) const {
    const float scale = scale_, shift = shift_, highest = highest_;
    for (dim_t k = 0; k < count; k++)
        to[k] = code_of(a[k] * b[k], scale, shift, highest);
}
OCTET_AVX2 void state_loops::store_product(const float *a, const float *b, float *__restrict to,
                                           dim_t count) const {
    for (dim_t k = 0; k < count; k++)
        to[k] = a[k] * b[k];
}

OCTET_AVX2 void state_loops::store(const float *h, std::uint8_t *__restrict to, dim_t count) const {
    const float scale = scale_, shift = shift_, highest = highest_;
    for (dim_t k = 0; k < count; k++)
        to[k] = code_of(h[k], scale, shift, highest);
}
OCTET_AVX2 void state_loops::store(const float *h, float *__restrict to, dim_t count) const {
    for (dim_t k = 0; k < count; k++)
        to[k] = h[k];
}

OCTET_AVX2 void state_loops::load(const std::uint8_t *codes, float *__restrict to, dim_t count) const {
    const float scale = scale_, shift = shift_;
    for (dim_t k = 0; k < count; k++)
        to[k] = (static_cast<float>(codes[k]) - shift) / scale;
}
OCTET_AVX2 void state_loops::load(const float *states, float *__restrict to, dim_t count) const {
    for (dim_t k = 0; k < count; k++)
        to[k] = states[k];
}

template <>
OCTET_AVX2 void state_loops::store_gru(const float *update, const float *candidate, const float *before,
                                       std::uint8_t *__restrict to, dim_t count) const {
    const float scale = scale_, shift = shift_, highest = highest_;
    for (dim_t k = 0; k < count; k++)
        to[k] =
            code_of(std::fma(1.f - update[k], candidate[k], update[k] * before[k]), scale, shift, highest);
}
template <>
OCTET_AVX2 void state_loops::store_gru(const float *update, const float *candidate, const float *before,
                                       float *__restrict to, dim_t count) const {
    for (dim_t k = 0; k < count; k++)
        to[k] = std::fma(1.f - update[k], candidate[k], update[k] * before[k]);
}

OCTET_AVX2 void state_loops::store_projected(const std::int32_t *acc, const float *sums, const float *factor,
                                             std::uint8_t *__restrict to, dim_t rows, dim_t channels) const {
    const float scale = scale_, shift = shift_, highest = highest_;
    for (dim_t n = 0; n < rows; n++, acc += channels, to += channels)
        for (dim_t k = 0; k < channels; k++)
            to[k] =
                code_of((static_cast<float>(acc[k]) - sums[k] * shift) / factor[k], scale, shift, highest);
}

} // namespace octet::impl::recurrent
