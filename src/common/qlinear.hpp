#pragma once

// ONNX Runtime's element-wise arithmetic on x86 with FMA3, operation by operation: the order and the fusing
// of the float operations decide results on ties.

#include <algorithm>
#include <cmath>

#include "common/rounding.hpp"

namespace octet::impl {

/// cvtps2dq: rounds to even; what does not fit an int32, NaN included, is INT32_MIN.
inline std::int32_t convert_to_s32(float x) {
    const float rounded = round_to_even(x);
    return rounded >= -2147483648.f && rounded < 2147483648.f ? static_cast<std::int32_t>(rounded)
                                                              : int32_min;
}

/// QLinearAdd: the operand `y` enters first. Codes are not centred; `fixed` holds all zero points.
struct qlinear_sum {
    float ratio_x, ratio_y, fixed;

    qlinear_sum(float scale_x, std::int32_t zp_x, float scale_y, std::int32_t zp_y, float dst_scale,
                std::int32_t dst_zp)
        : ratio_x(scale_x / dst_scale), ratio_y(scale_y / dst_scale) {
        const float both = std::fma(ratio_x, static_cast<float>(zp_x), ratio_y * static_cast<float>(zp_y));
        fixed = static_cast<float>(dst_zp) - both;
    }
    std::int32_t operator()(std::int32_t x, std::int32_t y) const {
        const float t = std::fma(static_cast<float>(y), ratio_y, fixed);
        return convert_to_s32(std::fma(static_cast<float>(x), ratio_x, t));
    }
};

/// QLinearMul: the zero point is added, unfused, before rounding.
struct qlinear_product {
    float ratio;
    std::int32_t zp_x, zp_y;
    float dst_zp;

    qlinear_product(float scale_x, std::int32_t zp_x, float scale_y, std::int32_t zp_y, float dst_scale,
                    std::int32_t dst_zp)
        : ratio(scale_x * scale_y / dst_scale), zp_x(zp_x), zp_y(zp_y), dst_zp(static_cast<float>(dst_zp)) {}
    std::int32_t operator()(std::int32_t x, std::int32_t y) const {
        const std::int32_t product = wrap(std::int64_t{x - zp_x} * (y - zp_y));
        const float scaled = static_cast<float>(product) * ratio;
        return convert_to_s32(scaled + dst_zp);
    }
};

/// Logistic function as MLAS computes it: a rational polynomial on [-18, 18].
inline float qlinear_logistic(float x) {
    constexpr float a9 = 4.37031012579801e-11f, a7 = 1.15627324459942e-07f, a5 = 6.08574864600143e-05f,
                    a3 = 8.51377133304701e-03f, a1 = 2.48287947061529e-01f;
    constexpr float b10 = 6.10247389755681e-13f, b8 = 5.76102136993427e-09f, b6 = 6.29106785017040e-06f,
                    b4 = 1.70198817374094e-03f, b2 = 1.16817656904453e-01f, b0 = 9.93151921023180e-01f;
    const float v = std::min(std::max(x, -18.f), 18.f), v2 = v * v;
    float p = std::fma(v2, a9, a7);
    for (const float a : {a5, a3, a1})
        p = std::fma(p, v2, a);
    float q = std::fma(v2, b10, b8);
    for (const float b : {b6, b4, b2, b0})
        q = std::fma(q, v2, b);
    const float result = p * v / q + 0.5f;
    return result > 0.f ? result : 0.f;
}

} // namespace octet::impl
