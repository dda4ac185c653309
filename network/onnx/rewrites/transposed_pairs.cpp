// As `onnx_transpose_optimization.cc` of ONNX Runtime 1.30, levels 1 and 2: Transposes between
// DequantizeLinear and QuantizeLinear, after they were moved: each gets the one that it lacks, and pairs that
// have come together go.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/rewrites/transposes.hpp"

namespace octet::model::ort {
namespace {

bool has_one_scale(const ort_graph &g, node_id i) { return element_count(g.dims(g.input(i, 1))) == 1; }

/// Whether codes of the type can be written with the parameters that a node has.
bool can_write(const ort_graph &g, node_id i, data_type codes) {
    return is_code(codes) && g.attribute<std::int64_t>(i, "block_size", 0) == 0 &&
           (g.input(i, 2) || codes == data_type::u8);
}

/// Floats `from` become `to` by codes with the parameters of `like`.
void add_pair(ort_graph &g, node_id place, tensor_id from, tensor_id to, node_id like, data_type type,
              std::int64_t axis) {
    tensor t = g.tensor_at(to);
    t.type = type;
    t.is_constant = false;
    t.data = {};
    const tensor_id codes = g.add_tensor(std::move(t));
    tensor_numbers inputs = {from, g.input(like, 1), g.input(like, 2)};
    node quantize{"QuantizeLinear", inputs, {codes}, {}};
    inputs[0] = codes;
    node dequantize{"DequantizeLinear", inputs, {to}, {}};
    if (!has_one_scale(g, like))
        quantize.attributes["axis"] = dequantize.attributes["axis"] = axis;
    g.insert_after(place, std::move(quantize));
    g.insert_after(place, std::move(dequantize));
}

std::int64_t counted_axis(const ort_graph &g, node_id i, tensor_id t) {
    const auto axis = g.attribute<std::int64_t>(i, "axis", 1);
    return axis < 0 ? axis + static_cast<std::int64_t>(g.rank(t)) : axis;
}

/// DequantizeLinear, QuantizeLinear with equal parameters.
bool drop_empty(ort_graph &g, node_id q) {
    const node_id dq = g.writer(g.input(q, 0), "DequantizeLinear");
    if (!dq || g.only_consumer(g.output(dq)) != q || !g.is_plain(q) || !g.is_plain(dq) ||
        !g.are_equal(g.written(q), g.read(dq)))
        return false;
    const tensor_id from = g.input(dq, 0), to = g.output(q);
    const node_id writer = g.producer(from);
    if (g.consumers(to).size() == 1 && !g.is_graph_output(to)) {
        g.redirect(to, from);
    } else if (g.is_output_alone(to) && writer && g.only_consumer(from) == dq) {
        g.remove(q);
        g.remove(dq);
        node n = g.at(writer);
        model::replace(n.outputs, from, to);
        g.replace(writer, std::move(n));
        return true;
    } else {
        return false;
    }
    g.remove(q);
    g.remove(dq);
    return true;
}

bool add_missing_behind(ort_graph &g, node_id transpose) {
    const node_id dq = g.writer(g.input(transpose, 0), "DequantizeLinear");
    const tensor_id y = g.output(transpose);
    const auto nodes =
        std::count_if(g.consumers(y).begin(), g.consumers(y).end(), [](node_id r) { return r.has_value(); });
    return dq && nodes <= 1 && !g.is(g.only_edge(y), "QuantizeLinear") && add_pair_behind(g, dq);
}

void add_missing_before(ort_graph &g, node_id transpose) {
    const tensor_id x = g.input(transpose, 0);
    const node_id q = g.reader(g.output(transpose), "QuantizeLinear"), before = g.producer(x);
    if (!q || !before || g.is(before, "DequantizeLinear") || g.only_edge(x) != transpose ||
        !can_write(g, q, g.type(g.output(q))))
        return;
    std::int64_t axis = counted_axis(g, q, x);
    if (!has_one_scale(g, q)) { // only scales along an axis ask where it was, and so for an explicit perm
        const order p = order_of(g, transpose);
        if (axis < 0 || axis >= static_cast<std::int64_t>(p.size()))
            return;
        axis = p[static_cast<std::size_t>(axis)];
    }
    node n = g.at(before);
    const tensor_id inner = g.add_like(x);
    model::replace(n.outputs, x, inner);
    g.replace(before, std::move(n));
    add_pair(g, before, inner, x, q, g.type(g.output(q)), axis);
}

} // namespace

bool add_pair_behind(ort_graph &g, node_id dq) {
    const node_id next = g.only_consumer(g.output(dq));
    const data_type codes = g.type(g.input(dq, 0));
    if (!next || !can_write(g, dq, codes))
        return false;
    std::int64_t axis = counted_axis(g, dq, g.input(dq, 0));
    if (g.is(next, "Transpose") && !has_one_scale(g, dq)) {
        const order back = inverse(order_of(g, next));
        if (axis < 0 || axis >= static_cast<std::int64_t>(back.size()))
            return false;
        axis = back[static_cast<std::size_t>(axis)];
    } else {
        axis += static_cast<std::int64_t>(g.rank(g.output(next)) - g.rank(g.output(dq)));
    }
    const tensor_id y = g.output(next), moved = g.add_like(y);
    node n = g.at(next);
    n.outputs = {moved};
    g.replace(next, std::move(n));
    add_pair(g, next, moved, y, dq, codes, axis);
    return true;
}

void repair_pairs(ort_graph &g) {
    g.for_each([&](node_id i) {
        if (g.is(i, "QuantizeLinear"))
            drop_empty(g, i);
        else if (g.is(i, "Transpose") && !add_missing_behind(g, i))
            add_missing_before(g, i);
    });
}

} // namespace octet::model::ort
