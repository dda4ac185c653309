// Writes the rest of an epilogue as a task of the stream kernel: bias and scale first, as the rule orders
// them, then the post-ops.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/separate_epilogue.hpp"

#include "common/element.hpp"
#include "cpu/stream/programs.hpp"
#include "cpu/stream/task_builder.hpp"

namespace octet::impl::separate_epilogue {

namespace {

bool is_per_channel(const memory_desc &operand, int channel_dim) {
    for (int d = 0; d < operand.ndims; d++)
        if (d != channel_dim && operand.dims[d] != 1)
            return false;
    return true;
}

} // namespace

bool bias_enters_sums(const epilogue &out, int channel_dim) {
    if (out.bias.ndims == 0 || !is_integer(out.bias.data_type) || facts_of(out.rule).f32.adds_bias_in_f32)
        return false;
    return is_per_channel(out.bias, channel_dim);
}

namespace {

/// True if values with this mask have one per row, or lie side by side along a row.
bool are_read_in_rows(int mask, const memory_desc &dst, int channel_dim) {
    const bool vary_in_row = (mask & (1 << channel_dim)) && dst.dims[channel_dim] != 1;
    for (int d = channel_dim + 1; vary_in_row && d < dst.ndims; d++)
        if (mask & (1 << d) && dst.dims[d] != 1)
            return false;
    return true;
}

/// True if a float rule's scale or bias changes from row to row and can be read as a tensor, as the program of the
/// stream reads the sums. Parameter vectors would be as large as the destination, and filled for each execution.
bool scales_by_row(const epilogue &out, int channel_dim) {
    const int channel = 1 << channel_dim;
    const bool by_row = ((out.output_scales.mask | out.src_scales.mask) & ~channel) != 0;
    const bool bias_by_row = !is_per_channel(out.bias, channel_dim);
    const bool is_bias_read =
        out.bias.ndims == 0 || out.bias.dims[channel_dim] == 1 || out.bias.strides[channel_dim] == 1;
    return is_float(out.rule) && (by_row || bias_by_row) && is_bias_read &&
           (out.dst_scales.mask & ~channel) == 0 &&
           are_read_in_rows(out.output_scales.mask, out.dst, channel_dim) &&
           are_read_in_rows(out.src_scales.mask, out.dst, channel_dim);
}

/// Rule and bias of a float rule, on the sums as f32: bound_epilogue::scale.
void scale(stream::task_builder &b, const epilogue &out, const memory_desc &bias, int channel_dim) {
    using op = jit::stream_op;
    const f32_facts &facts = facts_of(out.rule).f32;
    const auto add_bias = [&] {
        b.load(bias, OCTET_ARG_BIAS);
        if (is_integer(bias.data_type))
            b.step(op::to_f32);
        b.binary(algorithm::binary_add);
    };
    const auto params_of = [&](const masked_values<float> &scales, int arg) {
        return b.values(scales, OCTET_ARG_ATTR_SCALES | arg, out.dst);
    };
    const auto is_by_row = [&](const masked_values<float> &scales) {
        return (scales.mask & ~(1 << channel_dim)) != 0;
    };
    const bool has_bias = bias.ndims != 0 && facts.adds_bias_in_f32;
    if (has_bias && !facts.adds_bias_after_scale)
        add_bias();
    if (out.output_scales.is_set()) {
        if (is_by_row(out.output_scales)) {
            b.load(out.output_scales, OCTET_ARG_ATTR_OUTPUT_SCALES, out.dst);
            b.binary(algorithm::binary_mul);
        } else {
            b.step(op::multiply, b.values(out.output_scales, OCTET_ARG_ATTR_OUTPUT_SCALES, out.dst));
        }
    } else if (out.src_scales.is_set() || out.weights_scales.is_set() || facts.factor_has_dst_scale()) {
        const bool one_by_one = out.scale_src_first && facts.divides_after_post_ops;
        if (out.src_scales.is_set())
            b.load(out.src_scales, OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC, out.dst);
        else
            b.load({0, {1.f}, false}, 0, out.dst);
        if (one_by_one)
            b.binary(algorithm::binary_mul);
        if (out.weights_scales.is_set())
            b.step(op::multiply, params_of(out.weights_scales, OCTET_ARG_WEIGHTS));
        if (facts.factor_has_dst_scale() && out.dst_scales.is_set())
            b.step(op::divide, params_of(out.dst_scales, OCTET_ARG_DST));
        if (!one_by_one)
            b.binary(algorithm::binary_mul);
    }
    if (has_bias && facts.adds_bias_after_scale)
        add_bias();
}

stream::task rest_of(epilogue out, const memory_desc &sums, int channel_dim, const correction &correct) {
    const memory_desc bias = out.bias;
    const bool is_in_sums = bias_enters_sums(out, channel_dim);
    const bool by_row = scales_by_row(out, channel_dim);
    const bool is_added = bias.ndims != 0 && !facts_of(out.rule).f32.adds_bias_in_f32;
    if (is_added || by_row)
        out.bias = {};
    stream::task_builder b(out);
    const bool are_f32 = sums.data_type == data_type::f32;
    b.set_bound(are_f32 ? jit::any_f32 : jit::any_s32);
    b.load(sums, OCTET_ARG_SRC);
    if (correct)
        correct(b);
    if (is_added && !is_in_sums) {
        b.load(bias, OCTET_ARG_BIAS);
        b.step(jit::stream_op::add_pair);
    }
    if (!by_row)
        return b.finish(are_f32 ? jit::epilogue_stage::f32_accumulator : jit::epilogue_stage::accumulator);
    if (!are_f32)
        b.step(jit::stream_op::to_f32);
    scale(b, out, bias, channel_dim);
    b.set_bound(jit::any_f32);
    return b.finish(jit::epilogue_stage::f32_value);
}

} // namespace

candidate plan_rest(const epilogue &out, const memory_desc &sums, int channel_dim, const machine &m,
                    const correction &correct) {
    return stream::plan_task(m.isa, rest_of(out, sums, channel_dim, correct));
}

candidate plan_post_ops(const epilogue &out, const memory_desc &values, const machine &m) {
    stream::task_builder b(out);
    b.load(values, OCTET_ARG_SRC);
    return stream::plan_task(m.isa, b.finish(is_integer(values.data_type) ? jit::epilogue_stage::s32_value
                                                                          : jit::epilogue_stage::f32_value));
}

} // namespace octet::impl::separate_epilogue
