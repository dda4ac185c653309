// dst(n, g, oc, od, oh, ow) = epilogue( Σ (src(n, g*IC + ic, id, ih, iw) - src_zp) * (weights(g, oc, ic, kd,
// kh, kw) - weights_zp) ) with id = od*stride + kd*dilation - pad, ih and iw likewise. A tap outside the
// image contributes nothing: there, src equals its zero point. Sums wrap modulo 2^32.
//
// Of floats, each product is added in one rounding, tap by tap (kd, kh, kw) and channel by channel within a tap,
// starting from 0. A tap outside the image multiplies +0, so that every result has the same products: 0 times an
// infinite weight is NaN there too.

#include "cpu/ref/convolution.hpp"
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
                    const dim_t id = od * p.stride[0] + kd * p.dilation[0] - p.pad[0];
                    const dim_t ih = oh * p.stride[1] + kh * p.dilation[1] - p.pad[1];
                    const dim_t iw = ow * p.stride[2] + kw * p.dilation[2] - p.pad[2];
                    if (id < 0 || id >= p.in[0] || ih < 0 || ih >= p.in[1] || iw < 0 || iw >= p.in[2])
                        continue;
                    const coordinates at = spatial_coordinates(p.spatial_ndims, n, c, id, ih, iw);
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
                const dim_t id = od * p.stride[0] + kd * p.dilation[0] - p.pad[0];
                const dim_t ih = oh * p.stride[1] + kh * p.dilation[1] - p.pad[1];
                const dim_t iw = ow * p.stride[2] + kw * p.dilation[2] - p.pad[2];
                const bool is_outside =
                    id < 0 || id >= p.in[0] || ih < 0 || ih >= p.in[1] || iw < 0 || iw >= p.in[2];
                for (dim_t ic = 0; ic < p.ic; ic++) {
                    const coordinates at = spatial_coordinates(p.spatial_ndims, n, g * p.ic + ic, id, ih, iw);
                    const float s = is_outside ? 0.f : load_f32(src, data_type::f32, plain_offset(p.src, at));
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
