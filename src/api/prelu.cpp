// The front of PReLU: weights are slopes, broadcast where their dimensions are 1. tflite rules have two
// multipliers, one for each sign of the source; TFLite Micro derives both in double, unlike those of
// LEAKY_RELU (api/eltwise.cpp), whose quotients are f32.
// SPDX-License-Identifier: Apache-2.0
#include "octet/prelu.hpp"

#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "common/prelu_problem.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "prelu";

prelu_problem shapes_of(const prelu_forward::desc &d) {
    prelu_problem p;
    p.src = d.src.data;
    p.weights = d.weights.data;
    p.dst = d.dst.data;
    resolve_elementwise(operation, p.src, p.dst);
    require_tensor(operation, "weights", p.weights, p.src.ndims, p.src.ndims);
    require_numbers(operation, "weights", p.weights);
    resolve_activation_layout(p.weights);
    require_plain(operation, "weights", p.weights);
    for (int i = 0; i < p.src.ndims; i++)
        if (p.weights.dims[i] != p.src.dims[i] && p.weights.dims[i] != 1)
            throw_invalid(operation, ": weights have dims ", dims_text(p.weights),
                          ", allowed: ", dims_text(p.src), " or 1 in any dimension");
    return p;
}

/// TFLite Micro's multipliers, from scales in f64.
void lower_tflite(prelu_problem &p, const primitive_attr &attr) {
    for (const memory_desc *md : {&p.src, &p.weights, &p.dst})
        require_type(operation, "a tensor", *md, {data_type::s8, data_type::u8});
    const auto given = attr.input_multipliers().find(OCTET_ARG_WEIGHTS);
    const bool has_alpha = given != attr.input_multipliers().end();
    if (attr.multipliers().is_set() != has_alpha || (has_alpha && !attr.scales().empty()))
        throw_invalid(
            operation, ": rule ", to_string(p.out_stage.rule),
            " needs multipliers of set_requantization and set_input_multiplier(WEIGHTS), or scales of ",
            "SRC, WEIGHTS and DST");
    if (has_alpha) {
        if (attr.multipliers().mask != 0)
            throw_invalid(operation, ": multipliers mask is ", attr.multipliers().mask, ", allowed: 0");
        p.multiplier = attr.multipliers().values[0];
        p.negative_multiplier = given->second;
        return;
    }
    const float src = tensor_scale(operation, attr, OCTET_ARG_SRC),
                weights = tensor_scale(operation, attr, OCTET_ARG_WEIGHTS),
                dst = tensor_scale(operation, attr, OCTET_ARG_DST);
    p.multiplier = from_double(p.out_stage.rule, static_cast<double>(src) / static_cast<double>(dst));
    p.negative_multiplier =
        from_double(p.out_stage.rule, real_multiplier(scale_derivation::tflite_f64, src, weights, dst));
}

void lower_rule(prelu_problem &p, const primitive_attr &attr) {
    if (attr.output_scales().is_set())
        throw_invalid(operation, ": output scales, which it does not have");
    require_operators(operation, p.out_stage.rule, {operators::reals, operators::tflite});
    if (is_tflite(p.out_stage.rule))
        return lower_tflite(p, attr);
    if (!attr.scales().empty() || p.src_zero_points.values.is_set() || p.weights_zero_points.values.is_set())
        throw_invalid(operation, ": scales or zero points of sources with rule f32, allowed with tflite_*");
}

primitive_desc_ptr make(const prelu_forward::desc &d, const request &r) {
    const primitive_attr &attr = r.attr;
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        prelu_problem p = shapes_of(d);
        attribute_support support{operation};
        support.accumulates = false;
        const tensor_map tensors{
            {OCTET_ARG_SRC, &p.src}, {OCTET_ARG_WEIGHTS, &p.weights}, {OCTET_ARG_DST, &p.dst}};
        reject_unknown_arguments(support, attr, tensors);
        p.src_zero_points = tensor_zero_point(support, attr, OCTET_ARG_SRC, p.src);
        p.weights_zero_points = tensor_zero_point(support, attr, OCTET_ARG_WEIGHTS, p.weights);
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        p.out_stage.rule = elementwise_rule(attr, p.out_stage.rule);
        lower_rule(p, attr);

        return make_primitive_desc(r, tensors, {}, p);
    });
}

} // namespace

const described_operation &prelu_operation() {
    static const described_operation row = described(
        {operation,
         {{"prelu", "prelu src:s8:1x64x14x14:nhwc weights:f32:1x64x1x1:nhwc dst:s8:1x64x14x14:nhwc"}},
         tensor_roles::by_rank,
         in_place_of_src},
        prelu_forward::desc(prop_kind::forward_inference, {}, {}, {}), no_parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

prelu_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &weights,
                          const memory::desc &dst)
    : prop(prop), src(src), weights(weights), dst(dst) {}
prelu_forward::desc::desc(prop_kind prop, const memory::desc &data, const memory::desc &weights)
    : desc(prop, data, weights, data) {}

impl::primitive_desc_ptr check(const prelu_forward::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
