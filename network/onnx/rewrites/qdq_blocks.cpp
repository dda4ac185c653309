// As `qdq_actions.cc` and `matmul_nbits_fusion.cc` of ONNX Runtime 1.30, level 2: products of whose operands
// only the weights are codes. ONNX Runtime rounds the source itself, in blocks, and multiplies codes
// (onnx/ops/block_product.cpp).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/graph/codes.hpp"
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

/// A constant matrix of codes of 8, 4 or 2 bits that one node reads, with one scale, one per column, or some per column
/// for blocks of rows, which nothing else reads.
std::optional<quantized> matrix_of_codes(ort_graph &g, tensor_id t) {
    const node_id dq = g.writer(t, "DequantizeLinear");
    const bool has_blocks = dq && block_size(g, dq) != 0;
    const auto q = has_blocks ? read_in_blocks(g, dq) : g.dequantized(t);
    if (!q || !g.only_consumer(t) || !g.is_constant(q->codes) || code_bits(g.type(q->codes)) == 0 ||
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

/// Values of a column, or a block of it, as {columns, blocks}: from one for all, {columns} or {blocks, columns}.
template <typename T>
std::vector<T> by_columns(const std::vector<T> &values, std::size_t blocks, std::size_t columns) {
    std::vector<T> result;
    for (std::size_t n = 0; n < columns; n++)
        for (std::size_t b = 0; b < blocks; b++)
            result.push_back(values.size() == 1         ? values[0]
                             : values.size() == columns ? values[n]
                                                        : values[b * columns + n]);
    return result;
}

/// Lists of codes as they lie in bytes, the first in the lowest bits; each list of `count` begins with a byte.
std::vector<std::uint8_t> packed(const std::vector<std::uint8_t> &codes, std::size_t count, int bits) {
    const std::size_t in_a_byte = static_cast<std::size_t>(8 / bits),
                      list_bytes = (count + in_a_byte - 1) / in_a_byte;
    std::vector<std::uint8_t> bytes(codes.size() / count * list_bytes);
    for (std::size_t i = 0; i < codes.size(); i++) {
        const std::size_t place = i % count;
        std::uint8_t &byte = bytes[i / count * list_bytes + place / in_a_byte];
        byte = static_cast<std::uint8_t>(byte | codes[i] << (static_cast<int>(place % in_a_byte) * bits));
    }
    return bytes;
}

/// Makes the operands of MatMulNBits of {inner, columns} codes: unsigned ones {columns, blocks, block}, signed ones
/// plus half their range.
tensor_numbers operands_in_blocks(ort_graph &g, const quantized &w, std::int64_t block) {
    const auto inner = static_cast<std::size_t>(g.size(w.codes, 0)),
               columns = static_cast<std::size_t>(g.size(w.codes, 1)), size = static_cast<std::size_t>(block),
               blocks = (inner + size - 1) / size;
    const int bits = code_bits(g.type(w.codes)),
              shift = is_signed_code(g.type(w.codes)) ? 1 << (bits - 1) : 0;
    const auto unsigned_codes = [&](tensor_id t) {
        std::vector<std::uint8_t> codes;
        for (const std::int32_t c : codes_of(g.tensor_at(t)))
            codes.push_back(static_cast<std::uint8_t>(c + shift));
        return codes;
    };
    const std::vector<std::uint8_t> given = unsigned_codes(w.codes);
    std::vector<std::uint8_t> codes(columns * blocks * size);
    for (std::size_t k = 0; k < inner; k++)
        for (std::size_t n = 0; n < columns; n++)
            codes[n * blocks * size + k] = given[k * columns + n];
    const auto c = static_cast<dim_t>(columns), b = static_cast<dim_t>(blocks);
    const std::vector<std::uint8_t> zeros = w.zero_point
                                                ? unsigned_codes(w.zero_point)
                                                : std::vector<std::uint8_t>{static_cast<std::uint8_t>(shift)};
    return {g.add_constant("codes", data_type::u8, {c, b, block * bits / 8}, packed(codes, size, bits)),
            g.add_floats("scales", {c, b}, by_columns(g.values(w.scale), blocks, columns)),
            g.add_constant("zero_points", data_type::u8, {c, (b * bits + 7) / 8},
                           packed(by_columns(zeros, blocks, columns), blocks, bits))};
}

/// The size of blocks that are there for all with one scale: an option of the session.
std::int64_t chosen_block(const ort_graph &g, std::int64_t inner) {
    const std::int64_t chosen = g.options.qdq_nbits_block;
    if (chosen >= 0)
        return chosen == 0 ? 32 : chosen;
    for (const std::int64_t block : {256, 128, 64, 32})
        if (inner % block == 0)
            return block;
    return 16;
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
    const std::int64_t given = block_size(g, g.writer(g.input(i, 1), "DequantizeLinear")),
                       inner = g.size(w->codes, 0), columns = g.size(w->codes, 1),
                       size = given > 0 ? given : chosen_block(g, inner);
    const int bits = code_bits(g.type(w->codes));
    if (bits == 2 && columns % 4 != 0)
        refuse_as_unimplemented(
            "its matrix of " + to_text(g.type(w->codes)) + " has " + std::to_string(columns) +
            " columns, allowed behind DequantizeLinear are multiples of 4: ONNX Runtime mixes "
            "up others");
    const tensor_numbers operands = operands_in_blocks(g, *w, size);
    node product{"MatMulNBits", {x, operands[0], operands[1], operands[2], tensor_id(), bias}, {}, {}};
    product.attributes = {{"K", inner},
                          {"N", columns},
                          {"bits", std::int64_t{bits}},
                          {"block_size", size},
                          {"accuracy_level", g.options.qdq_nbits_level}};
    g.become(i, std::move(product));
}

/// A row that is added to the product.
void fuse_bias_of_blocks(ort_graph &g) {
    g.for_each("MatMulNBits", [&](node_id i) {
        const tensor_id y = g.output(i);
        const node_id sum = g.input(i, 5) ? node_id() : g.reader(y, "Add");
        if (!sum)
            return;
        const tensor_id row = g.other(sum, y);
        if (!g.is_float(row) || g.rank(row) != 1 || !g.has_size(row, 0, g.attribute<std::int64_t>(i, "N", 0)))
            return;
        node n = g.at(i);
        n.inputs.resize(6, tensor_id());
        n.inputs[5] = row;
        g.remove(i);
        g.become(sum, std::move(n));
    });
}

} // namespace octet::model::ort
