// TFLite's element-wise float operators under the substitute exact-f32: no runtime's kernels, but what all of
// them approximate. Each operation of a formula is one of IEEE's in f32; functions of the C library are taken
// in f64 and rounded once. Such operators stand between DEQUANTIZE and QUANTIZE and are rare, so most are
// plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "network/ops/broadcast.hpp"
#include "network/tflite/ops/operators.hpp"

namespace octet::model {
namespace {

template <double (*F)(double)> float rounded(float x) {
    return static_cast<float>(F(static_cast<double>(x)));
}
double logistic(double x) { return 1. / (1. + std::exp(-x)); }
double reciprocal_root(double x) { return 1. / std::sqrt(x); }
double hyperbolic_tangent(double x) { return std::tanh(x); }

float absolute(float x) { return std::abs(x); }
float elu(float x) { return x < 0.f ? static_cast<float>(std::expm1(static_cast<double>(x))) : x; }
float hard_swish(float x) { return x * std::min(6.f, std::max(0.f, x + 3.f)) / 6.f; }
float relu(float x) { return std::max(x, 0.f); }
float relu6(float x) { return std::min(std::max(x, 0.f), 6.f); }
float relu_n1_to_1(float x) { return std::min(std::max(x, -1.f), 1.f); }

float sum(float a, float b) { return a + b; }
float difference(float a, float b) { return a - b; }
float product(float a, float b) { return a * b; }
float larger(float a, float b) { return a > b ? a : b; }
float smaller(float a, float b) { return a < b ? a : b; }
float squared_difference(float a, float b) { return (a - b) * (a - b); }
float with_slope(float x, float slope) { return x < 0.f ? x * slope : x; } ///< PRELU, LEAKY_RELU

template <float (*F)(float)>
void unary_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    const auto *x = static_cast<const float *>(operands[0]);
    for (dim_t i = 0; i < count; i++)
        static_cast<float *>(y)[i] = F(x[i * strides[0]]);
}
/// A fused activation's bounds are operands 2 and 3.
template <float (*F)(float, float)>
void binary_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    const auto *a = static_cast<const float *>(operands[0]), *b = static_cast<const float *>(operands[1]);
    const float low = *static_cast<const float *>(operands[2]),
                high = *static_cast<const float *>(operands[3]);
    for (dim_t i = 0; i < count; i++)
        static_cast<float *>(y)[i] = std::min(std::max(F(a[i * strides[0]], b[i * strides[1]]), low), high);
}

struct float_operator {
    std::string_view op;
    row_function of_one, of_two; ///< the other is null
};
constexpr float_operator operators[] = {
    {"ABS", unary_row<absolute>, nullptr},
    {"ADD", nullptr, binary_row<sum>},
    {"ELU", unary_row<elu>, nullptr},
    {"HARD_SWISH", unary_row<hard_swish>, nullptr},
    {"LEAKY_RELU", nullptr, binary_row<with_slope>},
    {"LOGISTIC", unary_row<rounded<logistic>>, nullptr},
    {"MAXIMUM", nullptr, binary_row<larger>},
    {"MINIMUM", nullptr, binary_row<smaller>},
    {"MUL", nullptr, binary_row<product>},
    {"PRELU", nullptr, binary_row<with_slope>},
    {"RELU", unary_row<relu>, nullptr},
    {"RELU6", unary_row<relu6>, nullptr},
    {"RELU_N1_TO_1", unary_row<relu_n1_to_1>, nullptr},
    {"RSQRT", unary_row<rounded<reciprocal_root>>, nullptr},
    {"SQUARED_DIFFERENCE", nullptr, binary_row<squared_difference>},
    {"SUB", nullptr, binary_row<difference>},
    {"TANH", unary_row<rounded<hyperbolic_tangent>>, nullptr},
};

/// A constant of the step, the same for all elements.
walked_operand everywhere(const lowering &l, float value) {
    const memory one(memory::desc({1}, data_type::f32, memory::dims()), l.get_engine());
    *static_cast<float *>(one.get_data_handle()) = value;
    return {buffer(one), memory::dims(l.output().dims.size(), 0)};
}

std::pair<float, float> bounds_of(const std::string &activation) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (activation == "NONE")
        return {-infinity, infinity};
    if (activation == "RELU")
        return {0.f, infinity};
    if (activation == "RELU6")
        return {0.f, 6.f};
    if (activation == "RELU_N1_TO_1")
        return {-1.f, 1.f};
    refuse_as_unimplemented("activation " + activation +
                            " of floats, allowed: NONE, RELU, RELU6, RELU_N1_TO_1");
}

} // namespace

std::unique_ptr<step> lower_exact_floats(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    const auto *found = std::find_if(std::begin(operators), std::end(operators),
                                     [&](const float_operator &o) { return o.op == l.get_node().op; });
    std::vector<walked_operand> operands = {{l.input_buffer(0), broadcast_strides(x.dims, y.dims)}};
    if (found->of_one) {
        need_output_dims(l, x.dims);
        return broadcast_step(l, std::move(operands), found->of_one);
    }
    if (found->op == "LEAKY_RELU") {
        need_output_dims(l, x.dims);
        operands.push_back(everywhere(l, l.real("alpha")));
    } else {
        const tensor &b = l.input(1, {data_type::f32});
        need_output_dims(l, broadcast(x.dims, b.dims));
        operands.push_back({l.input_buffer(1), broadcast_strides(b.dims, y.dims)});
    }
    const auto [low, high] = bounds_of(l.text("activation", "NONE"));
    operands.push_back(everywhere(l, low));
    operands.push_back(everywhere(l, high));
    return broadcast_step(l, std::move(operands), found->of_two);
}

} // namespace octet::model
