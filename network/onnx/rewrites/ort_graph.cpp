// Answers about nodes, tensors and pairs, in sections of that order.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/rewrites/ort_graph.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "network/shapes/node_shapes.hpp"

namespace octet::model {

// ---- Nodes

bool ort_graph::is_older(int a, int b) const {
    const auto place = [&](int i) { // nodes can run in another order than that of the file
        return std::tuple(i >= first_inserted_, i >= first_inserted_ ? 0 : at(i).number, i);
    };
    return place(a) < place(b);
}

std::vector<int> ort_graph::visiting_order() const {
    if (!order_of_visits_.empty() && visits_at_ == changes())
        return order_of_visits_;
    const auto is_before = [&](int a, int b) { return is_older(a, b); };
    std::vector<int> waiting, order, before;
    for (int i = 0, end = count(); i < end; i++)
        if (const std::vector<int> &y = at(i).outputs;
            !is_removed(i) && std::none_of(y.begin(), y.end(), [&](int t) { return t >= 0 && is_read(t); }))
            waiting.push_back(i);
    std::sort(waiting.begin(), waiting.end(), is_before);
    std::vector<bool> is_seen(static_cast<std::size_t>(count()));
    while (!waiting.empty()) {
        const int i = waiting.back();
        waiting.pop_back();
        if (i < 0) { // all that it reads is there
            order.push_back(-1 - i);
            continue;
        }
        if (is_seen[static_cast<std::size_t>(i)])
            continue;
        is_seen[static_cast<std::size_t>(i)] = true;
        waiting.push_back(-1 - i);
        before.clear();
        for (const int t : at(i).inputs)
            if (const int writer = producer(t); writer >= 0 && !is_seen[static_cast<std::size_t>(writer)])
                before.push_back(writer);
        std::sort(before.begin(), before.end(), is_before);
        waiting.insert(waiting.end(), before.begin(), before.end());
    }
    order_of_visits_ = order;
    visits_at_ = changes();
    return order;
}

bool ort_graph::is_read(int t) const {
    const std::vector<int> &readers = consumers(t);
    return std::any_of(readers.begin(), readers.end(), [](int r) { return r >= 0; });
}

int ort_graph::writer(int t, std::string_view op) const {
    const int i = producer(t);
    return is(i, op) && output(i) == t ? i : -1;
}

int ort_graph::reader(int t, std::string_view op) const {
    const int i = only_consumer(t);
    return is(i, op) ? i : -1;
}

int ort_graph::only_node_reading(int t) const {
    int reader = -1;
    if (t < 0)
        return -1;
    for (const int i : consumers(t)) {
        if (i < 0 || i == reader)
            continue;
        if (reader >= 0)
            return -1;
        reader = i;
    }
    return reader;
}

bool ort_graph::is_graph_output(int t) const {
    const std::vector<int> &readers = consumers(t);
    return std::find(readers.begin(), readers.end(), -1) != readers.end();
}

// ---- Tensors

std::optional<float> ort_graph::number(int t) const {
    if (!is_float_constant(t) || tensor_at(t).data.size() != sizeof(float))
        return {};
    return values(t)[0];
}

std::optional<float> ort_graph::scalar(int t) const {
    return t >= 0 && rank(t) <= 1 ? number(t) : std::nullopt;
}

bool ort_graph::is_value(int t, double value) const {
    constexpr double absolute = 1e-8, relative = 1e-5;
    const auto c = scalar(t);
    return c && std::abs(static_cast<double>(*c) - value) <= absolute + relative * std::abs(value);
}

std::size_t ort_graph::readers_of_constant(int t) {
    std::set<int> readers;
    const auto add = [&](int constant) {
        for (const int i : consumers(constant))
            if (i >= 0 && !is_removed(i))
                readers.insert(i);
    };
    add(t);
    const std::optional<float> value = is_folded(t) ? std::nullopt : scalar(t);
    const int all = static_cast<int>(get_graph().tensors.size());
    for (int other = 0; value && other < all; other++)
        if (other != t && !is_folded(other) && is_float_constant(other) && rank(other) == rank(t) &&
            scalar(other) == value)
            add(other);
    return readers.size();
}

bool ort_graph::are_equal(int a, std::size_t a_dim, int b, std::size_t b_dim) const {
    const int of_a = symbol(a, a_dim), of_b = symbol(b, b_dim);
    return of_a == of_b && of_a >= 0 && size(a, a_dim) == size(b, b_dim);
}

bool ort_graph::is_known(int t) const {
    for (std::size_t d = 0; d < rank(t); d++)
        if (!is_known(t, d))
            return false;
    return true;
}

// ---- Pairs: one that is not plain is as if it were not there, and its floats stay floats

bool ort_graph::is_plain(int i) const {
    const int codes = is(i, "QuantizeLinear") ? output(i) : input(i, 0);
    const int scale = input(i, 1), zero_point = input(i, 2);
    if (!is_constant(scale) || type(scale) != data_type::f32 ||
        attribute<std::int64_t>(i, "block_size", 0) != 0)
        return false;
    return zero_point < 0 || (is_constant(zero_point) && type(zero_point) == type(codes) &&
                              element_count(dims(zero_point)) == element_count(dims(scale)));
}

std::optional<quantized> ort_graph::dequantized(int t) const {
    const int i = producer(t);
    if (!is(i, "DequantizeLinear") || !is_plain(i))
        return {};
    quantized q = read(i);
    q.axis = attribute<std::int64_t>(i, "axis", 1);
    return q;
}

std::optional<quantized> ort_graph::activation(int t) const {
    const auto q = dequantized(t);
    return q && is_code(type(q->codes)) && has_one_scale(*q) ? q : std::nullopt;
}

int ort_graph::quantizer_of(int t) const {
    const int i = reader(t, "QuantizeLinear");
    return i >= 0 && is_plain(i) && has_one_scale(written(i)) && is_code(type(output(i))) ? i : -1;
}

std::int32_t ort_graph::zero_point_of(const quantized &q) const {
    if (q.zero_point < 0)
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

int ort_graph::zero_point_tensor(const quantized &q) {
    if (q.zero_point >= 0)
        return q.zero_point;
    const data_type t = type(q.codes);
    return add_constant("zero", t, {}, std::vector<std::uint8_t>(memory::data_type_size(t)));
}

// ---- Changes

int ort_graph::add_constant(const std::string &name, data_type type, const memory::dims &dims,
                            std::vector<std::uint8_t> data) {
    tensor t;
    t.name = name;
    t.type = type;
    t.dims = dims;
    t.is_constant = true;
    t.data = std::move(data);
    return add_tensor(std::move(t));
}

int ort_graph::add_floats(const std::string &name, const memory::dims &dims,
                          const std::vector<float> &values) {
    return add_constant(name, data_type::f32, dims, bytes_of(values));
}

int ort_graph::add_like(int t) { return add_like(t, dims(t)); }

int ort_graph::add_like(int t, const memory::dims &dims) {
    tensor copy = tensor_at(t);
    copy.dims = dims;
    copy.is_constant = copy.is_variable = false;
    copy.data = {};
    copy.dim_names.clear();
    return add_tensor(std::move(copy));
}

int ort_graph::add_like(int t, data_type type) {
    const int like = add_like(t);
    get_graph().tensors[static_cast<std::size_t>(like)].type = type;
    return like;
}

void ort_graph::become(int i, node n) {
    n.outputs = {output(i)};
    n.number = at(i).number;
    replace(i, std::move(n));
}

void ort_graph::give_shape(int t, const memory::dims &shape) {
    std::vector<int> changed;
    if (dims(t) != shape) {
        get_graph().tensors[static_cast<std::size_t>(t)].dims = shape;
        changed.push_back(t);
    }
    while (!changed.empty()) {
        const std::vector<int> readers = consumers(changed.back());
        changed.pop_back();
        for (const int r : std::set<int>(readers.begin(), readers.end())) {
            if (r < 0 || is_removed(r) || !facts(r).infer ||
                std::any_of(at(r).outputs.begin(), at(r).outputs.end(), [](int y) { return y < 0; }))
                continue;
            node n = at(r);
            std::vector<memory::dims> before;
            for (const int y : n.outputs)
                before.push_back(dims(y));
            node_shapes shapes(get_graph(), n);
            facts(r).infer(shapes);
            if (n.attributes != at(r).attributes || !(marks_of(n) == marks_of(at(r)))) // what is reduced
                replace(r, n);
            for (std::size_t k = 0; k < before.size(); k++)
                if (dims(n.outputs[k]) != before[k])
                    changed.push_back(n.outputs[k]);
        }
    }
}

void ort_graph::set_input(int i, std::size_t k, int t) {
    node n = at(i);
    n.inputs.resize(std::max(n.inputs.size(), k + 1), -1);
    n.inputs[k] = t;
    replace(i, std::move(n));
}

void ort_graph::set_attribute(int i, const char *name, model::attribute value) {
    node n = at(i);
    n.attributes[name] = std::move(value);
    replace(i, std::move(n));
}

void ort_graph::redirect(int from, int to) {
    const std::vector<int> &all = consumers(from);
    for (const int r : std::set<int>(all.begin(), all.end()))
        if (r >= 0) {
            node n = at(r);
            std::replace(n.inputs.begin(), n.inputs.end(), from, to);
            replace(r, std::move(n));
        }
}

bool ort_graph::drop(int i, int x) {
    const std::vector<int> &inputs = at(i).inputs;
    const auto computed =
        std::count_if(inputs.begin(), inputs.end(), [&](int t) { return producer(t) >= 0; });
    if (is_graph_output(output(i)) || (inputs.size() > 1 && computed != 1))
        return false;
    give_shape(output(i), dims(x)); // of a Slice that has steps and no axes
    bypass(i, x);
    return true;
}

void ort_graph::bypass(int i, int x) {
    if (marks_of(at(i)).unread != kept_unread::no && producer(x) >= 0) // which nobody reads now
        set_mark(producer(x), &node_marks::unread, kept_unread::yes);
    redirect(output(i), x);
    remove(i);
}

} // namespace octet::model
