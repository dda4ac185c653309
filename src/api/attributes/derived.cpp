// Multiplies scales in the precision of each framework (common/derivation.hpp) and replaces them in the epilogue.
// SPDX-License-Identifier: Apache-2.0
#include "api/attributes/derived.hpp"

#include "common/derivation.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet::impl {

bool derives_from_scales(requantization_rule rule) {
    return takes_real_scales(rule) || (is_fixed_point(rule) && !facts_of(rule).fixed_point.has_offset);
}

namespace {

void require_known(const attribute_support &support, const char *name, const masked_values<float> &scales,
                   requantization_rule rule) {
    if (!scales.is_set())
        throw_invalid(support.operation, ": rule ", to_string(rule),
                      " needs set_scales of src, weights and dst, ", name,
                      " has none; or multipliers, pass them to set_requantization");
    if (scales.runtime)
        throw_unimplemented(support.operation, ": ", name, " scales are given at execution with rule ",
                            to_string(rule), ", implemented: at creation");
}

scale_derivation derivation_of(const attribute_support &support, const rule_facts &facts, bool is_one_scale) {
    if (facts.of == operators::tflite)
        return is_one_scale ? support.tflite_derivation : scale_derivation::tflite_f64;
    if (facts.real.has_f32_factor)
        return scale_derivation::ort_f32;
    if (facts.parameters == rule_parameters::real_scales)
        return support.real_scales_are_f32 ? scale_derivation::snps_onnx_per_channel
                                           : scale_derivation::tflite_f64;
    return facts.fixed_point.has_f32_factor ? scale_derivation::caffe2_f32 : scale_derivation::tflite_f64;
}

} // namespace

void derive_from_scales(const attribute_support &support, epilogue &e) {
    const rule_facts &facts = facts_of(e.rule);
    require_known(support, "src", e.src_scales, e.rule);
    require_known(support, "weights", e.weights_scales, e.rule);
    require_known(support, "dst", e.dst_scales, e.rule);
    const auto require_one = [&](const char *name, const masked_values<float> &scales) {
        if (scales.mask != 0)
            throw_invalid(support.operation, ": ", name, " scales mask is ", scales.mask, " with rule ",
                          to_string(e.rule), ", allowed: 0");
    };
    require_one("src", e.src_scales);
    require_one("dst", e.dst_scales);
    const float src = e.src_scales.values[0], dst = e.dst_scales.values[0];
    const scale_derivation how = derivation_of(support, facts, e.weights_scales.values.size() == 1);
    const int mask = e.weights_scales.mask;
    for (const float weights : e.weights_scales.values) {
        const double factor = factor_of_scales(how, src, weights, dst);
        const auto given = [&] {
            return text(support.operation, ": scales ", src, " of src, ", weights, " of weights, ", dst,
                        " of dst: ");
        };
        if (facts.parameters == rule_parameters::real_scales) {
            if (!(factor >= facts.real.lowest && factor < facts.real.end))
                throw_invalid(given(), "factor ", factor, " for rule ", facts.name,
                              ", allowed: ", facts.real.allowed);
            e.real_scales.values.push_back(factor);
            continue;
        }
        try {
            e.multipliers.values.push_back(from_double(e.rule, factor));
        } catch (const error &outside) {
            throw error(outside.status, given() + outside.what());
        }
    }
    (is_fixed_point(e.rule) ? e.multipliers.mask : e.real_scales.mask) = mask;
    e.real_scales_are_f32 = support.real_scales_are_f32;
    e.src_scales = e.weights_scales = e.dst_scales = {};
}

} // namespace octet::impl
