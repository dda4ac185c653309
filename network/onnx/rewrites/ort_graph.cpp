// As `graph_utils.cc` of ONNX Runtime 1.30, all levels: answers about nodes, tensors and pairs, in sections
// of that order.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/rewrites/ort_graph.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "network/shapes/node_shapes.hpp"

namespace octet::model {

// ---- Nodes

bool ort_graph::is_older(node_id a, node_id b) const {
    const auto place = [&](node_id i) { // nodes can run in another order than that of the file
        const bool is_inserted = i.index() >= first_inserted_;
        return std::tuple(is_inserted, is_inserted ? 0 : at(i).number, i);
    };
    return place(a) < place(b);
}

std::vector<node_id> ort_graph::visiting_order() const {
    if (!order_of_visits_.empty() && visits_at_ == changes())
        return order_of_visits_;
    const auto is_before = [&](node_id a, node_id b) { return is_older(a, b); };
    struct visit {
        node_id node;
        bool is_behind_its_writers;
    };
    std::vector<visit> waiting;
    std::vector<node_id> order, before;
    const auto wait_for = [&](std::vector<node_id> &nodes) {
        std::sort(nodes.begin(), nodes.end(), is_before);
        for (const node_id i : nodes)
            waiting.push_back({i, false});
    };
    for (std::size_t n = 0; n < node_count(); n++)
        if (const node_id i(n); !is_removed(i)) {
            const tensor_ids y = outputs(i);
            if (none_of(y, [&](tensor_id t) { return t && is_read(t); }))
                before.push_back(i);
        }
    wait_for(before);
    std::vector<bool> is_seen(node_count());
    while (!waiting.empty()) {
        const visit next = waiting.back();
        waiting.pop_back();
        if (next.is_behind_its_writers) {
            order.push_back(next.node);
            continue;
        }
        if (is_seen[next.node.index()])
            continue;
        is_seen[next.node.index()] = true;
        waiting.push_back({next.node, true});
        before.clear();
        for (const tensor_id t : inputs(next.node))
            if (const node_id writer = producer(t); writer && !is_seen[writer.index()])
                before.push_back(writer);
        wait_for(before);
    }
    order_of_visits_ = order;
    visits_at_ = changes();
    return order;
}

bool ort_graph::is_read(tensor_id t) const {
    const std::vector<node_id> &readers = consumers(t);
    return any_of(readers, [](node_id r) { return r.has_value(); });
}

node_id ort_graph::writer(tensor_id t, std::string_view op) const {
    const node_id i = producer(t);
    return is(i, op) && output(i) == t ? i : node_id();
}

node_id ort_graph::reader(tensor_id t, std::string_view op) const {
    const node_id i = only_consumer(t);
    return is(i, op) ? i : node_id();
}

node_id ort_graph::only_node_reading(tensor_id t) const {
    node_id reader;
    if (!t)
        return {};
    for (const node_id i : consumers(t)) {
        if (!i || i == reader)
            continue;
        if (reader)
            return {};
        reader = i;
    }
    return reader;
}

node_id ort_graph::only_edge(tensor_id t) const {
    node_id reader;
    for (const node_id i : consumers(t)) {
        if (i && reader)
            return {};
        if (i)
            reader = i;
    }
    return reader;
}

bool ort_graph::is_graph_output(tensor_id t) const {
    const std::vector<node_id> &readers = consumers(t);
    return std::find(readers.begin(), readers.end(), node_id()) != readers.end();
}

// ---- Tensors

std::optional<float> ort_graph::number(tensor_id t) const {
    if (!is_float_constant(t) || tensor_at(t).data.size() != sizeof(float))
        return {};
    return values(t)[0];
}

std::optional<float> ort_graph::scalar(tensor_id t) const {
    return t && rank(t) <= 1 ? number(t) : std::nullopt;
}

bool ort_graph::is_value(tensor_id t, double value) const {
    constexpr double absolute = 1e-8, relative = 1e-5;
    const auto c = scalar(t);
    return c && std::abs(static_cast<double>(*c) - value) <= absolute + relative * std::abs(value);
}

std::size_t ort_graph::readers_of_constant(tensor_id t) {
    std::set<node_id> readers;
    const auto add = [&](tensor_id constant) {
        for (const node_id i : consumers(constant))
            if (i && !is_removed(i))
                readers.insert(i);
    };
    add(t);
    const std::optional<float> value = is_folded(t) ? std::nullopt : scalar(t);
    for (std::size_t k = 0; value && k < get_graph().tensors.size(); k++)
        if (const tensor_id other(k); other != t && !is_folded(other) && is_float_constant(other) &&
                                      rank(other) == rank(t) && scalar(other) == value)
            add(other);
    return readers.size();
}

bool ort_graph::are_equal(tensor_id a, std::size_t a_dim, tensor_id b, std::size_t b_dim) const {
    const int of_a = symbol(a, a_dim), of_b = symbol(b, b_dim);
    return of_a == of_b && of_a >= 0 && size(a, a_dim) == size(b, b_dim);
}

bool ort_graph::have_equal_sizes(tensor_id a, tensor_id b) const {
    for (std::size_t d = 0; d < rank(a); d++)
        if (!are_equal(a, d, b, d))
            return false;
    return rank(a) == rank(b);
}

bool ort_graph::is_known(tensor_id t) const {
    for (std::size_t d = 0; d < rank(t); d++)
        if (!is_known(t, d))
            return false;
    return true;
}

// ---- Pairs: one that is not plain is as if it were not there, and its floats stay floats

bool ort_graph::is_plain(node_id i) const {
    const tensor_id codes = is(i, "QuantizeLinear") ? output(i) : input(i, 0);
    const tensor_id scale = input(i, 1), zero_point = input(i, 2);
    if (!is_constant(scale) || type(scale) != data_type::f32 ||
        attribute<std::int64_t>(i, "block_size", 0) != 0)
        return false;
    return !zero_point || (is_constant(zero_point) && type(zero_point) == type(codes) &&
                           element_count(dims(zero_point)) == element_count(dims(scale)));
}

std::optional<quantized> ort_graph::dequantized(tensor_id t) const {
    const node_id i = producer(t);
    if (!is(i, "DequantizeLinear") || !is_plain(i))
        return {};
    quantized q = read(i);
    q.axis = attribute<std::int64_t>(i, "axis", 1);
    return q;
}

std::optional<quantized> ort_graph::activation(tensor_id t) const {
    const auto q = dequantized(t);
    return q && is_code(type(q->codes)) && has_one_scale(*q) ? q : std::nullopt;
}

node_id ort_graph::quantizer_of(tensor_id t) const {
    const node_id i = reader(t, "QuantizeLinear");
    return i && is_plain(i) && has_one_scale(written(i)) && is_code(type(output(i))) ? i : node_id();
}

std::int32_t ort_graph::zero_point_of(const quantized &q) const {
    if (!q.zero_point)
        return 0;
    const tensor &t = tensor_at(q.zero_point);
    return t.type == data_type::s8   ? values_of<std::int8_t>(t).at(0)
           : t.type == data_type::u8 ? values_of<std::uint8_t>(t).at(0)
                                     : values_of<std::int32_t>(t).at(0);
}

bool ort_graph::are_equal(const quantized &a, const quantized &b) const {
    return has_one_scale(a) && has_one_scale(b) && scale_of(a) == scale_of(b) &&
           zero_point_of(a) == zero_point_of(b) && type(a.codes) == type(b.codes);
}

tensor_id ort_graph::zero_point_tensor(const quantized &q) {
    if (q.zero_point)
        return q.zero_point;
    const data_type t = type(q.codes);
    return add_constant("zero", t, {}, std::vector<std::uint8_t>(memory::data_type_size(t)));
}

// ---- Changes

tensor_id ort_graph::add_constant(const std::string &name, data_type type, const memory::dims &dims,
                                  std::vector<std::uint8_t> data) {
    tensor t;
    t.name = name;
    t.type = type;
    t.dims = dims;
    t.is_constant = true;
    t.data = std::move(data);
    return add_tensor(std::move(t));
}

tensor_id ort_graph::add_floats(const std::string &name, const memory::dims &dims,
                                const std::vector<float> &values) {
    return add_constant(name, data_type::f32, dims, bytes_of(values));
}

tensor_id ort_graph::add_integers(const std::string &name, const memory::dims &values) {
    const std::vector<std::int32_t> stored(values.begin(), values.end());
    return add_constant(name, data_type::s32, {static_cast<dim_t>(stored.size())}, bytes_of(stored));
}

tensor_id ort_graph::add_like(tensor_id t) { return add_like(t, dims(t)); }

tensor_id ort_graph::add_like(tensor_id t, const memory::dims &dims) {
    tensor copy = tensor_at(t);
    copy.dims = dims;
    copy.is_constant = copy.is_variable = false;
    copy.data = {};
    copy.dim_names.clear();
    return add_tensor(std::move(copy));
}

tensor_id ort_graph::add_like(tensor_id t, data_type type) {
    const tensor_id like = add_like(t);
    model::tensor_at(get_graph(), like).type = type;
    return like;
}

void ort_graph::become(node_id i, node n) {
    n.outputs = {output(i)};
    n.number = at(i).number;
    replace(i, std::move(n));
}

void ort_graph::give_shape(tensor_id t, const memory::dims &shape) {
    std::vector<tensor_id> changed;
    if (dims(t) != shape) {
        model::tensor_at(get_graph(), t).dims = shape;
        changed.push_back(t);
    }
    while (!changed.empty()) {
        const std::vector<node_id> readers = consumers(changed.back());
        changed.pop_back();
        for (const node_id r : std::set<node_id>(readers.begin(), readers.end())) {
            if (!r || is_removed(r) || !facts(r).infer)
                continue;
            const tensor_ids written = outputs(r);
            if (std::find(written.begin(), written.end(), tensor_id()) != written.end())
                continue;
            node n = at(r);
            std::vector<memory::dims> before;
            for (const tensor_id y : outputs_of(n))
                before.push_back(dims(y));
            node_shapes shapes(get_graph(), n);
            facts(r).infer(shapes);
            if (n.attributes != at(r).attributes || !(marks_of(n) == marks_of(at(r)))) // what is reduced
                replace(r, n);
            for (std::size_t k = 0; k < before.size(); k++)
                if (dims(output_of(n, k)) != before[k])
                    changed.push_back(output_of(n, k));
        }
    }
}

void ort_graph::set_input(node_id i, std::size_t k, tensor_id t) {
    node n = at(i);
    n.inputs.resize(std::max(n.inputs.size(), k + 1), -1);
    n.inputs[k] = t;
    replace(i, std::move(n));
}

void ort_graph::set_attribute(node_id i, const char *name, model::attribute value) {
    node n = at(i);
    n.attributes[name] = std::move(value);
    replace(i, std::move(n));
}

void ort_graph::redirect(tensor_id from, tensor_id to) {
    const std::vector<node_id> &all = consumers(from);
    for (const node_id r : std::set<node_id>(all.begin(), all.end()))
        if (r) {
            node n = at(r);
            model::replace(n.inputs, from, to);
            replace(r, std::move(n));
        }
}

bool ort_graph::drop(node_id i, tensor_id x) {
    const tensor_ids read = inputs(i);
    const auto computed =
        std::count_if(read.begin(), read.end(), [&](tensor_id t) { return producer(t).has_value(); });
    if (is_graph_output(output(i)) || (read.size() > 1 && computed != 1))
        return false;
    give_shape(output(i), dims(x)); // of a Slice that has steps and no axes
    bypass(i, x);
    return true;
}

void ort_graph::bypass(node_id i, tensor_id x) {
    if (marks_of(at(i)).unread != kept_unread::no && producer(x)) // which nobody reads now
        set_mark(producer(x), &node_marks::unread, kept_unread::yes);
    redirect(output(i), x);
    remove(i);
}

} // namespace octet::model
