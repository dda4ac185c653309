#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of the tests of element-wise primitives: random quantization, shapes that broadcast, and
// the last step.

#include "support/naive.hpp"

namespace octet::test {

inline dims random_dims(inputs &in, std::int64_t most_ndims = 5) {
    dims sizes;
    for (std::int64_t d = in.between(1, most_ndims); d > 0; d--)
        sizes.push_back(in.between(1, 5));
    return sizes;
}

inline data_type code_type(inputs &in) { return in.one_in(2) ? data_type::s8 : data_type::u8; }

/// real = scale * (code - zero_point)
struct quantized {
    float scale;
    std::int32_t zero_point;
};
inline quantized random_quantization(inputs &in, data_type type) {
    const bool is_power_of_two = in.one_in(3); // exact ties
    const float scale = is_power_of_two ? std::ldexp(1.f, static_cast<int>(in.between(-8, 0)))
                                        : static_cast<float>(in.between(1, 1000)) / 777;
    return {scale, static_cast<std::int32_t>(in.between(lowest_code(type), highest_code(type)))};
}
inline void set_quantization(primitive_attr &attr, int arg, const quantized &q) {
    attr.set_scales(arg, 0, {q.scale});
    attr.set_zero_points(arg, 0, {q.zero_point});
}

inline std::int32_t code_at(const memory &m, const dims &at) {
    return static_cast<std::int32_t>(element(m.get_desc(), m.get_data_handle(), at));
}

/// A code, limited to the type.
inline double saturated_code(double code, data_type type) {
    return std::clamp(code, static_cast<double>(lowest_code(type)), static_cast<double>(highest_code(type)));
}

/// rha(x), saturated to s32 as a conversion would.
inline double half_away(float x) {
    const double rounded = std::trunc(static_cast<double>(x) + std::copysign(0.5, static_cast<double>(x)));
    return std::abs(static_cast<double>(x)) >= 8388608. ? static_cast<double>(x) : rounded;
}

inline float divide_f32(float a, float b) { return f32(static_cast<double>(a) / static_cast<double>(b)); }

/// ONNX Runtime's QuantizeLinear.
inline double quantize_linear(float x, const quantized &q, data_type type) {
    const double low = static_cast<double>(lowest_code(type) - q.zero_point),
                 high = static_cast<double>(highest_code(type) - q.zero_point);
    return to_even(f32(std::clamp(static_cast<double>(divide_f32(x, q.scale)), low, high))) + q.zero_point;
}

} // namespace octet::test
