// Operators that are gone when a network runs: others or constants have taken their place.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/onnx/onnx.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/onnx.hpp"

namespace octet::model {

namespace {

using namespace row_words;

constexpr row onnx_replaced_rows[] = {
    row("Attention", {2, 7}).in(domains::microsoft).sizes(flow::rows),
    row("BiasGelu", 2, nullptr, shape::same, rows::broadcast).in(domains::microsoft).sizes(flow::first),
    row("Constant", 0),
    row("DynamicQuantizeMatMul", {3, 5}).in(domains::microsoft).sizes(flow::matrices),
    row("FastGelu", {1, 2}, nullptr, shape::same, rows::broadcast).in(domains::microsoft).sizes(flow::first),
    row("FusedConv", {2, any}).internal().sizes(flow::windows),
    row("FusedGemm", {2, any}).internal().sizes(flow::gemm),
    row("QAttention", {5, 9}).in(domains::microsoft),
    row("Selu", 1, nullptr, shape::same, rows::first_input),
    row("Shape", 1, nullptr, shape::shape_of, rows::never).int64().known_from_dims(numbers::shape),
    row("Size", 1, nullptr, shape::size_of, rows::never).int64().known_from_dims(numbers::size),
};

} // namespace

operator_rows onnx_replaced_operators() { return onnx_replaced_rows; }

} // namespace octet::model
