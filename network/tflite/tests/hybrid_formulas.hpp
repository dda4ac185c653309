#pragma once // SPDX-License-Identifier: Apache-2.0

// What the runtimes of TFLite do with floats that become codes while a network runs, written a second time: codes of a
// row or an image, and the order in which sums are scaled.

#include <algorithm>
#include <cmath>
#include <vector>

namespace octet::tests {

using floats = std::vector<float>;

struct quantized_source {
    std::vector<int> centred; ///< less the zero point
    float scale;
};
using source_quantizer_formula = quantized_source (*)(const float *x, std::size_t count);

inline quantized_source by_xnnpack(const float *x, std::size_t count) {
    const float low = std::min(0.f, *std::min_element(x, x + count)),
                high = std::max(0.f, *std::max_element(x, x + count));
    const float r = low == high ? 1.f : 255.f / (high - low), dl = low * r, dh = high * r;
    const float z = (-128.f + dl) + (127.f + dh) > 0.f ? -128.f - dl : 127.f - dh;
    const float zero = std::nearbyint(std::min(std::max(z, -128.f), 127.f));
    quantized_source result{{}, 1.f / r};
    for (std::size_t i = 0; i < count; i++)
        result.centred.push_back(
            static_cast<int>(std::nearbyint(std::min(std::max(x[i] * r, -128.f - zero), 127.f - zero))));
    return result;
}
inline quantized_source by_litert(const float *x, std::size_t count) {
    const double low = std::min(0.f, *std::min_element(x, x + count)),
                 high = std::max(0.f, *std::max_element(x, x + count)), scale = (high - low) / 255;
    const double by_low = -128 - low / scale, by_high = 127 - high / scale,
                 z = 128 + std::fabs(low / scale) < 127 + std::fabs(high / scale) ? by_low : by_high;
    const float zero = static_cast<float>(std::round(std::min(std::max(z, -128.), 127.)));
    quantized_source result{{}, static_cast<float>(scale)};
    for (std::size_t i = 0; i < count; i++) {
        const float code = std::round(zero + x[i] * (1.f / result.scale));
        result.centred.push_back(static_cast<int>(std::min(std::max(code, -128.f), 127.f) - zero));
    }
    return result;
}
inline quantized_source by_litert_symmetric(const float *x, std::size_t count) {
    float a = 0.f;
    for (std::size_t i = 0; i < count; i++)
        a = std::max(a, std::fabs(x[i]));
    quantized_source result{{}, a / 127.f};
    for (std::size_t i = 0; i < count; i++)
        result.centred.push_back(static_cast<int>(std::round(x[i] * (127.f / a))));
    return result;
}

using scaling_order = float (*)(float sum, float x_scale, float w_scale, float bias);
inline float fused(float sum, float x, float w, float b) { return std::fma(sum * x, w, b); }
inline float unfused(float sum, float x, float w, float b) { return sum * x * w + b; }
inline float scales_first(float sum, float x, float w, float b) { return b + sum * (x * w); }

} // namespace octet::tests
