#pragma once // SPDX-License-Identifier: Apache-2.0

// Exact arithmetic in 128 bits, written from the definitions ("nearest integer, ties …") and not from the
// formulas with nudges and masks that the library uses: the tests' own idea of rounding.

#include <cstdint>
#include <limits>

namespace octet::test {

__extension__ typedef __int128 wide;

constexpr std::int32_t int32_min = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t int32_max = std::numeric_limits<std::int32_t>::max();

enum class ties { up, away, even };

constexpr wide power_of_two(int exponent) { return wide{1} << exponent; }

/// Nearest integer to x / 2^s.
constexpr wide nearest(wide x, int s, ties t) {
    const wide unit = power_of_two(s);
    wide below = x / unit;
    if (below * unit > x)
        below--; // division truncates
    const wide twice_rest = 2 * (x - below * unit);
    if (twice_rest != unit)
        return twice_rest < unit ? below : below + 1;
    switch (t) {
    case ties::up:
        return below + 1;
    case ties::away:
        return x < 0 ? below : below + 1;
    default:
        return below % 2 == 0 ? below : below + 1;
    }
}

/// The number congruent to x modulo 2^32 that fits s32.
constexpr std::int32_t wrapped(wide x) {
    wide rest = x % power_of_two(32);
    if (rest < 0)
        rest += power_of_two(32);
    return static_cast<std::int32_t>(rest < power_of_two(31) ? rest : rest - power_of_two(32));
}

constexpr std::int32_t saturated(wide x) {
    return static_cast<std::int32_t>(x < int32_min ? int32_min : x > int32_max ? int32_max : x);
}

} // namespace octet::test
