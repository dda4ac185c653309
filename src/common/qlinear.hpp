#pragma once // SPDX-License-Identifier: Apache-2.0

// ONNX Runtime's element-wise arithmetic on x86 with FMA3, operation by operation: the order and the fusing
// of the float operations decide results on ties.

#include <algorithm>
#include <cmath>

#include "common/eltwise_ort.hpp"
#include "common/rounding.hpp"

namespace octet::impl {

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

/// Logistic function of codes, whose NaN is 0.
inline float qlinear_logistic(float x) { return x != x ? 0.f : eltwise_ort_logistic(x); }

} // namespace octet::impl
