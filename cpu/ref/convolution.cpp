// dst(n, g, oc, od, oh, ow) = epilogue( Σ (src(n, g*IC + ic, id, ih, iw) - src_zp) * (weights(g, oc, ic, kd,
// kh, kw) - weights_zp) ) with id = od*stride + kd*dilation - pad, ih and iw likewise. A tap outside the
// image contributes nothing: there, src equals its zero point. Sums wrap modulo 2^32.
//
// Products of floats are added in one rounding each, tap by tap (kd, kh, kw) and channel by channel within a
// tap, starting from 0. A tap outside the image multiplies +0, so that every result has the same products: 0
// times an infinite weight is NaN there too.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/ref/convolution.hpp"
#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "cpu/ref/positions.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

std::int32_t accumulate(const convolution_problem &p, const weights_index &weights_at, const arguments &args,
                        dim_t n, dim_t g, dim_t oc, dim_t od, dim_t oh, dim_t ow) {
    const void *src = args.get<const void>(OCTET_ARG_SRC), *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
    const std::int32_t *src_zps = p.src_zero_points.bind(args),
                       *weights_zps = p.weights_zero_points.bind(args);

    std::int64_t acc = 0;
    for (dim_t ic = 0; ic < p.ic; ic++) {
        const dim_t c = g * p.ic + ic;
        const std::int32_t src_zp = zero_point_at(p.src_zero_points, src_zps, p.src, {n, c});
        const std::int32_t weights_zp =
            zero_point_at(p.weights_zero_points, weights_zps, p.weights, weights_at.logical(g, oc, ic));
        for (dim_t kd = 0; kd < p.kernel[0]; kd++)
            for (dim_t kh = 0; kh < p.kernel[1]; kh++)
                for (dim_t kw = 0; kw < p.kernel[2]; kw++) {
                    const extent3 i = source_position(p, {od, oh, ow}, {kd, kh, kw});
                    if (!is_in_image(p, i))
                        continue;
                    const coordinates at = spatial_coordinates(p.spatial_ndims, n, c, i[0], i[1], i[2]);
                    const std::int64_t s = load_s32(src, p.src.data_type, plain_offset(p.src, at));
                    const std::int64_t w = load_weight(weights, p.weights, weights_at(g, oc, ic, kd, kh, kw));
                    acc = wrap(acc + wrap((s - src_zp) * (w - weights_zp)));
                }
    }
    return static_cast<std::int32_t>(acc);
}

float accumulate_f32(const convolution_problem &p, const weights_index &weights_at, const arguments &args,
                     dim_t n, dim_t g, dim_t oc, dim_t od, dim_t oh, dim_t ow) {
    const void *src = args.get<const void>(OCTET_ARG_SRC), *weights = args.get<const void>(OCTET_ARG_WEIGHTS);

    float acc = 0;
    for (dim_t kd = 0; kd < p.kernel[0]; kd++)
        for (dim_t kh = 0; kh < p.kernel[1]; kh++)
            for (dim_t kw = 0; kw < p.kernel[2]; kw++) {
                const extent3 i = source_position(p, {od, oh, ow}, {kd, kh, kw});
                const bool is_inside = is_in_image(p, i);
                for (dim_t ic = 0; ic < p.ic; ic++) {
                    const coordinates at =
                        spatial_coordinates(p.spatial_ndims, n, g * p.ic + ic, i[0], i[1], i[2]);
                    const float s = is_inside ? load_f32(src, data_type::f32, plain_offset(p.src, at)) : 0.f;
                    const float w = load_f32(weights, data_type::f32, weights_at(g, oc, ic, kd, kh, kw));
                    acc = std::fma(s, w, acc);
                }
            }
    return acc;
}

void run(const convolution_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const weights_index weights_at(p);
    const int dst_spatial_ndims = p.is_inner_product ? 0 : p.spatial_ndims;

    for_each_position(p, p.groups * p.oc, [&](dim_t n, dim_t c, dim_t od, dim_t oh, dim_t ow) {
        const dim_t g = c / p.oc, oc = c % p.oc;
        const coordinates at = spatial_coordinates(dst_spatial_ndims, n, c, od, oh, ow);
        if (p.sums_f32())
            out.apply(accumulate_f32(p, weights_at, args, n, g, oc, od, oh, ow), at);
        else
            out.apply(accumulate(p, weights_at, args, n, g, oc, od, oh, ow), at);
    });
}

} // namespace

std::shared_ptr<const kernel> create(const convolution_problem &p) {
    return std::make_shared<reference_kernel<convolution_problem>>(p, run);
}

} // namespace octet::impl::ref
