// Operators that are gone when a network runs: others or constants have taken their place.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {

namespace {

/// A mask, and what is added to scores: one for each row of the batch, or one for all.
bool masks_keep_rows(const node_rows &o, std::size_t mask, std::size_t summand) {
    return (!o.has(mask) || (o.depends(mask) && o.rank(mask) > 1)) &&
           (!o.has(summand) || o.rank(summand) == 4);
}

/// Each row attends to itself alone; what is past has its batch behind the two of keys and values.
bool attention_keeps_rows(const node_rows &o) {
    constexpr std::size_t weights = 1, bias = 2, past = 4;
    return o.depends(0) && !o.depends(weights) && !o.depends(bias) && !o.has(past) && o.output_count() == 1 &&
           masks_keep_rows(o, 3, 5);
}

using namespace row_words;

constexpr row onnx_rewritten_operators_rows[] = {
    row("Attention", {3, 7}, nullptr, shape::attention, attention_keeps_rows)
        .in(domains::microsoft)
        .sizes(flow::rows),
    row("BiasGelu", 2, nullptr, shape::same, rows::broadcast).in(domains::microsoft).sizes(flow::first),
    row("Constant", 0),
    row("DynamicQuantizeMatMul", {3, 5}, nullptr, shape::matmul_integer_to_float, rows::never)
        .in(domains::microsoft)
        .sizes(flow::matrices),
    row("FastGelu", {1, 2}, nullptr, shape::same, rows::broadcast).in(domains::microsoft).sizes(flow::first),
    row("FusedConv", {2, any}).internal().sizes(flow::windows),
    row("FusedGemm", {2, any}).internal().sizes(flow::gemm),
    row("Mish", 1),
    row("NonZero", 1, nullptr, shape::non_zero, rows::never)
        .int64()
        .dims_from(0)
        .known_numbers(numbers::non_zero),
    row("QAttention", {5, 9}).in(domains::microsoft),
    row("Selu", 1, nullptr, shape::same, rows::first_input_in_groups).transposed(passing_kind::elements),
    row("Shape", 1, nullptr, shape::shape_of, rows::never)
        .int64()
        .known_from_dims(numbers::shape)
        .transposed(passing_kind::sizes),
    row("Size", 1, nullptr, shape::size_of, rows::never).int64().known_from_dims(numbers::size),
};

} // namespace

operator_rows onnx_rewritten_operators() { return onnx_rewritten_operators_rows; }

} // namespace octet::model
