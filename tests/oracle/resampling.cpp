// The oracle's resampling (section 7 of doc/arithmetic.md). Under ort_f32 and caffe_double_round it has no bits on
// that page: the oracle allows one code around the exact interpolation there.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "oracle/arithmetic.hpp"

namespace octet::oracle {

namespace {

/// Two neighbours of one axis and the weight of the second.
struct neighbours {
    dim_t low, high;
    float weight;     ///< f32 rules
    std::int64_t w10; ///< tflite rules, in 1 / 1024
};

dim_t limited(double i, dim_t size) { return std::min(std::max(static_cast<dim_t>(i), dim_t{0}), size - 1); }

/// Half-pixel coordinates in f32.
float coordinate(dim_t i, dim_t in, dim_t out) {
    const float x = (static_cast<float>(i) + 0.5f) * static_cast<float>(in);
    return x / static_cast<float>(out) - 0.5f;
}

dim_t nearest(const problem &p, rule r, dim_t i, dim_t in, dim_t out) {
    using c = resampling_coordinates;
    const c how = p.coordinates;
    if (!is_tflite(r)) // ort_f32: a half goes down, not away from 0
        return r == rule::ort_f32 ? limited(std::ceil(static_cast<double>(coordinate(i, in, out)) - 0.5), in)
                                  : limited(std::round(static_cast<double>(coordinate(i, in, out))), in);
    const bool aligned = (how == c::align_corners || how == c::align_corners_half_pixel) && out > 1;
    const bool rounds = how == c::align_corners || how == c::align_corners_half_pixel;
    const float g = aligned ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                            : static_cast<float>(in) / static_cast<float>(out);
    const float offset = how == c::half_pixel || how == c::align_corners_half_pixel ? 0.5f : 0.f;
    const float x = (static_cast<float>(i) + offset) * g;
    return limited(rounds ? std::round(static_cast<double>(x)) : std::floor(static_cast<double>(x)), in);
}

/// XNNPACK's, with 11 bits of weight.
neighbours xnnpack_linear(const problem &p, rule r, dim_t i, dim_t in, dim_t out) {
    using c = resampling_coordinates;
    const dim_t less = p.coordinates == c::align_corners && out > 1 ? 1 : 0;
    const float g = static_cast<float>(in - less) / static_cast<float>(out - less);
    float x = static_cast<float>(i) * g;
    if (p.coordinates == c::half_pixel) {
        const float half = 0.5f * g, first = half - 0.5f, apart = x + first;
        const bool is_of_arm = r == rule::xnnpack_rndnu; // compiled with multiply-and-add
        x = std::max(is_of_arm ? std::fma(static_cast<float>(i), g, first) : apart, 0.f);
    }
    x = std::min(x, static_cast<float>(in - 1));
    const float low = std::trunc(x), weight = (x - low) * 2048.f;
    return {static_cast<dim_t>(low), std::min(static_cast<dim_t>(low) + 1, in - 1), 0,
            static_cast<std::int64_t>(std::nearbyint(weight))};
}

/// The mean of a square of codes, by row and column: ties go up.
std::int32_t xnnpack_mean(const double codes[4], std::int64_t w_row, std::int64_t w_column) {
    const double upper = 2048 * codes[0] + (codes[1] - codes[0]) * static_cast<double>(w_column),
                 lower = 2048 * codes[2] + (codes[3] - codes[2]) * static_cast<double>(w_column),
                 sum = 2048 * upper + (lower - upper) * static_cast<double>(w_row);
    return static_cast<std::int32_t>(std::floor(sum / 4194304 + 0.5));
}

neighbours linear(const problem &p, rule r, dim_t i, dim_t in, dim_t out) {
    using c = resampling_coordinates;
    if (is_xnnpack(r))
        return xnnpack_linear(p, r, i, in, out);
    if (is_tflite(r)) {
        const bool aligned = p.coordinates == c::align_corners && out > 1;
        const std::int64_t g =
            aligned ? (1024 * (in - 1) + (out - 1) / 2) / (out - 1) : (1024 * in + out / 2) / out;
        const std::int64_t at = i * g + (p.coordinates == c::half_pixel ? g / 2 - 512 : 0);
        const dim_t low = std::max<dim_t>(at / 1024, 0), high = std::min<dim_t>((at + 1023) / 1024, in - 1);
        return {low, high, 0, at - 1024 * low};
    }
    const float x = coordinate(i, in, out);
    const auto low = static_cast<dim_t>(std::max(std::trunc(x), 0.f));
    const auto high = std::min(static_cast<dim_t>(std::ceil(std::max(x, 0.f))), in - 1);
    return {low, high, std::fabs(x - static_cast<float>(low)), 0};
}

} // namespace

void resampling(const problem &p, expectation &e) {
    const rule r = effective_rule(p);
    const dims src = p.src.shape(), dst = p.dst.shape();
    const std::size_t rank = dst.size();
    const auto code = [&](const index &at) { return p.src.values[position(src, at)]; };
    for_each(dst, [&](const index &at, std::size_t i) {
        index from = at;
        if (p.alg == algorithm::resampling_nearest) {
            for (std::size_t d = 2; d < rank; d++)
                from[d] = nearest(p, r, at[d], src[d], dst[d]);
            const double x = code(from);
            return finish(p,
                          p.src.type() == data_type::f32 ? real(static_cast<float>(x))
                                                         : integer(static_cast<std::int32_t>(x)),
                          at, i, e); // codes are copied
        }
        neighbours axis[max_ndims];
        for (std::size_t d = 2; d < rank; d++)
            axis[d] = linear(p, r, at[d], src[d], dst[d]);
        if (is_xnnpack(r)) {
            double codes[4];
            for (std::size_t corner = 0; corner < 4; corner++) {
                from[2] = corner & 2 ? axis[2].high : axis[2].low;
                from[3] = corner & 1 ? axis[3].high : axis[3].low;
                codes[corner] = code(from);
            }
            return finish(p, integer(xnnpack_mean(codes, axis[2].w10, axis[3].w10)), at, i, e);
        }
        // The corners, along width (the last dimension) in bit 0.
        const std::size_t corners = std::size_t{1} << (rank - 2);
        float x[8];
        std::int64_t sum = 0;
        long double exact = 0;
        for (std::size_t corner = 0; corner < corners; corner++) {
            std::int64_t weight = 1;
            long double exact_weight = 1;
            for (std::size_t d = 2; d < rank; d++) {
                const bool far = corner >> (rank - 1 - d) & 1;
                from[d] = far ? axis[d].high : axis[d].low;
                weight *= far ? axis[d].w10 : 1024 - axis[d].w10;
                const long double w = static_cast<long double>(axis[d].weight);
                exact_weight *= far ? w : 1 - w;
            }
            x[corner] = static_cast<float>(code(from));
            sum += weight * static_cast<std::int64_t>(is_tflite(r) ? code(from) : 0);
            exact += exact_weight * static_cast<long double>(x[corner]);
        }
        if (is_tflite(r)) {
            const std::int64_t half = std::int64_t{1} << 19;
            return finish(
                p,
                integer(static_cast<std::int32_t>(r == rule::tflite_single_rounding
                                                      ? (sum + half) >> 20
                                                      : (sum + (sum > 0 ? half : -half)) / (2 * half))),
                at, i, e);
        }
        if (r != rule::f32) {
            const long double width = 1e-3L; // beyond the errors of f32
            return finish(p, integer(static_cast<std::int32_t>(std::floor(exact - width))),
                          integer(static_cast<std::int32_t>(std::ceil(exact + width))), at, i, e);
        }
        std::size_t count = corners;
        for (std::size_t d = rank; d-- > 2; count /= 2)
            for (std::size_t k = 0; k < count / 2; k++)
                x[k] = std::fma(x[2 * k + 1], axis[d].weight, x[2 * k] * (1.f - axis[d].weight));
        finish(p, real(x[0]), at, i, e);
    });
}

} // namespace octet::oracle
