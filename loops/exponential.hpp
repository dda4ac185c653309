#pragma once // SPDX-License-Identifier: Apache-2.0

// e^x as Eigen computes it on SSE for whole groups of four floats, which ONNX Runtime's functions are made
// of.

#include <cstdint>
#include <cstring>

namespace octet::loops {

template <typename To, typename From> To bits_of(From value) {
    To result;
    static_assert(sizeof result == sizeof value);
    std::memcpy(&result, &value, sizeof result);
    return result;
}

/// e^x: 2^m e^r, |r| <= ln 2 / 2.
inline __attribute__((always_inline)) float exponential(float x) {
    constexpr float lowest = -104.f, highest = 89.f; // beyond, the result is 0 or infinite
    x = x > lowest ? x : lowest;                     // also a NaN
    x = x < highest ? x : highest;
    const float scaled = x * 1.44269504088896341f + 0.5f;
    auto m = static_cast<std::int32_t>(scaled);
    m -= static_cast<float>(m) > scaled; // floor
    const auto n = static_cast<float>(m);
    // ln 2 in two parts, so that n times the first is exact: it has nine bits, n has eight.
    float r = n * -0.693359375f + x;
    r = n * 2.12194440e-4f + r;
    const float square = r * r;
    const float even =
                    square * (square * 1.37449637986719608306884765625e-3f + 4.166965186595916748046875e-2f) +
                    0.49999988079071044921875f,
                odd = square * 8.36894474923610687255859375e-3f + 0.16666518151760101318359375f;
    const float y = square * (r * odd + even) + (r + 1.f);
    const std::int32_t half = m >> 1; // subnormal results are rounded by the second product alone
    return y * bits_of<float>((half + 127) << 23) * bits_of<float>((m - half + 127) << 23);
}

} // namespace octet::loops
