// XNNPACK's codes are rounded by plain arithmetic, which the compiler makes vectors of; those of other quantizers come
// from their definition.
// SPDX-License-Identifier: Apache-2.0
#include "loops/image_products.hpp"

#include <algorithm>
#include <cmath>

#include "common/combination.hpp"
#include "loops/levels.hpp"
#include "loops/parallel.hpp"

namespace octet::loops {
namespace {

/// Its unit is 1, so a sum with it is a whole number, and ties go to even; codes are far below 2^22.
constexpr float rounds_to_units = 0x1.8p23f;

OCTET_LOOP void round_to_even(const float *x, dim_t count, float inverse, float zero_point,
                              std::int8_t *codes) {
    const float low = -128.f - zero_point, high = 127.f - zero_point;
    for (dim_t i = 0; i < count; i++) {
        const float scaled = x[i] * inverse, limited = scaled > low ? (scaled < high ? scaled : high) : low,
                    whole = (limited + rounds_to_units) - rounds_to_units;
        codes[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(whole + zero_point));
    }
}

/// The results of one pixel.
template <combination order, bool has_one_scale>
OCTET_LOOP void combine_channels(const pixel_results &p, const std::int32_t *sums, float source_scale,
                                 const float *scales, const float *bias, float *y) {
    const float low = p.low, high = p.high;
    for (dim_t c = 0; c < p.channels; c++) {
        const float b = bias ? bias[c] : 0.f; // absent, it is added all the same
        const float v = impl::combine_sum<order>(
            {static_cast<float>(sums[c]), source_scale, scales[has_one_scale ? 0 : c]}, &b);
        y[c] = !(v <= low) ? (!(v >= high) ? v : high) : low; // NaN passes
    }
}

template <combination order> auto code_of_order(bool has_one_scale) {
    return has_one_scale ? compiled_for_level<combine_channels<order, true>>()
                         : compiled_for_level<combine_channels<order, false>>();
}

} // namespace

image_codes::image_codes(const source_quantization &q, dim_t count)
    : q_(q), count_(count), extremes_(count),
      round_(impl::multiplies_and_rounds_to_even(q.by) ? compiled_for_level<round_to_even>() : nullptr) {}

image_parameters image_codes::run(const float *x, std::int8_t *codes, float *scratch) const {
    const extremes e = extremes_.run(x, scratch);
    const float ends[] = {e.low, e.high};
    const impl::source_parameters p = impl::parameters_of(q_, ends, 2);
    parallel_for(count_, 4, [&](dim_t begin, dim_t end) {
        if (round_ && p.inverse != 0.f)
            return round_(x + begin, end - begin, p.inverse, static_cast<float>(p.zero_point), codes + begin);
        for (dim_t i = begin; i < end; i++)
            codes[i] = static_cast<std::int8_t>(impl::code_of(q_, p, x[i]));
    });
    return {p.scale, p.zero_point};
}

pixel_results_loop::pixel_results_loop(const pixel_results &p)
    : p_(p), pixel_(p.order == combination::xnnpack ? code_of_order<combination::xnnpack>(p.has_one_scale)
                    : p.order == combination::litert
                        ? code_of_order<combination::litert>(p.has_one_scale)
                        : code_of_order<combination::xnnpack_unfused>(p.has_one_scale)) {}

void pixel_results_loop::run(const std::int32_t *sums, float source_scale, const float *scales,
                             const float *bias, float *y) const {
    parallel_for(p_.pixels, 2 * p_.channels, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++)
            pixel_(p_, sums + i * p_.channels, source_scale, scales, bias, y + i * p_.channels);
    });
}

} // namespace octet::loops
