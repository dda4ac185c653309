// Finds the products at which the rule's result changes, then tries factors and offsets next to the real ones
// until all of these thresholds are theirs.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/product_scale.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace octet::impl::stream {

namespace {

constexpr std::int32_t beyond_codes = 512; // as far from 0 as results matter: a code less its zero point

/// The products around each place where the scaled number is half an odd integer: results change there alone.
/// The rule and the float computation are both monotone, so they are equal everywhere if they are equal at
/// these products.
class thresholds {
public:
    /// The rule's changes are at most `deviation`, in results, from those places.
    thresholds(requantization_rule rule, const fixed_point_multiplier &m, double real, double deviation,
               std::int32_t least, std::int32_t greatest) {
        const auto add = [&](std::int32_t p) { products_.push_back({p, clamped(requantize(rule, p, m))}); };
        const auto width = 2 + static_cast<std::int32_t>((deviation + 0x1p-12) / real);
        add(least);
        add(greatest);
        std::int32_t next = least;
        for (std::int32_t n = -beyond_codes; n <= beyond_codes; n++) {
            const double place = (n - 0.5) / real;
            if (place < least - width || place > greatest + width)
                continue;
            const auto centre = static_cast<std::int32_t>(std::floor(place));
            const std::int32_t end = std::min(greatest, centre + width);
            for (std::int32_t p = std::max(next, centre - width); p <= end; p++)
                add(p);
            next = std::max(next, end + 1);
        }
    }

    bool are_those_of(const product_scale &s) const {
        return std::all_of(products_.begin(), products_.end(),
                           [&](const scaled &x) { return clamped(apply(s, x.product)) == x.result; });
    }

private:
    struct scaled {
        std::int32_t product, result;
    };
    static std::int32_t clamped(std::int32_t x) { return std::clamp(x, -beyond_codes, beyond_codes); }
    std::vector<scaled> products_;
};

} // namespace

std::int32_t apply(const product_scale &s, std::int32_t product) {
    const float offset = s.is_symmetric && product < 0 ? -s.offset : s.offset;
    return static_cast<std::int32_t>(std::nearbyint(std::fma(static_cast<float>(product), s.factor, offset)));
}

std::optional<product_scale> make_product_scale(requantization_rule rule, const fixed_point_multiplier &m,
                                                std::int32_t least, std::int32_t greatest) {
    const fixed_point_facts &facts = facts_of(rule).fixed_point;
    const bool is_left = facts.shift == shift_form::left_of_q31;
    const int right = is_left ? -m.shift : m.shift; // beyond 31 bits, but where a shift is the whole
    const bool has_two_steps = facts.steps == rounding_steps::two_steps;
    if (!is_fixed_point(rule) || m.multiplier <= 0 || right < 0 || facts.steps == rounding_steps::dwords)
        return {};
    const int shift = has_two_steps || is_left ? 31 + right : right;
    const double real = std::ldexp(m.multiplier, -shift);
    if (!(real >= 0x1p-17 && real <= 1))
        return {};
    // Two steps: the first one rounds to units of 2^-right. One: more than the error of floats below 2^9.
    const double unit = has_two_steps ? std::ldexp(1., -right) : 0;
    const thresholds all(rule, m, real, unit, least, greatest);
    const float offset = has_two_steps                 ? static_cast<float>(unit / 2)
                         : facts.last == ties_go::even ? 0.f
                                                       : 0x1p-15f;
    const bool is_symmetric = least < 0 && (has_two_steps || facts.last != ties_go::up);
    float factors[] = {static_cast<float>(real), 0, 0};
    factors[1] = std::nextafter(factors[0], 2.f);
    factors[2] = std::nextafter(factors[0], 0.f);
    for (const float adjusted : {1.f, 1 + 0x1p-8f, 1 - 0x1p-8f, 1.5f, 0.5f})
        for (const float factor : factors) {
            const product_scale s{factor, offset * adjusted, is_symmetric};
            if (all.are_those_of(s))
                return s;
        }
    return {};
}

} // namespace octet::impl::stream
