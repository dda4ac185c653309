#pragma once // SPDX-License-Identifier: Apache-2.0

// Deterministic inputs that hit the interesting places: extremes, neighbours of powers of two, and products
// that are ties on purpose (by chance, a tie of a 31-bit shift comes once in 2^31).

#include <random>
#include <vector>

#include "exact.hpp"

namespace octet::test {

/// 0, ±2^k and their neighbours, both extremes.
inline std::vector<std::int32_t> landmarks() {
    std::vector<std::int32_t> values{int32_min, int32_min + 1, int32_max};
    for (int k = 0; k < 31; k++)
        for (const std::int32_t sign : {1, -1})
            for (const std::int32_t neighbour : {-1, 0, 1})
                values.push_back(sign * ((std::int32_t{1} << k) + neighbour));
    return values;
}

class inputs {
public:
    explicit inputs(std::uint32_t seed) : engine_(seed) {}

    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
    }
    bool one_in(int n) { return between(1, n) == 1; }
    std::int32_t s32() { return static_cast<std::int32_t>(between(int32_min, int32_max)); }

    /// Any magnitude alike: uniform in the number of bits.
    std::int32_t any_magnitude() { return s32() >> between(0, 31); }

    std::int32_t multiplier() { return static_cast<std::int32_t>(between(std::int64_t{1} << 30, int32_max)); }

    struct pair {
        std::int32_t a, b;
    };
    /// a * b is an odd multiple of 2^bits (0 to 60), so a shift by bits + 1 is a tie.
    pair tied_product(int bits) {
        const int low = bits > 30 ? bits - 30 : 0, high = bits < 30 ? bits : 30;
        const int bits_of_a = static_cast<int>(between(low, high));
        return {odd_multiple_of_two_to(bits_of_a), odd_multiple_of_two_to(bits - bits_of_a)};
    }
    /// x / 2^e is a tie; 1 <= e <= 31.
    std::int32_t tied_dividend(int e) { return odd_multiple_of_two_to(e - 1); }

    std::int32_t odd_multiple_of_two_to(int k) {
        const std::int64_t odd =
            2 * between(-(std::int64_t{1} << (30 - k)), (std::int64_t{1} << (30 - k)) - 1) + 1;
        return static_cast<std::int32_t>(odd * (std::int64_t{1} << k));
    }

private:
    std::mt19937_64 engine_;
};

} // namespace octet::test
