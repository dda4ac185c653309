// max: dst = the largest element of the window inside the image. average: Σ over the window, then the rule
// (octet/pooling.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "common/requantize.hpp"
#include "common/taps.hpp"
#include "cpu/ref/positions.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

struct window {
    std::int64_t sum = 0; ///< sum of raw codes
    float real_sum = 0.f; ///< sum of real values, in window order
    std::int32_t highest = int32_min;
    float highest_real = -std::numeric_limits<float>::infinity();
    dim_t taps = 0; ///< positions inside the image
};

/// One execution.
class pooling {
public:
    pooling(const pooling_problem &p, const arguments &args)
        : p_(p), out_(p.out_stage, args), src_(args.get<const void>(OCTET_ARG_SRC)),
          zero_points_(p.src_zero_points.bind(args)) {}

    void operator()(dim_t n, dim_t c, dim_t od, dim_t oh, dim_t ow) const {
        const std::int32_t zp = zero_point(n, c);
        finish(gather(zp, n, c, od, oh, ow), zp, spatial_coordinates(p_.spatial_ndims, n, c, od, oh, ow));
    }

private:
    std::int32_t zero_point(dim_t n, dim_t c) const {
        return zero_points_ ? zero_points_[masked_index(p_.src_zero_points.values.mask, p_.src.dims,
                                                        p_.src.ndims, {n, c})]
                            : 0;
    }

    window gather(std::int32_t zp, dim_t n, dim_t c, dim_t od, dim_t oh, dim_t ow) const {
        window result;
        const tap_range d = taps_inside(p_, 0, od), h = taps_inside(p_, 1, oh), w = taps_inside(p_, 2, ow);
        for (dim_t kd = d.first; kd < d.end(); kd++)
            for (dim_t kh = h.first; kh < h.end(); kh++)
                for (dim_t kw = w.first; kw < w.end(); kw++) {
                    const extent3 i = source_position(p_, {od, oh, ow}, {kd, kh, kw});
                    const coordinates at = spatial_coordinates(p_.spatial_ndims, n, c, i[0], i[1], i[2]);
                    result.taps++;
                    if (is_real(p_.src.data_type)) {
                        const float x = load_f32(src_, p_.src.data_type, plain_offset(p_.src, at));
                        result.real_sum += x;
                        result.highest_real = lane::max(result.highest_real, x);
                        continue;
                    }
                    const std::int32_t x = load_s32(src_, p_.src.data_type, plain_offset(p_.src, at));
                    result.sum += x;
                    result.real_sum += p_.src_scale * static_cast<float>(x - zp);
                    result.highest = std::max(result.highest, x);
                }
        return result;
    }

    void finish(const window &w, std::int32_t zp, const coordinates &at) const {
        const bool counts_padding = p_.alg == algorithm::pooling_avg_include_padding;
        const dim_t n = counts_padding ? p_.kernel[0] * p_.kernel[1] * p_.kernel[2] : w.taps;
        const auto n_f32 = static_cast<float>(n);
        if (is_real(p_.src.data_type))
            return out_.finish(p_.form == pooling_form::maximum ? w.highest_real : w.real_sum / n_f32, at);
        switch (p_.form) {
        case pooling_form::maximum:
            return out_.finish(w.highest, at);
        case pooling_form::average_of_codes:
            return out_.finish(static_cast<float>(w.sum) / n_f32, at);
        case pooling_form::rounded_average:
            return out_.finish(rounded_average(w.sum, n), at);
        case pooling_form::requantized_sum: // padding counts as zero points, so they cancel there
            return out_.apply(wrap(w.sum - zp * w.taps), at);
        case pooling_form::rescaled_average:
            return out_.finish(
                rounded_average(requantize(p_.out_stage.rule, wrap(w.sum - zp * n), p_.multiplier), n), at);
        case pooling_form::dequantized:
            return out_.finish(w.real_sum / n_f32 / p_.dst_scale, at);
        case pooling_form::scaled_sum: {
            const float factor = p_.src_scale / (p_.dst_scale * n_f32);
            return out_.finish(round_half_away(static_cast<float>(w.sum - zp * n) * factor), at);
        }
        }
    }

    /// Ties away from 0.
    static std::int32_t rounded_average(std::int64_t sum, std::int64_t count) {
        return static_cast<std::int32_t>((sum > 0 ? sum + count / 2 : sum - count / 2) / count);
    }

    const pooling_problem &p_;
    const bound_epilogue out_;
    const void *src_;
    const std::int32_t *zero_points_;
};

void run(const pooling_problem &p, const arguments &args) {
    const pooling pool(p, args);
    for_each_position(p, p.channels,
                      [&](dim_t n, dim_t c, dim_t od, dim_t oh, dim_t ow) { pool(n, c, od, oh, ow); });
}

} // namespace

std::shared_ptr<const kernel> create(const pooling_problem &p) {
    return std::make_shared<reference_kernel<pooling_problem>>(p, run);
}

} // namespace octet::impl::ref
