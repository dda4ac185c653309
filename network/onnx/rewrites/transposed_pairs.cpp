// Transposes between DequantizeLinear and QuantizeLinear, after they were moved: each gets the one that it lacks, and pairs
// that have come together go.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/rewrites/transposes.hpp"

namespace octet::model::ort {
namespace {

bool has_one_scale(const ort_graph &g, int i) { return element_count(g.dims(g.input(i, 1))) == 1; }

/// Whether codes of the type can be written with the parameters that a node has.
bool can_write(const ort_graph &g, int i, data_type codes) {
    return is_code(codes) && g.attribute<std::int64_t>(i, "block_size", 0) == 0 &&
           (g.input(i, 2) >= 0 || codes == data_type::u8);
}

/// Floats `from` become `to` by codes with the parameters of `like`.
void add_pair(ort_graph &g, int place, int from, int to, int like, data_type type, std::int64_t axis) {
    tensor t = g.tensor_at(to);
    t.type = type;
    t.is_constant = false;
    t.data = {};
    const int codes = g.add_tensor(std::move(t));
    std::vector<int> inputs = {from, g.input(like, 1), g.input(like, 2)};
    node quantize{"QuantizeLinear", inputs, {codes}, {}};
    inputs[0] = codes;
    node dequantize{"DequantizeLinear", inputs, {to}, {}};
    if (!has_one_scale(g, like))
        quantize.attributes["axis"] = dequantize.attributes["axis"] = axis;
    g.insert_after(place, std::move(quantize));
    g.insert_after(place, std::move(dequantize));
}

/// The node that reads a tensor where it is one; the network's outputs do not count.
int only_node(const ort_graph &g, int t) {
    int found = -1;
    for (const int r : g.consumers(t))
        if (r >= 0 && found >= 0)
            return -1;
        else if (r >= 0)
            found = r;
    return found;
}

std::int64_t counted_axis(const ort_graph &g, int i, int t) {
    const auto axis = g.attribute<std::int64_t>(i, "axis", 1);
    return axis < 0 ? axis + static_cast<std::int64_t>(g.rank(t)) : axis;
}

/// DequantizeLinear, QuantizeLinear with equal parameters.
bool drop_empty(ort_graph &g, int q) {
    const int dq = g.writer(g.input(q, 0), "DequantizeLinear");
    if (dq < 0 || g.only_consumer(g.output(dq)) != q || !g.is_plain(q) || !g.is_plain(dq) ||
        !g.are_equal(g.written(q), g.read(dq)))
        return false;
    const int from = g.input(dq, 0), to = g.output(q), writer = g.producer(from);
    if (g.consumers(to).size() == 1 && !g.is_graph_output(to)) {
        g.redirect(to, from);
    } else if (g.consumers(to) == std::vector<int>{-1} && writer >= 0 && g.only_consumer(from) == dq) {
        g.remove(q);
        g.remove(dq);
        node n = g.at(writer);
        std::replace(n.outputs.begin(), n.outputs.end(), from, to);
        g.replace(writer, std::move(n));
        return true;
    } else {
        return false;
    }
    g.remove(q);
    g.remove(dq);
    return true;
}

bool add_missing_behind(ort_graph &g, int transpose) {
    const int dq = g.writer(g.input(transpose, 0), "DequantizeLinear"), y = g.output(transpose);
    const auto nodes =
        std::count_if(g.consumers(y).begin(), g.consumers(y).end(), [](int r) { return r >= 0; });
    return dq >= 0 && nodes <= 1 && !g.is(only_node(g, y), "QuantizeLinear") && add_pair_behind(g, dq);
}

void add_missing_before(ort_graph &g, int transpose) {
    const int x = g.input(transpose, 0), q = g.reader(g.output(transpose), "QuantizeLinear"),
              before = g.producer(x);
    if (q < 0 || before < 0 || g.is(before, "DequantizeLinear") || only_node(g, x) != transpose ||
        !can_write(g, q, g.type(g.output(q))))
        return;
    const order p = order_of(g, transpose);
    const auto axis = static_cast<std::size_t>(counted_axis(g, q, x));
    if (p.empty() || axis >= p.size())
        return;
    node n = g.at(before);
    const int inner = g.add_like(x);
    std::replace(n.outputs.begin(), n.outputs.end(), x, inner);
    g.replace(before, std::move(n));
    add_pair(g, before, inner, x, q, g.type(g.output(q)), p[axis]);
}

} // namespace

bool add_pair_behind(ort_graph &g, int dq) {
    const int next = g.only_consumer(g.output(dq));
    const data_type codes = g.type(g.input(dq, 0));
    if (next < 0 || !can_write(g, dq, codes))
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
    const int y = g.output(next), moved = g.add_like(y);
    node n = g.at(next);
    n.outputs = {moved};
    g.replace(next, std::move(n));
    add_pair(g, next, moved, y, dq, codes, axis);
    return true;
}

void repair_pairs(ort_graph &g) {
    g.for_each([&](int i) {
        if (g.is(i, "QuantizeLinear"))
            drop_empty(g, i);
        else if (g.is(i, "Transpose") && !add_missing_behind(g, i))
            add_missing_before(g, i);
    });
}

} // namespace octet::model::ort
