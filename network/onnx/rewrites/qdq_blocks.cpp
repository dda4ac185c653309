// As `qdq_actions.cc` and `matmul_nbits_fusion.cc` of ONNX Runtime 1.30, level 2: products of whose operands
// only the weights are codes. ONNX Runtime rounds the source itself, in blocks, and multiplies codes
// (onnx/ops/block_product.cpp).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

/// Blocks of rows that have scales of their own; 0: there are none. ONNX Runtime takes those of powers of two.
std::int64_t block_size(const ort_graph &g, node_id dq) {
    const auto size = g.attribute<std::int64_t>(dq, "block_size", 0);
    const bool fits = size >= 16 && size <= 256 && (size & (size - 1)) == 0;
    return size == 0 || fits ? size : -1;
}

/// Returns the operands of a DequantizeLinear whose blocks of rows have scales of their own; nothing for
/// others.
std::optional<quantized> read_in_blocks(const ort_graph &g, node_id dq) {
    const quantized q = g.read(dq);
    const auto size = block_size(g, dq);
    if (size <= 0 || g.attribute<std::int64_t>(dq, "axis", 1) != 0 || g.rank(q.codes) != 2 ||
        !g.is_constant(q.scale) || g.type(q.scale) != data_type::f32 ||
        g.dims(q.scale) != memory::dims{(g.size(q.codes, 0) + size - 1) / size, g.size(q.codes, 1)} ||
        (q.zero_point && !g.is_constant(q.zero_point)))
        return {};
    return q;
}

/// A constant matrix of 8-bit codes that one node reads, with one scale, one per column, or some per column
/// for blocks of rows, which nothing else reads.
std::optional<quantized> matrix_of_codes(ort_graph &g, tensor_id t) {
    const node_id dq = g.writer(t, "DequantizeLinear");
    const bool has_blocks = dq && block_size(g, dq) != 0;
    const auto q = has_blocks ? read_in_blocks(g, dq) : g.dequantized(t);
    if (!q || !g.only_consumer(t) || !g.is_constant(q->codes) || !is_code(g.type(q->codes)) ||
        g.rank(q->codes) != 2 || g.consumers(q->codes).size() != 1 || g.readers_of_constant(q->scale) != 1)
        return {};
    const memory::dims &scales = g.dims(q->scale);
    const bool has_columns = scales == memory::dims{g.size(q->codes, 1)} && q->axis == 1;
    if (!(scales.empty() || has_columns || has_blocks) || (q->zero_point && g.dims(q->zero_point) != scales))
        return {};
    if (!q->zero_point && !g.has_inputs(g.producer(t), 2))
        return {};
    return q;
}

bool is_plain_gemm(const ort_graph &g, node_id i) {
    const auto is_one = [&](const char *factor) {
        constexpr float slack = 1e-6f;
        return !(std::abs(g.attribute(i, factor, 1.f) - 1.f) > slack);
    };
    return is_one("alpha") && (!g.input(i, 2) || is_one("beta")) &&
           g.attribute<std::int64_t>(i, "transA", 0) == 0 && g.attribute<std::int64_t>(i, "transB", 0) == 0;
}

} // namespace

void form_product_of_blocks(ort_graph &g, node_id i) {
    const tensor_id x = g.input(i, 0), bias = g.input(i, 2);
    if (!g.is_float(x) || g.rank(x) == 0 || g.writer(x, "DequantizeLinear") ||
        (g.is(i, "Gemm") && !is_plain_gemm(g, i)))
        return;
    const auto w = matrix_of_codes(g, g.input(i, 1));
    if (!w || (bias && g.dims(bias) != memory::dims{g.size(w->codes, 1)}))
        return;
    const std::vector<node_id> &readers = g.consumers(g.output(i));
    if (any_of(readers, [&](node_id r) { return g.is(r, "QuantizeLinear"); }))
        return;
    const std::int64_t size = block_size(g, g.writer(g.input(i, 1), "DequantizeLinear"));
    g.become(i, "MatMulNBits", {x, w->codes, w->scale, w->zero_point, bias});
    if (size > 0)
        g.set_attribute(i, "block_size", size);
}

/// A row that is added to the product.
void fuse_bias_of_blocks(ort_graph &g) {
    g.for_each("MatMulNBits", [&](node_id i) {
        const tensor_id y = g.output(i);
        const node_id sum = g.input(i, 4) ? node_id() : g.reader(y, "Add");
        if (!sum)
            return;
        const tensor_id row = g.other(sum, y);
        if (!g.is_float(row) || g.rank(row) != 1 || !g.has_size(row, 0, g.size(g.input(i, 1), 1)))
            return;
        node n = g.at(i);
        n.inputs.resize(5, tensor_id());
        n.inputs[4] = row;
        g.remove(i);
        g.become(sum, std::move(n));
    });
}

} // namespace octet::model::ort
