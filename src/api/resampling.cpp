// The front of resampling. Codes are mixed as they are: with equal scales on both sides, weights that sum to
// one leave scale and zero point alone, so there are no scales to pass, and those that are given are refused.
// The attribute decides the arithmetic only, `resampling_coordinates` where output positions lie.
// SPDX-License-Identifier: Apache-2.0
#include "octet/resampling.hpp"

#include <cmath>

#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "common/requantize.hpp"
#include "common/resampling_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "resampling";

/// oneDNN's sizes: the integer part of factor * size.
memory::desc scaled_desc(const memory::desc &src, const std::vector<float> &factors) {
    check_descriptor(operation, "src", src.data);
    memory::dims dims = src.dims();
    if (dims.size() < 3 || factors.size() != dims.size() - 2)
        throw_invalid(operation, ": ", factors.size(), " factors for src with ", dims.size(),
                      " dimensions, allowed: one per spatial dimension");
    for (std::size_t i = 0; i < factors.size(); i++) {
        if (!(factors[i] > 0.f && factors[i] < 0x1p31f))
            throw_invalid(operation, ": factor ", i, " is ", factors[i],
                          ", allowed: positive and below 2^31");
        const float size = static_cast<float>(dims[i + 2]) * factors[i];
        if (size >= 0x1p31f)
            throw_invalid(operation, ": factor ", i, " is ", factors[i], " for size ", dims[i + 2],
                          ", which gives 2^31 or more");
        dims[i + 2] = static_cast<dim_t>(size);
    }
    return memory::desc(dims, src.data_type(), format_tag::any);
}

resampling_problem shapes_of(const resampling_forward::desc &d) {
    resampling_problem p;
    p.src = d.src.data;
    p.dst = d.dst.data;
    p.alg = d.alg;
    p.coordinates = d.coordinates;
    require_tensor(operation, "src", p.src, 3, 5);
    require_tensor(operation, "dst", p.dst, p.src.ndims, p.src.ndims);
    for (memory_desc *md : {&p.src, &p.dst}) {
        require_numbers(operation, md == &p.src ? "src" : "dst", *md);
        resolve_activation_layout(*md);
        require_plain(operation, md == &p.src ? "src" : "dst", *md);
    }
    require_no_overlap(operation, p.dst);
    p.spatial_ndims = p.src.ndims - 2;
    for (int i = 0; i < 2; i++)
        if (p.src.dims[i] != p.dst.dims[i])
            throw_invalid(operation, ": dimension ", i, " of src is ", p.src.dims[i], ", of dst ",
                          p.dst.dims[i]);
    p.mb = p.src.dims[0];
    p.channels = p.src.dims[1];
    constexpr dim_t limit = dim_t{1} << 20; // TFLite's integer positions have 10 fraction bits
    for (int i = 0; i < p.spatial_ndims; i++) {
        const int a = 3 - p.spatial_ndims + i;
        p.in[a] = p.src.dims[2 + i];
        p.out[a] = p.dst.dims[2 + i];
        for (const dim_t size : {p.in[a], p.out[a]})
            if (size < 1 || size > limit)
                throw_invalid(operation, ": spatial dimension ", i, " is ", p.in[a], " in src, ", p.out[a],
                              " in dst, allowed: 1 to ", limit);
    }
    if (!d.factors.empty() && !same_dims(scaled_desc(d.src, d.factors).data, p.dst))
        throw_invalid(operation, ": dst has dims ", dims_text(p.dst), ", but src and factors give ",
                      dims_text(scaled_desc(d.src, d.factors).data));
    return p;
}

void check_rule(const resampling_problem &p) {
    const requantization_rule rule = p.out_stage.rule;
    const bool is_linear = p.alg == algorithm::resampling_linear;
    if (is_plain_f32(rule)) {
        if (p.coordinates != resampling_coordinates::half_pixel)
            throw_unimplemented(operation, ": coordinates other than half_pixel with rule f32");
        return;
    }
    const bool is_whole_tflite = is_tflite(rule) && !facts_of(rule).is_of_products_alone;
    if (!is_whole_tflite && !is_ort(rule) && !is_snps_caffe(rule) && !(is_xnnpack(rule) && is_linear))
        throw_unimplemented(
            operation, ": rule ", to_string(rule), ", implemented: f32, tflite_2step, ",
            "tflite_single_rounding, ort_f32, caffe_double_round; resampling_linear with xnnpack_*");
    require_type(operation, "src", p.src, {data_type::s8, data_type::u8});
    require_type(operation, "dst", p.dst, {p.src.data_type});
    if (is_linear && p.spatial_ndims != 2)
        throw_unimplemented(operation, ": resampling_linear of ", p.spatial_ndims,
                            " spatial dimensions with rule ", to_string(rule), ", implemented: 2");
    if (p.coordinates == resampling_coordinates::align_corners_half_pixel && (is_linear || !is_tflite(rule)))
        throw_unimplemented(operation,
                            ": coordinates align_corners_half_pixel, implemented with tflite rules ",
                            "and resampling_nearest");
}

constexpr auto parameters = [](auto &d, const auto &visit) {
    visit("algorithm", d.alg);
    visit("coordinates", d.coordinates);
};

primitive_desc_ptr make(const resampling_forward::desc &d, const request &r) {
    const primitive_attr &attr = r.attr;
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        require_algorithm(operation, d.alg, algorithm::resampling_nearest, algorithm::resampling_linear,
                          "resampling_nearest, resampling_linear");
        resampling_problem p = shapes_of(d);
        if (!attr.scales().empty() || !attr.zero_points().empty() || attr.output_scales().is_set() ||
            attr.multipliers().is_set() || attr.real_scales().is_set())
            throw_invalid(operation, ": scales, zero points or multipliers; codes are resampled as they are");
        attribute_support support{operation};
        support.accumulates = false;
        p.out_stage = lower_epilogue(support, primitive_attr(), p.dst, {});
        p.out_stage.post_ops = lower_post_ops(support, attr, p.dst);
        p.out_stage.rule = attr.rule() == requantization_rule::automatic ? unchanged(true) : attr.rule();
        check_rule(p);

        const tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &resampling_operation() {
    static const described_operation row = described(
        {operation,
         {{"resampling",
           "resampling algorithm:resampling_linear src:s8:1x64x14x14:nhwc dst:s8:1x64x28x28:nhwc"}},
         tensor_roles::channels,
         ties_sizes},
        resampling_forward::desc(prop_kind::forward_inference, algorithm::resampling_nearest, memory::desc(),
                                 memory::desc(), resampling_coordinates::half_pixel),
        parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

resampling_forward::desc::desc(prop_kind prop, algorithm alg, const std::vector<float> &factors,
                               const memory::desc &src)
    : desc(prop, alg, factors, src, impl::scaled_desc(src, factors)) {}

resampling_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src,
                               const memory::desc &dst, resampling_coordinates coordinates)
    : prop(prop), alg(alg), src(src), dst(dst), coordinates(coordinates) {}
resampling_forward::desc::desc(prop_kind prop, algorithm alg, const std::vector<float> &factors,
                               const memory::desc &src, const memory::desc &dst)
    : prop(prop), alg(alg), src(src), dst(dst), factors(factors) {}

impl::primitive_desc_ptr check(const resampling_forward::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
