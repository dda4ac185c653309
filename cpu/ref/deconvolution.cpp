// dst(n, g, oc, od, oh, ow) = epilogue( Σ (src(n, g*IC + ic, id, ih, iw) - src_zp)
//                                       * (weights(g, oc, ic, kd, kh, kw) - weights_zp) )
// over all taps with od = id*stride + kd*dilation - pad, oh and ow likewise. Written as a gather: each tap
// names at most one source element.
//
// Products of floats are added in one rounding each, source position by source position (id, ih, iw
// ascending, so the last tap first) and channel by channel at each, starting from 0. Taps that lead beside
// the image or between its positions add no product.
// SPDX-License-Identifier: Apache-2.0
#include "common/bound_epilogue.hpp"
#include "common/deconvolution_problem.hpp"
#include "common/element.hpp"
#include "cpu/ref/convolution.hpp"
#include "cpu/ref/positions.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

/// The source position that tap k scatters to position o, or -1 if there is none.
dim_t source_of(const convolution_problem &p, int axis, dim_t o, dim_t k) {
    const dim_t scattered = o + p.pad[axis] - k * p.dilation[axis];
    if (scattered < 0 || scattered % p.stride[axis] != 0)
        return -1;
    const dim_t i = scattered / p.stride[axis];
    return i < p.in[axis] ? i : -1;
}

class accumulation {
public:
    accumulation(const deconvolution_problem &p, const arguments &args)
        : p_(p), weights_at_(p), src_(args.get<const void>(OCTET_ARG_SRC)),
          weights_(args.get<const void>(OCTET_ARG_WEIGHTS)), src_zps_(p.src_zero_points.bind(args)),
          weights_zps_(p.weights_zero_points.bind(args)) {}

    std::int32_t operator()(dim_t n, dim_t g, dim_t oc, dim_t od, dim_t oh, dim_t ow) const {
        std::int32_t acc = 0;
        for (dim_t kd = 0; kd < p_.kernel[0]; kd++)
            for (dim_t kh = 0; kh < p_.kernel[1]; kh++)
                for (dim_t kw = 0; kw < p_.kernel[2]; kw++) {
                    const dim_t id = source_of(p_, 0, od, kd), ih = source_of(p_, 1, oh, kh),
                                iw = source_of(p_, 2, ow, kw);
                    if (id < 0 || ih < 0 || iw < 0)
                        continue;
                    for (dim_t ic = 0; ic < p_.ic; ic++)
                        acc = wrapping_add(acc, product(n, g, oc, ic, {id, ih, iw}, {kd, kh, kw}));
                }
        return acc;
    }

    float sum_f32(dim_t n, dim_t g, dim_t oc, dim_t od, dim_t oh, dim_t ow) const {
        float acc = 0;
        for (dim_t kd = p_.kernel[0] - 1; kd >= 0; kd--)
            for (dim_t kh = p_.kernel[1] - 1; kh >= 0; kh--)
                for (dim_t kw = p_.kernel[2] - 1; kw >= 0; kw--) {
                    const extent3 from{source_of(p_, 0, od, kd), source_of(p_, 1, oh, kh),
                                       source_of(p_, 2, ow, kw)};
                    if (from[0] < 0 || from[1] < 0 || from[2] < 0)
                        continue;
                    for (dim_t ic = 0; ic < p_.ic; ic++)
                        acc = std::fma(source_f32(n, g * p_.ic + ic, from),
                                       load_f32(weights_, data_type::f32, weights_at_(g, oc, ic, kd, kh, kw)),
                                       acc);
                }
        return acc;
    }

private:
    float source_f32(dim_t n, dim_t c, const extent3 &i) const {
        return load_f32(src_, data_type::f32,
                        plain_offset(p_.src, spatial_coordinates(p_.spatial_ndims, n, c, i[0], i[1], i[2])));
    }

    std::int32_t product(dim_t n, dim_t g, dim_t oc, dim_t ic, const extent3 &i, const extent3 &k) const {
        const dim_t c = g * p_.ic + ic;
        const coordinates at = spatial_coordinates(p_.spatial_ndims, n, c, i[0], i[1], i[2]);
        const std::int64_t s = load_s32(src_, p_.src.data_type, plain_offset(p_.src, at));
        const std::int64_t w = load_weight(weights_, p_.weights, weights_at_(g, oc, ic, k[0], k[1], k[2]));
        return wrap((s - zero_point_at(p_.src_zero_points, src_zps_, p_.src, {n, c})) *
                    (w - zero_point_at(p_.weights_zero_points, weights_zps_, p_.weights,
                                       weights_at_.logical(g, oc, ic))));
    }

    const deconvolution_problem &p_;
    const weights_index weights_at_;
    const void *src_, *weights_;
    const std::int32_t *src_zps_, *weights_zps_;
};

void run(const deconvolution_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const accumulation accumulate(p, args);
    for_each_position(p, p.groups * p.oc, [&](dim_t n, dim_t c, dim_t od, dim_t oh, dim_t ow) {
        const coordinates at = spatial_coordinates(p.spatial_ndims, n, c, od, oh, ow);
        if (p.sums_f32())
            out.apply(accumulate.sum_f32(n, c / p.oc, c % p.oc, od, oh, ow), at);
        else
            out.apply(accumulate(n, c / p.oc, c % p.oc, od, oh, ow), at);
    });
}

} // namespace

std::shared_ptr<const kernel> create(const deconvolution_problem &p) {
    return std::make_shared<reference_kernel<deconvolution_problem>>(p, run);
}

} // namespace octet::impl::ref
