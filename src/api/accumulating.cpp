// The common end of convolutions, deconvolutions and matrix products: layouts that were left open, bias,
// attributes, refusals.
// SPDX-License-Identifier: Apache-2.0
#include "api/accumulating.hpp"

#include <algorithm>

#include "api/tensors/format_tag.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "common/deconvolution_problem.hpp"
#include "common/element.hpp"
#include "common/matmul_problem.hpp"
#include "common/text.hpp"

namespace octet::impl {

void resolve_layouts(const weights_packing &packing, memory_desc &src, memory_desc &weights,
                     memory_desc &dst) {
    require_type(packing.operation, "src", src, {data_type::u8, data_type::s8, data_type::f32});
    if (src.data_type == data_type::f32)
        require_type(packing.operation, "weights of f32 src", weights, {data_type::f32});
    else
        require_type(packing.operation, "weights", weights, {data_type::s8, data_type::u8});
    require_type(
        packing.operation, "dst", dst,
        {data_type::u8, data_type::s8, data_type::s32, data_type::f32, data_type::bf16, data_type::f16});
    require_plain(packing.operation, "src", src);
    require_plain(packing.operation, "dst", dst);
    resolve_activation_layout(src);
    resolve_activation_layout(dst);
    if (weights.format_kind == format_kind::any) {
        if (packing.patches.rows.size > 0)
            set_packed_by_patches(weights, packing.patches);
        else
            set_packed(weights, packing.kind, packing.may_fuse_width);
        size_in_bytes(weights); // throws on overflow
    } else if (weights.format_kind == format_kind::packed && weights.packed_kind != packing.kind) {
        throw_invalid(packing.operation, ": weights have layout ", layout_name(weights), ", allowed: packed_",
                      to_string(packing.kind), ", plain layouts or any");
    }
    require_no_overlap(packing.operation, dst);
}

memory_desc channel_bias(const char *operation, const memory_desc &bias, const memory_desc &dst) {
    if (bias.ndims == 0)
        return {};
    if (bias.ndims != 1 || bias.dims[0] != dst.dims[1])
        throw_invalid(operation, ": bias has dims ", dims_text(bias), ", allowed: {", dst.dims[1], "}");
    memory_desc lowered = bias;
    lowered.ndims = dst.ndims;
    std::fill(lowered.dims, lowered.dims + dst.ndims, 1);
    std::fill(lowered.strides, lowered.strides + dst.ndims, 0);
    lowered.dims[1] = bias.dims[0];
    lowered.strides[1] = bias.strides[0];
    return lowered;
}

namespace {

memory_desc lower_bias(const char *operation, const memory_desc &bias, const convolution_problem &p) {
    return channel_bias(operation, bias, p.dst);
}

memory_desc lower_bias(const char *operation, const memory_desc &bias, const matmul_problem &p) {
    if (bias.ndims == 0)
        return {};
    bool fits = bias.ndims == p.dst.ndims;
    for (int d = 0; fits && d < bias.ndims; d++)
        fits = bias.dims[d] == 1 || bias.dims[d] == p.dst.dims[d];
    if (!fits)
        throw_invalid(operation, ": bias has dims ", dims_text(bias), ", allowed: ", dims_text(p.dst),
                      " or 1 in any dimension");
    return bias;
}

/// A zero point may depend on batch, group and channel. Along spatial dimensions it would change from tap to
/// tap.
void check_zero_point_masks(const char *operation, const convolution_problem &p) {
    const auto check = [&](const char *name, int mask, int channel_dims) {
        if (mask >= 1 << channel_dims)
            throw_invalid(operation, ": ", name, " zero points mask is ", mask, ", allowed: 0 to ",
                          (1 << channel_dims) - 1, " (no spatial dimensions)");
    };
    check("src", p.src_zero_points.values.mask, 2);
    check("weights", p.weights_zero_points.values.mask, p.weights_have_groups ? 3 : 2);
}
void check_zero_point_masks(const char *, const matmul_problem &) {}

/// Floats are no codes: the sum is one of real values, and rules on integers do not apply to it.
template <typename Problem> void check_f32_sums(const char *operation, const Problem &p) {
    for (const zero_points *z : {&p.src_zero_points, &p.weights_zero_points})
        if (z->values.is_set())
            throw_invalid(operation, ": ", argument_name(z->arg), " zero points with f32 ",
                          argument_name(z->arg), ", allowed: none");
}

} // namespace

template <typename Problem>
primitive_desc_ptr finish_accumulating(const request &r, attribute_support support, Problem &problem,
                                       const memory_desc &user_bias, const std::string &parameters) {
    const primitive_attr &attr = r.attr;
    support.sums_f32 = problem.sums_f32();
    memory_desc bias = user_bias;
    check_descriptor(support.operation, "bias", bias);
    if (bias.ndims != 0) {
        require_type(
            support.operation, "bias", bias,
            {data_type::f32, data_type::s32, data_type::s8, data_type::u8, data_type::bf16, data_type::f16});
        if (bias.format_kind == format_kind::undef)
            throw_invalid(support.operation, ": bias has no layout");
        if (bias.format_kind == format_kind::any)
            set_row_major(bias);
        require_plain(support.operation, "bias", bias);
    }
    tensor_map tensors{
        {OCTET_ARG_SRC, &problem.src}, {OCTET_ARG_WEIGHTS, &problem.weights}, {OCTET_ARG_DST, &problem.dst}};
    reject_unknown_arguments(support, attr, tensors);
    problem.src_zero_points = lower_zero_points(support, attr, OCTET_ARG_SRC, problem.src);
    problem.weights_zero_points = lower_zero_points(support, attr, OCTET_ARG_WEIGHTS, problem.weights);
    check_zero_point_masks(support.operation, problem);
    if (problem.sums_f32())
        check_f32_sums(support.operation, problem);
    problem.out_stage =
        lower_epilogue(support, attr, problem.dst, lower_bias(support.operation, bias, problem));
    problem.out_stage.scale_src_first = std::is_same_v<Problem, matmul_problem>;
    problem.prefetched_bytes = attr.get_prefetched_bytes();

    if (bias.ndims != 0)
        tensors[OCTET_ARG_BIAS] = &bias;
    return make_primitive_desc(r, tensors, parameters, problem);
}

template primitive_desc_ptr finish_accumulating(const request &, attribute_support, convolution_problem &,
                                                const memory_desc &, const std::string &);
template primitive_desc_ptr finish_accumulating(const request &, attribute_support, deconvolution_problem &,
                                                const memory_desc &, const std::string &);
template primitive_desc_ptr finish_accumulating(const request &, attribute_support, matmul_problem &,
                                                const memory_desc &, const std::string &);

convolution_forward::primitive_desc::range accumulator_range(const memory_desc &src, const memory &weights,
                                                             const primitive_attr &attr,
                                                             dim_t output_channels) {
    if (src.data_type == data_type::f32)
        throw_unimplemented("accumulator_range: src has type f32, implemented: u8, s8");
    const auto bounds_of = [&](int arg) { // smallest and largest zero point of an argument
        const auto found = attr.zero_points().find(arg);
        if (found == attr.zero_points().end())
            return std::pair<std::int64_t, std::int64_t>{0, 0};
        if (found->second.runtime)
            throw_unimplemented("accumulator_range: zero points are given at execution");
        const auto [low, high] =
            std::minmax_element(found->second.values.begin(), found->second.values.end());
        return std::pair<std::int64_t, std::int64_t>{*low, *high};
    };
    const auto [src_zp_low, src_zp_high] = bounds_of(OCTET_ARG_SRC);
    const auto [weights_zp_low, weights_zp_high] = bounds_of(OCTET_ARG_WEIGHTS);
    const type_range codes = range_of(src.data_type);
    const std::int64_t s_low = codes.low - src_zp_high, s_high = codes.high - src_zp_low;

    const memory_desc md = weights.get_desc().data;
    const dim_t per_channel = output_channels == 0 ? 0 : element_count(md) / output_channels;
    convolution_forward::primitive_desc::range result{0, 0};
    for (dim_t c = 0; c < output_channels; c++) {
        std::int64_t lowest = 0,
                     highest = 0; // sums of the negative and of the positive extremes bound every partial sum
        for (dim_t k = 0; k < per_channel; k++) { // logical order: (group and) output channel outermost
            const dim_t offset = element_offset(md, coordinates_of(c * per_channel + k, md));
            const std::int64_t w = load_weight(weights.get_data_handle(), md, offset);
            const std::int64_t products[] = {s_low * (w - weights_zp_low), s_low * (w - weights_zp_high),
                                             s_high * (w - weights_zp_low), s_high * (w - weights_zp_high)};
            const auto [low, high] = std::minmax_element(std::begin(products), std::end(products));
            lowest += std::min<std::int64_t>(*low, 0);
            highest += std::max<std::int64_t>(*high, 0);
        }
        result.lowest = std::min(result.lowest, lowest);
        result.highest = std::max(result.highest, highest);
    }
    return result;
}

} // namespace octet::impl
