// The rules differ in what they take: fixed-point multipliers of a double or of a float, reals, or the scales of
// the arguments themselves.
// SPDX-License-Identifier: Apache-2.0
#include "octet/contract.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "octet/error.hpp"

namespace octet {
inline namespace v0 {
namespace model {
namespace {

using rule = requantization_rule;

std::vector<double> real_multipliers(scale_derivation how, const accumulator &acc) {
    return octet::real_multipliers(how, acc.src_scale, acc.weights_scales, acc.dst_scale);
}

/// One factor: the same for the whole tensor.
int mask_of(const accumulator &acc, int channel_mask) {
    return acc.weights_scales.size() > 1 ? channel_mask : 0;
}

std::vector<fixed_point_multiplier> multipliers(rule r, const accumulator &acc) {
    const auto factors =
        real_multipliers(derives_from_f32(r) ? scale_derivation::caffe2_f32 : acc.derivation, acc);
    std::vector<fixed_point_multiplier> result;
    for (std::size_t i = 0; i < factors.size(); i++)
        result.push_back(needs_magnitudes(r) ? legacy_scale_multiplier(factors[i], acc.magnitudes.at(i))
                                             : from_double(r, factors[i]));
    return result;
}

void set_output_scales(primitive_attr &attr, rule r, const accumulator &acc) {
    const auto factors = real_multipliers(scale_derivation::ort_f32, acc);
    attr.set_requantization(r);
    attr.set_output_scales(mask_of(acc, acc.dst_mask), std::vector<float>(factors.begin(), factors.end()));
}

void set_argument_scales(primitive_attr &attr, rule r, const accumulator &acc) {
    attr.set_requantization(r);
    attr.set_scales(OCTET_ARG_SRC, 0, {acc.src_scale});
    attr.set_scales(OCTET_ARG_WEIGHTS, mask_of(acc, acc.weights_mask), acc.weights_scales);
    attr.set_scales(OCTET_ARG_DST, 0, {acc.dst_scale});
}

void append_clip_f32(octet::post_ops &ops, float low, float high) {
    ops.append_eltwise(1.f, algorithm::eltwise_clip, low, high);
}

} // namespace

bool has_real_bias(requantization_rule r) { return r == rule::f32_v3; }
bool needs_magnitudes(requantization_rule r) { return r == rule::gemmlowp_legacy_scale; }

void set_contract(primitive_attr &attr, requantization_rule r, const accumulator &acc) {
    const int mask = mask_of(acc, acc.dst_mask);
    if (r == rule::automatic)
        return set_contract(attr, tflite_rule, acc);
    switch (parameters_of(r)) {
    case rule_parameters::none:
        throw error(status::invalid_arguments, std::string("rule ") + to_string(r) +
                                                   " gives 32-bit accumulators, a network needs 8-bit codes");
    case rule_parameters::scales:
        return has_real_bias(r) ? set_argument_scales(attr, r, acc) : set_output_scales(attr, r, acc);
    case rule_parameters::real_scales:
        return attr.set_requantization(
            r, mask, real_multipliers(r == rule::onnx_f64 ? scale_derivation::ort_f32 : acc.derivation, acc));
    case rule_parameters::multipliers:
        return attr.set_requantization(r, mask, multipliers(r, acc));
    }
}

void append_range(octet::post_ops &ops, requantization_rule r, const accumulator &acc, std::int32_t low,
                  std::int32_t high) {
    low -= acc.dst_zero_point; // post-ops come before the destination zero point
    high -= acc.dst_zero_point;
    if (r == rule::f32) // a clip in s32 would round before the zero point is added
        append_clip_f32(ops, static_cast<float>(low), static_cast<float>(high));
    else if (has_real_bias(r)) // values are real here
        append_clip_f32(ops, static_cast<float>(low) * acc.dst_scale,
                        static_cast<float>(high) * acc.dst_scale);
    else
        ops.append_clip(low, high);
}

fixed_point_multiplier legacy_scale_multiplier(double real, std::int64_t magnitude) {
    const double widest = std::min(65535., std::numeric_limits<std::int32_t>::max() /
                                               std::max(1., static_cast<double>(magnitude)));
    fixed_point_multiplier result;
    for (std::int32_t shift = 0; shift <= 31; shift++) {
        const double multiplier = std::round(std::ldexp(real, shift));
        if (multiplier > widest)
            break;
        result = {static_cast<std::int32_t>(multiplier), shift, 0};
    }
    if (result.multiplier == 0)
        throw error(status::invalid_arguments, "rule gemmlowp_legacy_scale cannot represent the factor " +
                                                   std::to_string(real) + " for accumulators up to " +
                                                   std::to_string(magnitude));
    return result;
}

} // namespace model
} // namespace v0
} // namespace octet
