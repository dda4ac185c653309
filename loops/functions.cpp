// Functions of single floats as ONNX Runtime computes them, whose bits no primitive has: e^x and logarithm
// are Eigen's for SSE, four elements at a time, and the C library's for those that are left at the end.
// Contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "loops/functions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "loops/exponential.hpp"
#include "loops/levels.hpp"
#include "loops/library_functions.hpp"
#include "octet/parallel_loop.hpp"

namespace octet::loops {
namespace {

const float none = bits_of<float>(0xffffffffu); ///< the NaN that Eigen gives

/// One of two results that are both there, so that the compiler moves none behind a branch, which would end vectors.
float chosen(bool is_first, float first, float second) {
    const std::uint32_t mask = is_first ? 0xffffffffu : 0u;
    return bits_of<float>((bits_of<std::uint32_t>(first) & mask) | (bits_of<std::uint32_t>(second) & ~mask));
}

/// ln x = e ln 2 + ln(1 + f) with 1 + f in [1/sqrt 2, sqrt 2), a quotient of two polynomials of f.
inline __attribute__((always_inline)) float logarithm(float x) {
    constexpr float infinity = std::numeric_limits<float>::infinity(), ln2 = 0.693147180559945309f;
    const bool is_small = x < std::numeric_limits<float>::min(); // subnormal numbers
    const auto bits = bits_of<std::uint32_t>(is_small ? x * 0x1p24f : x);
    const float half = bits_of<float>((bits & 0x7fffffu) | 0x3f000000u); // the significand, in [1/2, 1)
    auto e = static_cast<std::int32_t>(bits >> 23 & 255) - (is_small ? 126 + 24 : 126);
    const bool is_low = half < 0.707106781186547524f;
    const float f = (half - 1.f) + (is_low ? half : 0.f);
    e -= is_low;
    const float p = f * (f * (f * 0.18256296349849254f + 1.0000000190281063f) + 1.0000000190281136f);
    const float q = f * (f * (f * 0.049616247954120038f + 0.59923249590823520f) + 1.4999999999999927f) + 1.f;
    const float y = static_cast<float>(e) * ln2 + p / q;
    return x == infinity ? x : x == 0.f ? -infinity : x > 0.f ? y : none;
}

/// ln(1 + v) for v in [0, 1]; the quotient takes back what the rounding of 1 + v changed.
float logarithm_of_1_plus(float v) {
    const float u = 1.f + v;
    return chosen(u == 1.f, v, v * (logarithm(u) / (u - 1.f)));
}

/// A number less the nearest multiple of π / 2, and that multiple.
struct angle {
    float rest;
    std::int32_t quarters;
};

/// x as turns, of which 64 bits behind the point are kept: its significand times those bits of 1 / 2π that
/// matter for its exponent.
angle large_angle(float x) {
    constexpr std::uint8_t bits_of_turn[] = {0,    0,    0,    0x28, 0xbe, 0x60, 0xdb, 0x93, 0x91, 0x05,
                                             0x4a, 0x7f, 0x09, 0xd5, 0xf4, 0x7d, 0x4d, 0x37, 0x70, 0x36,
                                             0xd8, 0xa5, 0x66, 0x4f, 0x10, 0xe4, 0x10, 0x7f};
    const auto word = [&](std::uint32_t byte) {
        std::uint64_t w = 0;
        for (std::uint32_t k = 0; k < 4; k++)
            w = w << 8 | bits_of_turn[byte + k];
        return w;
    };
    const auto bits = bits_of<std::uint32_t>(x);
    const std::uint32_t exponent = (bits >> 23) - 118, byte = exponent / 8;
    const std::uint64_t significand = std::uint64_t{(bits & 0x7fffffu) | 0x800000u} << exponent % 8;
    const std::uint64_t low = significand * word(byte + 7), middle = significand * word(byte + 3),
                        turns = (significand * word(byte - 1) << 32) + middle + (low >> 32);
    const std::uint64_t quarters = (turns + (std::uint64_t{1} << 61)) >> 62;
    const auto rest = static_cast<std::int64_t>(turns - (quarters << 62));
    return {static_cast<float>(static_cast<double>(rest) * 3.4061215800865545e-19), // π / 2^63
            static_cast<std::int32_t>(quarters)};
}

angle angle_of(float x, float large) {
    if (x >= large && x <= std::numeric_limits<float>::max())
        return large_angle(x);
    constexpr float to_integer = 12582912.f; // 3 · 2^22: the sum has the integer in its low bits
    const float shifted = x * 0.636619746685028076171875f + to_integer, n = shifted - to_integer;
    float rest = n * -1.5703125f + x; // π / 2 in four parts
    rest = n * -0.000483989715576171875f + rest;
    rest = n * 1.62865035235881805419921875e-07f + rest;
    rest = n * 5.5644315544167710640977020375430583953857421875e-11f + rest;
    return {rest, bits_of<std::int32_t>(shifted)};
}

/// A quarter turn ahead, the sine is the cosine: polynomials of either for |rest| <= π / 4.
template <bool is_sine> float circular(float x) {
    const angle a = angle_of(std::abs(x), is_sine ? 25966.f : 18838.f);
    const float square = a.rest * a.rest;
    float cosine = 2.4372266125283204019069671630859375e-05f;
    cosine = cosine * square + -0.00138865201734006404876708984375f;
    cosine = cosine * square + 0.041666619479656219482421875f;
    cosine = cosine * square + -0.5f;
    cosine = cosine * square + 1.f;
    float sine = -0.0001959234114083702898469196984621021329076029360294342041015625f;
    sine = sine * square + 0.00833268736556168516937947998712842584f;
    sine = sine * square + -0.16666662039822982555035737618218f;
    sine = sine * square * a.rest + a.rest;
    const bool is_even = (a.quarters & 1) == 0;
    const auto quarters = static_cast<std::uint32_t>(a.quarters) + (is_sine ? 0 : 1);
    const std::uint32_t sign = (quarters << 30 ^ (is_sine ? bits_of<std::uint32_t>(x) : 0)) & 0x80000000u;
    return bits_of<float>(bits_of<std::uint32_t>(is_even == is_sine ? sine : cosine) ^ sign);
}

// The functions, `last_…` for what is left of a tensor: `alpha` is the attribute, 0 where there is none.

float elu(float x, float alpha) {
    const float negative = alpha * (exponential(std::min(x, 0.f)) - 1.f);
    return chosen(x < 0.f, negative, x);
}
float last_elu(float x, float alpha) { return x < 0.f ? alpha * (std::exp(x) - 1.f) : x; }
float log_of(float x, float) { return logarithm(x); }
float last_log(float x, float) { return std::log(x); }
float softplus(float x, float) {
    const float y = logarithm_of_1_plus(exponential(-std::abs(x)));
    return chosen(x > 0.f, x + y, chosen(x == x, y, none));
}
float last_softplus(float x, float) {
    const float y = library_log1p(std::exp(-std::abs(x)));
    return x > 0.f ? x + y : x == x ? y : x;
}
float negative(float x, float) { return -x; }
float softsign(float x, float) { return 1.f / (1.f + std::abs(x)) * x; }
float thresholded_relu(float x, float alpha) { return x > alpha ? x : 0.f; }
float ceiling(float x, float) { return std::ceil(x); }
float floor_of(float x, float) { return std::floor(x); }
float celu(float x, float alpha) {
    return std::max(x, 0.f) + std::min(alpha * (exponential(x / alpha) - 1.f), 0.f);
}
float last_celu(float x, float alpha) {
    return std::max(x, 0.f) + std::min(alpha * (std::exp(x / alpha) - 1.f), 0.f);
}
float sine(float x, float) { return circular<true>(x); }
float last_sine(float x, float) { return std::sin(x); }
float cosine(float x, float) { return circular<false>(x); }
float last_cosine(float x, float) { return std::cos(x); }
float sign_of(float x, float) { return x > 0.f ? 1.f : x < 0.f ? -1.f : x == 0.f ? 0.f : x; }

using single_function = float (*)(float x, float alpha);

template <single_function F, single_function Last = F>
OCTET_LOOP void loop_over(const float *x, float *y, dim_t count, float alpha) {
    const dim_t groups = count / 4 * 4;
    for (dim_t i = 0; i < groups; i++)
        y[i] = F(x[i], alpha);
    for (dim_t i = groups; i < count; i++)
        y[i] = Last(x[i], alpha);
}

/// The loop of each function, in the order of `function`.
template <single_function F, single_function Last = F>
constexpr auto loop_of = compiled_for_level<loop_over<F, Last>>;
using row_loop = void (*)(const float *x, float *y, dim_t count, float alpha);
constexpr row_loop (*loops[])() = {
    loop_of<ceiling>,
    loop_of<celu, last_celu>,
    loop_of<cosine, last_cosine>,
    loop_of<elu, last_elu>,
    loop_of<floor_of>,
    loop_of<log_of, last_log>,
    loop_of<negative>,
    loop_of<sign_of>,
    loop_of<sine, last_sine>,
    loop_of<softplus, last_softplus>,
    loop_of<softsign>,
    loop_of<thresholded_relu>,
};

} // namespace

function_loop::function_loop(function f, float alpha)
    : loop_(loops[static_cast<std::size_t>(f)]()), alpha_(alpha) {}

void function_loop::run(const float *x, float *y, dim_t count) const {
    constexpr dim_t part = 1024, worth = 8; // parts; but for the last one whole groups
    parallel_loop((count + part - 1) / part, worth, [=](dim_t begin, dim_t end) {
        const dim_t first = begin * part;
        loop_(x + first, y + first, std::min(end * part, count) - first, alpha_);
    });
}

} // namespace octet::loops
