// Exponentials by distance from the maximum, in the arithmetic of each framework.
// SPDX-License-Identifier: Apache-2.0
#include "common/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/fixed_point.hpp"
#include "common/requantize.hpp"

namespace octet::impl {

softmax_form softmax_form_of(const softmax_problem &p) {
    switch (operators_of(p.out_stage.rule)) {
    case operators::tflite:
        return softmax_form::tflite;
    case operators::xnnpack:
        return softmax_form::litert;
    case operators::litert_neon:
        return softmax_form::litert_16;
    case operators::onnxruntime:
        return is_ort_of_reals(p) ? softmax_form::f32 : softmax_form::ort;
    default:
        return softmax_form::f32;
    }
}

softmax_table<std::int32_t> tflite_exponentials(const softmax_problem &p) {
    constexpr int integer_bits = 5; // arguments of exp: Q5.26
    constexpr dim_t max_scaled = ((dim_t{1} << integer_bits) - 1) << (31 - integer_bits);
    const dim_t largest = max_scaled >> p.multiplier.shift;
    softmax_table<std::int32_t> table{};
    for (int d = 0; d < 256 && d <= largest; d++)
        table[static_cast<std::size_t>(d)] =
            exp_on_negative_values(requantize(p.out_stage.rule, -d, p.multiplier), integer_bits);
    return table;
}

softmax_table<std::int32_t> tflite_terms(const softmax_problem &p) {
    softmax_table<std::int32_t> terms = tflite_exponentials(p);
    for (std::int32_t &e : terms)
        e = rounding_divide_by_pot(e, softmax_sum_integer_bits);
    return terms;
}

int tflite_softmax_shift(const softmax_problem &p, int bits_over_unit) {
    return bits_over_unit + 31 - (p.dst.data_type == data_type::s16 ? 16 : 8);
}

softmax_table<float> ort_exponentials(const softmax_problem &p) {
    // Scaled so that a row of them still sums below the largest f32, with e^5 to spare.
    const auto length = static_cast<float>(p.src.dims[p.axis]);
    const float log_of_share = std::log(std::numeric_limits<float>::max() / length);
    const double scale = static_cast<double>(p.src_scale);
    const double shift = std::max(0., static_cast<double>(log_of_share) - 5.) / scale;
    softmax_table<float> table;
    for (int d = 0; d < 256; d++)
        table[static_cast<std::size_t>(d)] = static_cast<float>(std::exp((shift - d) * scale));
    return table;
}

float ort_softmax_multiplier(const softmax_problem &p) { return std::floor(1.f / p.dst_scale); }

bool ort_softmax_overflows(const softmax_problem &p) {
    const float multiplier = ort_softmax_multiplier(p);
    return std::isinf(ort_exponentials(p)[0] * multiplier) || multiplier >= 0x1p31f;
}

softmax_table<float> litert_exponentials(const softmax_problem &p) {
    softmax_table<float> table;
    for (int d = 0; d < 256; d++)
        table[static_cast<std::size_t>(d)] =
            static_cast<float>(std::exp(static_cast<double>(-p.src_scale * static_cast<float>(d))));
    return table;
}

float litert_softmax_half(const softmax_problem &p) {
    const bool adds_half = p.dst.data_type == data_type::u8 && !facts_of(p.out_stage.rule).is_of_aarch64;
    return adds_half ? 0.5f : std::nextafter(0.5f, 0.f);
}

softmax_table<std::int32_t> litert_16_bit_exponentials(const softmax_problem &p) {
    softmax_table<std::int32_t> table;
    for (int d = 0; d < 256; d++) {
        const auto e =
            static_cast<float>(std::exp(static_cast<double>(p.src_scale * static_cast<float>(-d))));
        const double in_16_bits = static_cast<double>(e * 65535.f) + 0.5;
        table[static_cast<std::size_t>(d)] = static_cast<std::int32_t>(std::min(in_16_bits, 65535.));
    }
    return table;
}

fixed_point_multiplier litert_16_bit_share(const softmax_problem &p, std::int32_t sum) {
    const float share = 1.f / (static_cast<float>(sum) * p.dst_scale);
    return from_double(requantization_rule::tflite_2step, static_cast<double>(share));
}

algorithm exponential_of(const softmax_problem &p) {
    return is_ort_of_reals(p) ? algorithm::eltwise_ort_exp : algorithm::eltwise_exp;
}

float sum_of_lanes(const softmax_problem &p, softmax_lane_sums sums) {
    if (!is_ort_of_reals(p))
        return reduce_lanes(sums, [](float a, float b) { return a + b; });
    for (std::size_t i = 0; i < sums.size() / 2; i++)
        sums[i] += sums[i + sums.size() / 2];
    for (std::size_t distance = 1; distance < sums.size() / 2; distance *= 2)
        for (std::size_t i = 0; i < sums.size() / 2; i += 2 * distance)
            sums[i] += sums[i + distance];
    return sums[0];
}

} // namespace octet::impl
