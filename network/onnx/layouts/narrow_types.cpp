// Start at `use_wide_types`.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/layouts/narrow_types.hpp"

#include <set>

#include "network/graph/codes.hpp"
#include "network/onnx/shapes/code_types.hpp"

namespace octet::model {
namespace {

constexpr std::int64_t float_number = 1, float16_number = 10; // types in ONNX

/// Casts what is f16 around a node that computes in f32.
void compute_in_f32(ort_graph &g, node_id i) {
    node n = g.at(i);
    bool has_changed = false;
    for (std::size_t k = 0; k < n.inputs.size(); k++) {
        const tensor_id x = input_of(n, k);
        if (!x || g.type(x) != data_type::f16)
            continue;
        const tensor_id wide = g.add_like(x, data_type::f32);
        g.insert_before(i, {"Cast", {x}, {wide}, {{"to", float_number}}});
        n.inputs[k] = wide;
        has_changed = true;
    }
    if (const tensor_id y = g.output(i); g.type(y) == data_type::f16) {
        const tensor_id wide = g.add_like(y, data_type::f32);
        n.outputs = {wide};
        g.insert_before(i, std::move(n));
        g.become(i, {"Cast", {wide}, {}, {{"to", float16_number}}});
    } else if (has_changed) {
        g.replace(i, std::move(n));
    }
}

/// Unsigned codes of lines of a matrix in bytes, each line beginning with one.
std::vector<std::uint8_t> packed_lines(const tensor &t, dim_t columns) {
    const int bits = code_bits(t.type), shift = is_signed_code(t.type) ? 1 << (bits - 1) : 0;
    const std::vector<std::int32_t> codes = codes_of(t);
    const auto length = static_cast<std::size_t>(columns), in_a_byte = static_cast<std::size_t>(8 / bits),
               line = (length + in_a_byte - 1) / in_a_byte;
    std::vector<std::uint8_t> bytes(length == 0 ? 0 : codes.size() / length * line);
    for (std::size_t i = 0; i < codes.size(); i++) {
        std::uint8_t &byte = bytes[i / length * line + i % length / in_a_byte];
        byte = static_cast<std::uint8_t>(byte | (codes[i] + shift)
                                                    << (static_cast<int>(i % length % in_a_byte) * bits));
    }
    return bytes;
}

/// A table with a row for each index, as most files have it; it stays packed.
bool is_table_of_rows(const ort_graph &g, node_id i) {
    const tensor &data = g.tensor_at(g.input(i, 0));
    const auto axis = g.attribute<std::int64_t>(i, "quantize_axis", 1);
    return data.dims.size() == 2 && data.dims[1] % elements_per_byte(data.type) == 0 &&
           g.attribute<std::int64_t>(i, "gather_axis", 0) == 0 && (axis == 1 || axis == -1);
}

/// A table of codes of a type of 4 bits. Its codes without a zero point stand for themselves.
void pack_table(ort_graph &g, node_id i) {
    const tensor data = g.tensor_at(g.input(i, 0));
    const int bits = code_bits(data.type);
    const dim_t rows = data.dims[0], row_bytes = data.dims[1] * bits / 8,
                blocks = g.dims(g.input(i, 2)).back(), zero_bytes = (blocks * bits + 7) / 8;
    node n = g.at(i);
    n.inputs.resize(4, -1);
    n.inputs[0] =
        g.add_constant(data.name, data_type::u8, {rows, row_bytes}, packed_lines(data, data.dims[1]));
    std::vector<std::uint8_t> zeros;
    if (const tensor_id z = g.input(i, 3)) {
        zeros = packed_lines(g.tensor_at(z), blocks);
    } else {
        tensor none;
        none.type = data.type;
        none.dims = {rows, blocks};
        none.data = std::vector<std::uint8_t>(static_cast<std::size_t>(rows * blocks * bits + 7) / 8);
        zeros = packed_lines(none, blocks);
    }
    n.inputs[3] = g.add_constant("zero_points", data_type::u8, {rows, zero_bytes}, std::move(zeros));
    n.attributes["bits"] = std::int64_t{bits};
    g.replace(i, std::move(n));
}

/// A table with other axes: dequantized, then gathered.
void dequantize_table(ort_graph &g, node_id i) {
    tensor floats;
    floats.name = g.tensor_at(g.output(i)).name;
    floats.type = data_type::f32;
    floats.dims = g.dims(g.input(i, 0));
    const tensor_id table = g.add_tensor(std::move(floats));
    node dq{"DequantizeLinear", {g.input(i, 0), g.input(i, 2)}, {table}, {}};
    if (const tensor_id z = g.input(i, 3))
        dq.inputs.push_back(z);
    dq.attributes = {{"axis", g.attribute<std::int64_t>(i, "quantize_axis", 1)},
                     {"block_size", g.attribute<std::int64_t>(i, "block_size", 128)}};
    g.insert_before(i, std::move(dq));
    node gather{"Gather", {table, g.input(i, 1)}, {}, {}};
    gather.attributes = {{"axis", g.attribute<std::int64_t>(i, "gather_axis", 0)}};
    g.become(i, std::move(gather));
}

void use_known_table(ort_graph &g, node_id i) {
    const tensor_id data = g.input(i, 0), zeros = g.input(i, 3);
    if (!data || elements_per_byte(g.type(data)) == 1 || !g.is_constant(data) ||
        (zeros && !g.is_constant(zeros)))
        return;
    if (zeros && g.type(zeros) != g.type(data))
        refuse("input 3 is " + to_text(g.type(zeros)) + ", allowed is the type of the data, " +
               to_text(g.type(data)));
    if (is_table_of_rows(g, i))
        pack_table(g, i);
    else
        dequantize_table(g, i);
}

/// Lets QuantizeLinear remember the range of its codes, which the type of its output does not tell any more.
void remember_range(ort_graph &g, node_id i) {
    if (const data_type type = g.type(g.output(i)); elements_per_byte(type) > 1)
        g.set_attribute(i, "output_dtype", shape::number_of_code_type(type));
}

} // namespace

void use_wide_types(ort_graph &g) {
    g.for_each("GatherBlockQuantized", [&](node_id i) { compute_in_f32(g, i); });
    g.for_each("MatMulNBits", [&](node_id i) { compute_in_f32(g, i); });
    g.for_each("GatherBlockQuantized", [&](node_id i) { use_known_table(g, i); });
    g.for_each("QuantizeLinear", [&](node_id i) { remember_range(g, i); });
}

void widen_shared_codes(graph &g) {
    std::set<tensor_id> used;
    for (const node &n : g.nodes)
        for (const tensor_ids &all : {inputs_of(n), outputs_of(n)})
            used.insert(all.begin(), all.end());
    for (const tensor_id t : used) {
        if (!t || elements_per_byte(tensor_at(g, t).type) == 1 || has(inputs_of(g), t) ||
            has(outputs_of(g), t))
            continue;
        tensor &widened = tensor_at(g, t);
        if (widened.is_constant) {
            std::vector<std::uint8_t> bytes;
            for (const std::int32_t code : codes_of(widened))
                bytes.push_back(static_cast<std::uint8_t>(code));
            widened.data = std::move(bytes);
        }
        widened.type = whole_byte_type(widened.type);
    }
}

} // namespace octet::model
