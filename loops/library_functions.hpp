#pragma once // SPDX-License-Identifier: Apache-2.0

// Functions of floats that C libraries round differently, by their version and by the processor. ONNX Runtime calls
// the library's; these are those of glibc 2.36 for x86, Sun's arithmetic of 1993, with each operation rounded.

#include <cmath>
#include <cstdint>

#include "loops/exponential.hpp"

namespace octet::loops {

namespace library {

constexpr float ln2_high = 0x1.62e3p-1f, ln2_low = 0x1.2fefa2p-17f; ///< ln 2; the first has 16 bits

/// a + x * (b + x * (c + …))
inline float polynomial(float, float a) { return a; }
template <typename... Rest> float polynomial(float x, float a, Rest... rest) {
    return a + x * polynomial(x, rest...);
}

inline float power_of_2(int k) { return bits_of<float>((std::int32_t{127} + k) << 23); }

/// e^x - 1 for x from -2 to 44: e^x is 2^k e^r with the rest r in ±ln 2 / 2.
inline float expm1(float x) {
    const float size = std::fabs(x);
    if (size < 0x1p-25f)
        return x;
    int k = 0;
    float r = x, error = 0.f; // r + error is the rest
    if (size > 0x1.62e43p-2f) {
        k = static_cast<int>(size < 0x1.0a2b24p+0f ? std::copysign(1.f, x)
                                                   : 0x1.715476p+0f * x + std::copysign(0.5f, x));
        const auto whole = static_cast<float>(k);
        const float high = x - whole * ln2_high, low = whole * ln2_low;
        r = high - low;
        error = (high - r) - low;
    }
    const float half = 0.5f * r, square = r * half;
    const float p = polynomial(square, 1.f, -0x1.111112p-5f, 0x1.a01a02p-10f, -0x1.4ce19ap-14f,
                               0x1.0cfca8p-18f, -0x1.afdb76p-23f);
    const float t = 3.f - p * half, e = square * ((p - t) / (6.f - r * t));
    if (k == 0)
        return r - (r * e - square);
    const float less = (r * (e - error) - error) - square; // e^r - 1 is r - less
    switch (k) {
    case -1:
        return 0.5f * (r - less) - 0.5f;
    case 1:
        return r < -0.25f ? -2.f * (less - (r + 0.5f)) : 1.f + 2.f * (r - less);
    default:
        if (k < 0 || k > 56)
            return (1.f - (less - r)) * power_of_2(k) - 1.f;
        const float one = power_of_2(-k); // of the result, before it is multiplied by 2^k
        return (k < 23 ? (1.f - one) - (less - r) : (r - (less + one)) + 1.f) * power_of_2(k);
    }
}

} // namespace library

/// The hyperbolic tangent; a NaN stays.
inline float library_tanh(float x) {
    const float size = std::fabs(x);
    if (!(size < 22.f))
        return x != x ? x : std::copysign(1.f, x);
    if (size < 1.f) {
        const float t = library::expm1(-2.f * size);
        return std::copysign(-t / (t + 2.f), x);
    }
    return std::copysign(1.f - 2.f / (library::expm1(2.f * size) + 2.f), x);
}

/// log(1 + x) for x from 0 to 1.
inline float library_log1p(float x) {
    using library::ln2_high, library::ln2_low;
    if (!(x >= 0x1p-29f))
        return x - x * x * 0.5f;
    const float sum = 1.f + x;
    const bool is_halved = sum >= 0x1.6a09eep+0f; // the logarithm of sum / 2, and ln 2
    const float f = is_halved ? 0.5f * sum - 1.f : x >= 0x1.a827aep-2f ? sum - 1.f : x;
    const float error = (sum < 2.f ? x - (sum - 1.f) : 1.f - (sum - x)) / sum, low = ln2_low + error;
    const float half_square = 0.5f * f * f;
    if (is_halved && f > -0x1p-22f)
        return ln2_high - ((half_square * (1.f - 0x1.555556p-1f * f) - low) - f);
    const float s = f / (2.f + f), z = s * s;
    const float r = z * library::polynomial(z, 0x1.555556p-1f, 0x1.99999ap-2f, 0x1.24924ap-2f, 0x1.c71c52p-3f,
                                            0x1.74664ap-3f, 0x1.39a09ep-3f, 0x1.2f112ep-3f);
    const float curve = s * (half_square + r);
    return is_halved ? ln2_high - ((half_square - (curve + low)) - f) : f - (half_square - curve);
}

} // namespace octet::loops
