// Nearest: dst = epilogue(the nearest code). Linear: between the two neighbours along each axis, in the
// arithmetic of the rule (octet/resampling.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/resampling.hpp"
#include "cpu/ref/positions.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

class resampler {
public:
    resampler(const resampling_problem &p, const arguments &args)
        : p_(p), src_(args.get<const void>(OCTET_ARG_SRC)) {}

    number operator()(dim_t n, dim_t c, const extent3 &o) const {
        const requantization_rule rule = p_.out_stage.rule;
        if (p_.alg == algorithm::resampling_nearest)
            return nearest(n, c, o);
        if (is_tflite(rule) || is_xnnpack(rule))
            return integer_weights(n, c, o[1], o[2]);
        if (is_ort(rule))
            return ort(n, c, o[1], o[2]);
        if (is_snps_caffe(rule))
            return snps(n, c, o[1], o[2]);
        return onednn(n, c, o);
    }

private:
    dim_t offset(dim_t n, dim_t c, dim_t d, dim_t h, dim_t w) const {
        return plain_offset(p_.src, spatial_coordinates(p_.spatial_ndims, n, c, d, h, w));
    }
    float real(dim_t n, dim_t c, dim_t d, dim_t h, dim_t w) const {
        return load_f32(src_, p_.src.data_type, offset(n, c, d, h, w));
    }
    std::int32_t code(dim_t n, dim_t c, dim_t h, dim_t w) const {
        return load_s32(src_, p_.src.data_type, offset(n, c, 0, h, w));
    }

    number nearest(dim_t n, dim_t c, const extent3 &o) const {
        const dim_t at =
            offset(n, c, nearest_index(p_, 0, o[0]), nearest_index(p_, 1, o[1]), nearest_index(p_, 2, o[2]));
        return is_integer(p_.src.data_type) ? number(load_s32(src_, p_.src.data_type, at))
                                            : number(load_f32(src_, p_.src.data_type, at));
    }

    /// Along the width, then the height, then the depth; the far neighbour is added by a fused operation.
    number onednn(dim_t n, dim_t c, const extent3 &o) const {
        const interpolation d = interpolate(p_, 0, o[0]), h = interpolate(p_, 1, o[1]),
                            w = interpolate(p_, 2, o[2]);
        const auto between = [](const interpolation &i, float near, float far) {
            return std::fma(far, i.high_weight, near * i.low_weight);
        };
        const auto row = [&](dim_t id, dim_t ih) {
            return between(w, real(n, c, id, ih, w.low), real(n, c, id, ih, w.high));
        };
        const auto slice = [&](dim_t id) {
            return p_.spatial_ndims < 2 ? row(id, 0) : between(h, row(id, h.low), row(id, h.high));
        };
        return p_.spatial_ndims < 3 ? slice(0) : between(d, slice(d.low), slice(d.high));
    }

    number integer_weights(dim_t n, dim_t c, dim_t oh, dim_t ow) const {
        const fixed_interpolation h = interpolate_fixed(p_, 1, oh), w = interpolate_fixed(p_, 2, ow);
        const std::int64_t sum = code(n, c, h.low, w.low) * h.low_weight * w.low_weight +
                                 code(n, c, h.high, w.low) * h.high_weight * w.low_weight +
                                 code(n, c, h.low, w.high) * h.low_weight * w.high_weight +
                                 code(n, c, h.high, w.high) * h.high_weight * w.high_weight;
        const requantization_rule rule = p_.out_stage.rule;
        const int bits = 2 * fixed_weight_bits(rule);
        const std::int64_t one = std::int64_t{1} << bits;
        if (weighs_half_up(rule))
            return wrap((sum + one / 2) >> bits);
        return wrap((sum > 0 ? sum + one / 2 : sum - one / 2) / one);
    }

    number ort(dim_t n, dim_t c, dim_t oh, dim_t ow) const {
        const interpolation h = interpolate(p_, 1, oh), w = interpolate(p_, 2, ow);
        const float sum = w.low_weight * h.low_weight * real(n, c, 0, h.low, w.low) +
                          w.high_weight * h.low_weight * real(n, c, 0, h.low, w.high) +
                          w.low_weight * h.high_weight * real(n, c, 0, h.high, w.low) +
                          w.high_weight * h.high_weight * real(n, c, 0, h.high, w.high);
        return static_cast<std::int32_t>(sum); // towards zero
    }

    number snps(dim_t n, dim_t c, dim_t oh, dim_t ow) const {
        const interpolation h = interpolate(p_, 1, oh), w = interpolate(p_, 2, ow);
        const auto between = [](float a, float b, float weight) { return a + (b - a) * weight; };
        const float top = between(real(n, c, 0, h.low, w.low), real(n, c, 0, h.low, w.high), w.high_weight);
        const float bottom =
            between(real(n, c, 0, h.high, w.low), real(n, c, 0, h.high, w.high), w.high_weight);
        return round_half_away(between(top, bottom, h.high_weight));
    }

    const resampling_problem &p_;
    const void *src_;
};

void run(const resampling_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const resampler resample(p, args);
    for_each_position(p, p.channels, [&](dim_t n, dim_t c, dim_t od, dim_t oh, dim_t ow) {
        out.finish(resample(n, c, {od, oh, ow}), spatial_coordinates(p.spatial_ndims, n, c, od, oh, ow));
    });
}

} // namespace

std::shared_ptr<const kernel> create(const resampling_problem &p) {
    return std::make_shared<reference_kernel<resampling_problem>>(p, run);
}

} // namespace octet::impl::ref
