#include "common/eltwise_code.hpp"

#include <algorithm>
#include <cmath>

#include "common/eltwise_math.hpp"
#include "common/fixed_point.hpp"
#include "common/qlinear.hpp"
#include "common/requantize.hpp"

namespace octet::impl {

namespace {

// ---- TFLite Micro

constexpr int sigmoid_input_integer_bits = 4; // the argument of logistic and tanh: Q4.27

/// |code - zero point| from which on a result is its limit: 15 in real numbers.
double sigmoid_input_radius(fixed_point_multiplier m) {
    const double highest = (1 << sigmoid_input_integer_bits) - 1;
    return std::floor(std::ldexp(highest, 31 - sigmoid_input_integer_bits - m.shift));
}

/// Codes relative to the zero point: 0 … 255 in 1/256.
std::int32_t tflite_logistic(const eltwise_problem &p, std::int32_t d) {
    const double radius = sigmoid_input_radius(p.multiplier);
    if (d <= -radius)
        return 0;
    if (d >= radius)
        return 255;
    const std::int32_t x = requantize(p.out_stage.rule, d, p.multiplier);
    return rounding_divide_by_pot(logistic(x, sigmoid_input_integer_bits), 23);
}

/// -128 … 127 in 1/128.
std::int32_t tflite_tanh(const eltwise_problem &p, std::int32_t d) {
    const double radius = sigmoid_input_radius(p.multiplier);
    if (d <= -radius)
        return -128;
    if (d >= radius)
        return 127;
    const std::int32_t x = requantize(p.out_stage.rule, d, p.multiplier);
    return rounding_divide_by_pot(tanh(x, sigmoid_input_integer_bits), 24);
}

std::int32_t tflite_relu(const eltwise_problem &p, std::int32_t d) {
    if (p.has_negative_multiplier)
        return requantize_signed(p.out_stage.rule, d, d >= 0 ? p.multiplier : p.negative_multiplier);
    return std::max(requantize(p.out_stage.rule, d, p.multiplier), 0);
}

std::int32_t tflite_clip(const eltwise_problem &p, std::int32_t d) {
    const std::int32_t x = p.rescales ? requantize(p.out_stage.rule, d, p.multiplier) : d;
    return clamp(x, p.low, p.high);
}

std::int32_t fixed_point_function(const eltwise_problem &p, std::int32_t d) {
    switch (p.alg) {
    case algorithm::eltwise_logistic:
        return tflite_logistic(p, d);
    case algorithm::eltwise_tanh:
        return tflite_tanh(p, d);
    case algorithm::eltwise_relu:
        return tflite_relu(p, d);
    default:
        return tflite_clip(p, d);
    }
}

// ---- Real values

float real_function(const eltwise_problem &p, float x) {
    const requantization_rule rule = p.out_stage.rule;
    if (p.alg == algorithm::eltwise_logistic && rule == requantization_rule::ort_f32)
        return qlinear_logistic(x);
    if (p.alg == algorithm::eltwise_logistic && rule == requantization_rule::caffe_double_round)
        return eltwise_tanh(x * 0.5f) * 0.5f + 0.5f;
    // ONNX Runtime keeps a zero or positive value, oneDNN a positive one: they differ for -0 and NaN only.
    return eltwise(p.alg, p.alpha, p.beta, x);
}

number quantized(const eltwise_problem &p, float y) {
    switch (p.out_stage.rule) {
    case requantization_rule::ort_f32:
        return y / p.dst_scale;
    case requantization_rule::caffe_double_round:
        return round_half_away(y / p.dst_scale);
    default:
        return y;
    }
}

} // namespace

number eltwise_of_code(const eltwise_problem &p, std::int32_t code, std::int32_t zero_point) {
    const std::int32_t d = wrap(std::int64_t{code} - zero_point);
    if (is_tflite(p.out_stage.rule))
        return fixed_point_function(p, d);
    return quantized(p, real_function(p, p.src_scale * static_cast<float>(d)));
}

number eltwise_of_real(const eltwise_problem &p, float x, std::int32_t zero_point) {
    const float real = zero_point == 0 ? x : x - static_cast<float>(zero_point);
    const bool is_scaled = p.src_scale != 1.f; // else signaling NaNs would become quiet ones
    return quantized(p, real_function(p, is_scaled ? p.src_scale * real : real));
}

} // namespace octet::impl
