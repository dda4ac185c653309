// Extremes of numbers are the same in any order. A NaN among them takes part in an order of its own, which one thread
// repeats.
// SPDX-License-Identifier: Apache-2.0
#include "loops/extremes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "loops/levels.hpp"
#include "loops/parallel.hpp"
#include "loops/vectors.hpp"

namespace octet::loops {
namespace {

// MLAS's instructions give the second operand where one is NaN: one number behind a NaN makes it forgotten,
// and all that was before it.
float lower_of(float a, float b) { return a < b ? a : b; }
float higher_of(float a, float b) { return a > b ? a : b; }

void include(extremes &e, float low, float high) {
    e.low = lower_of(e.low, low);
    e.high = higher_of(e.high, high);
}

/// Extremes of what may be or have NaN, in MLAS's order for AVX: four times eight lanes, joined by pairs;
/// eight lanes, joined by halves; what is left, without NaN.
extremes extremes_with_nan(const float *x, dim_t count) {
    constexpr std::size_t width = 8, vectors = 4;
    constexpr auto step = static_cast<dim_t>(width), block = static_cast<dim_t>(vectors * width);
    std::array<extremes, vectors * width> lanes;
    const auto join = [&](std::size_t to, const extremes &from) { include(lanes[to], from.low, from.high); };
    dim_t i = 0;
    for (; count - i >= block; i += block)
        for (std::size_t k = 0; k < lanes.size(); k++)
            include(lanes[k], x[i + static_cast<dim_t>(k)], x[i + static_cast<dim_t>(k)]);
    if (count >= block)
        for (const auto &[to, from] : {std::pair{0, 1}, {2, 3}, {0, 2}})
            for (std::size_t k = 0; k < width; k++)
                join(static_cast<std::size_t>(to) * width + k,
                     lanes[static_cast<std::size_t>(from) * width + k]);
    for (; count - i >= step; i += step)
        for (std::size_t k = 0; k < width; k++)
            include(lanes[k], x[i + static_cast<dim_t>(k)], x[i + static_cast<dim_t>(k)]);
    for (std::size_t half = width / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; k++)
            join(k, lanes[k + half]);
    extremes all = lanes[0];
    for (; i < count; i++) {
        all.low = x[i] < all.low ? x[i] : all.low;
        all.high = x[i] > all.high ? x[i] : all.high;
    }
    return all;
}

struct scan_code {
    void (*scan)(const float *x, dim_t count, float *found);
};

namespace extremes_in_any_order {

#define OCTET_FORM "loops/extremes.inl"
#include "loops/forms_of_floats.inl"
#undef OCTET_FORM

} // namespace extremes_in_any_order
} // namespace

extremes_loop::extremes_loop(dim_t count) : scan_(extremes_in_any_order::code_in_use()->scan), count_(count) {
    constexpr dim_t least_part = 1 << 14, most_parts = 64;
    parts_ = std::clamp<dim_t>(count / least_part, 1, most_parts);
    part_ = (count + parts_ - 1) / parts_;
}

extremes extremes_loop::run(const float *x, float *scratch) const {
    parallel_for(parts_, part_, [&](dim_t begin, dim_t end) {
        for (dim_t p = begin; p < end; p++)
            scan_(x + p * part_, std::min(part_, count_ - p * part_), scratch + 3 * p);
    });
    extremes all;
    for (const float *found = scratch; found < scratch + scratch_size(); found += 3) {
        if (found[2] != 0.f)
            return extremes_with_nan(x, count_);
        include(all, found[0], found[1]);
    }
    return all;
}

} // namespace octet::loops
