// From real scales to the parameters of a rule, each exactly as its framework computes them (spec:
// doc/arithmetic.md).
// SPDX-License-Identifier: Apache-2.0
#include "common/derivation.hpp"

#include <cmath>

#include "common/bits.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"
#include "octet/error.hpp"
#include "octet/float_environment.hpp"

namespace octet {

namespace impl {

double factor_of_scales(scale_derivation how, float src_scale, float weights_scale, float dst_scale) {
    const double product_f64 = static_cast<double>(src_scale) * static_cast<double>(weights_scale);
    const float product_f32 = src_scale * weights_scale;
    switch (how) {
    case scale_derivation::tflite_f64:
        return product_f64 / static_cast<double>(dst_scale);
    case scale_derivation::tflite_f32prod:
        return static_cast<double>(product_f32) / static_cast<double>(dst_scale);
    case scale_derivation::caffe2_f32:
    case scale_derivation::ort_f32:
        return product_f32 / dst_scale;
    case scale_derivation::snps_onnx_per_channel:
        return static_cast<float>(product_f64 / static_cast<double>(dst_scale));
    }
    throw_invalid("real_multiplier: unknown derivation");
}

void require_scale(const char *call, const char *name, float scale) {
    if (!(scale > 0.f) || std::isinf(scale))
        throw_invalid(call, ": ", name, " is ", scale, ", allowed: a positive finite scale");
}

} // namespace impl

inline namespace v0 {

namespace {

using impl::require_scale;
using impl::throw_invalid;
using derivation = impl::multiplier_derivation;

double checked_factor(const char *call, scale_derivation how, float src_scale, float weights_scale,
                      float dst_scale) {
    require_scale(call, "src_scale", src_scale);
    require_scale(call, "weights_scale", weights_scale);
    require_scale(call, "dst_scale", dst_scale);
    return impl::factor_of_scales(how, src_scale, weights_scale, dst_scale);
}

void require(bool ok, requantization_rule rule, double real, const char *allowed) {
    if (!ok)
        throw_invalid("from_double: factor ", real, " for rule ", to_string(rule), ", allowed: ", allowed);
}

/// Q31: real = multiplier * 2^(shift - 31), multiplier in [2^30, 2^31) or 0; below 2^-32 it is flushed to 0.
/// TFLite's and gemmlowp's QuantizeMultiplier: a mantissa that rounds up to 2^31 has no int32 and becomes
/// 2^30 of the next exponent; a shift below -31 would be undefined in their right shift, so they return 0.
fixed_point_multiplier q31(double real) {
    if (real == 0)
        return {};
    int exponent = 0;
    const double mantissa = std::frexp(real, &exponent);
    auto q = static_cast<std::int64_t>(impl::round_half_away(mantissa * 2147483648.0));
    if (q == std::int64_t{1} << 31) {
        q /= 2;
        exponent++;
    }
    if (exponent < -31)
        return {};
    return {static_cast<std::int32_t>(q), exponent, 0};
}

/// Mantissa and exponent of a binary32 value: real = (mantissa | 2^23) * 2^(biased_exponent - 150).
struct float_bits {
    std::int32_t mantissa24, biased_exponent;
};
/// QNNPACK and Caffe2 take the 24 bits of an f32 factor as they are, where TFLite rounds a double to 31 bits.
float_bits bits_of(float x) {
    const std::uint32_t u = impl::bits(x);
    return {static_cast<std::int32_t>((u & 0x7fffffu) | 0x800000u),
            static_cast<std::int32_t>(u >> 23 & 0xff)};
}

fixed_point_multiplier ev_rte15_from(requantization_rule rule, double real) {
    constexpr double h = 0.5 * (65536 - 0.51) / 65536;
    require(real > 0 && real < h, rule, real, "0 < M < 0.49999610");
    int a = 0;
    while (std::ldexp(real, a) < h / 2)
        a++;
    require(16 + a <= 62, rule, real, "M >= 2^-48");
    auto multiplier = static_cast<std::int32_t>(impl::round_half_away(std::ldexp(real, 16 + a)));
    int shift = 16 + a;
    while (multiplier % 2 == 0 && shift > 1) {
        multiplier /= 2;
        shift--;
    }
    return {multiplier, shift, 0};
}

} // namespace

double real_multiplier(scale_derivation how, float src_scale, float weights_scale, float dst_scale) {
    const default_float_environment environment;
    return checked_factor("real_multiplier", how, src_scale, weights_scale, dst_scale);
}

std::vector<double> real_multipliers(scale_derivation how, float src_scale,
                                     const std::vector<float> &weights_scales, float dst_scale) {
    const default_float_environment environment; // changing it takes longer than a factor
    std::vector<double> factors;
    factors.reserve(weights_scales.size());
    for (const float scale : weights_scales)
        factors.push_back(checked_factor("real_multipliers", how, src_scale, scale, dst_scale));
    return factors;
}

fixed_point_multiplier rounded_shift_from_double(double real, int bitwidth, bool is_signed) {
    const default_float_environment environment;
    require(real > 0 && std::isfinite(real), requantization_rule::rounded_shift, real, "M > 0 and finite");
    if (bitwidth < 2 || bitwidth > 32)
        throw_invalid("rounded_shift_from_double: bitwidth is ", bitwidth, ", allowed: 2 to 32");
    const int mantissa_bits = is_signed ? bitwidth - 1 : bitwidth;
    const int whole_bits = static_cast<int>(std::ceil(std::log2(real)));
    const int fraction_bits = mantissa_bits - whole_bits;
    require(fraction_bits >= -31 && fraction_bits <= 62, requantization_rule::rounded_shift, real,
            "a right shift from -31 to 62");
    // The reciprocal is an int32 here, so an unsigned 32-bit mantissa is clipped like a signed one.
    const double highest = std::fmin(std::ldexp(1., mantissa_bits) - 1, impl::int32_max);
    const double mantissa = std::fmin(impl::round_to_even(std::ldexp(real, fraction_bits)), highest);
    return {static_cast<std::int32_t>(mantissa), fraction_bits, 0};
}

fixed_point_multiplier from_double(requantization_rule rule, double real) {
    const default_float_environment environment;
    require(real >= 0 && std::isfinite(real), rule, real, "0 <= M, finite");
    switch (impl::facts_of(rule).fixed_point.derivation) {
    case derivation::q31: {
        const fixed_point_multiplier m = q31(real);
        require(m.shift <= 30, rule, real, "M < 2^30");
        return m;
    }
    case derivation::clipped_q31: {
        const fixed_point_multiplier m = q31(real);
        return m.shift > 30 ? fixed_point_multiplier{impl::int32_max, 30, 0} : m;
    }
    case derivation::fraction_q31: {
        const fixed_point_multiplier m = q31(real);
        require(m.shift <= 0, rule, real, "M < 1");
        return {m.multiplier, -m.shift, 0};
    }
    case derivation::f32_times_128:
    case derivation::f32_bits:
        return from_float(rule, static_cast<float>(real));
    case derivation::q32:
        return rounded_shift_from_double(real, 32);
    case derivation::q15:
        return ev_rte15_from(rule, real);
    case derivation::none:
        break;
    }
    throw_invalid("from_double: rule ", to_string(rule),
                  ", allowed: ", impl::names_of_rules([](const impl::rule_facts &row) {
                      return row.fixed_point.derivation != derivation::none;
                  }));
}

fixed_point_multiplier from_float(requantization_rule rule, float real) {
    const default_float_environment environment;
    const derivation how = impl::facts_of(rule).fixed_point.derivation;
    if (how == derivation::f32_times_128) {
        require(real >= 0x1p-32f && real < 1.f, rule, static_cast<double>(real), "2^-32 <= M < 1");
        const float_bits b = bits_of(real);
        return {b.mantissa24 << 7, 126 - b.biased_exponent, 0};
    }
    if (how == derivation::f32_bits) {
        require(real >= 0x1p-32f && real < 256.f, rule, static_cast<double>(real), "2^-32 <= M < 256");
        const float_bits b = bits_of(real);
        return {b.mantissa24, 150 - b.biased_exponent, 0};
    }
    return from_double(rule, static_cast<double>(real));
}

} // namespace v0
} // namespace octet
