// Operators element by element with any number of operands, or with two for which there is no primitive: plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/broadcast.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

/// All inputs, of one type, under the output's dimensions.
std::unique_ptr<step> loop_of_all(const lowering &l, row_function f) {
    const data_type type = l.output({data_type::f32, data_type::s32}).type;
    std::vector<walked_operand> operands;
    for (std::size_t i = 0; i < l.input_count(); i++)
        operands.push_back({l.input_buffer(i), broadcast_strides(l.input(i, {type}).dims, l.output().dims)});
    return broadcast_step(l, std::move(operands), f);
}

// ---- Any number of operands, folded from the first to the last

void sum_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    const auto *const a = static_cast<const float *>(operands[0]);
    auto *const sums = static_cast<float *>(y);
    if (strides[0] == 1)
        std::copy_n(a, count, sums);
    else
        std::fill_n(sums, count, *a);
    for (std::size_t k = 1; operands[k]; k++) {
        const auto *const b = static_cast<const float *>(operands[k]);
        if (strides[k] == 1)
            for (dim_t i = 0; i < count; i++)
                sums[i] += b[i];
        else
            for (dim_t i = 0; i < count; i++)
                sums[i] += *b;
    }
}

/// ONNX Runtime multiplies by the rounded 1/n.
void mean_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    sum_row(y, operands, strides, count);
    float n = 0.f;
    for (; *operands; operands++)
        n += 1.f;
    const float share = 1.f / n;
    for (dim_t i = 0; i < count; i++)
        static_cast<float *>(y)[i] *= share;
}

// ---- Two

void prelu_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++) {
        const float x = static_cast<const float *>(operands[0])[i * strides[0]],
                    slope = static_cast<const float *>(operands[1])[i * strides[1]];
        static_cast<float *>(y)[i] = x >= 0.f ? x : x * slope;
    }
}

/// The remainder has the divisor's sign, or with `fmod` the dividend's; that of a division by 0 is 0.
template <bool is_fmod>
void modulo_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++) {
        const std::int64_t a = static_cast<const std::int32_t *>(operands[0])[i * strides[0]],
                           b = static_cast<const std::int32_t *>(operands[1])[i * strides[1]];
        const std::int64_t r = b == 0 ? 0 : a % b;
        static_cast<std::int32_t *>(y)[i] =
            static_cast<std::int32_t>(!is_fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r);
    }
}

std::unique_ptr<step> lower_sum(const lowering &l) {
    l.output({data_type::f32});
    return l.input_count() == 2 ? lower_float_add(l) : loop_of_all(l, sum_row);
}

std::unique_ptr<step> lower_mean_of_all(const lowering &l) {
    l.output({data_type::f32});
    return loop_of_all(l, mean_row);
}

std::unique_ptr<step> lower_float_prelu(const lowering &l) {
    l.input(0, {data_type::f32});
    l.input(1, {data_type::f32});
    return loop_of_all(l, prelu_row);
}

std::unique_ptr<step> lower_mod(const lowering &l) {
    l.output({data_type::s32});
    return loop_of_all(l, l.integer("fmod", 0) != 0 ? modulo_row<true> : modulo_row<false>);
}

using namespace row_words;

constexpr row onnx_float_operands_rows[] = {
    row("Mean", {1, any}, lower_mean_of_all, shape::variadic, rows::broadcast)
        .transposed(passing_kind::broadcast),
    row("Mod", 2, lower_mod, shape::binary, rows::broadcast)
        .known_numbers(numbers::mod)
        .transposed(passing_kind::broadcast),
    row("PRelu", 2, lower_float_prelu, shape::binary, rows::broadcast)
        .sizes(flow::first)
        .transposed(passing_kind::broadcast),
    row("Sum", {1, any}, lower_sum, shape::variadic, rows::broadcast)
        .transposed(passing_kind::broadcast)
        .blocked(block_use::sum),
};

} // namespace

operator_rows onnx_float_operands_operators() { return onnx_float_operands_rows; }

} // namespace octet::model
