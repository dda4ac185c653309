// As `noop_elimination.cc`, `identity_elimination.cc`, `slice_elimination.cc`, `expand_elimination.cc`,
// `cast_elimination.cc`, `dropout_elimination.cc`, `unsqueeze_elimination.cc`, `div_mul_fusion.cc`,
// `relu_clip_fusion.cc` and `not_where_fusion.cc` of ONNX Runtime 1.30, level 1: rules of one node each. What
// does nothing goes, neighbours that one operator can do become one. Rules that need a product's constants
// are in rules_products.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "network/graph/descs.hpp"
#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

/// Whether an input is absent, or constants that are all of one value.
bool are_all(const ort_graph &g, tensor_id t, std::int32_t value) {
    if (!t)
        return true;
    const auto all = g.integers(t);
    return all && all_of(*all, [&](std::int64_t v) { return v == value; });
}

/// A constant of one value and no more dimensions than the other operand: adding 0, multiplying by 1.
void eliminate_noop(ort_graph &g, node_id i) {
    const bool is_sum = g.is(i, "Add") || g.is(i, "Sub"), commutes = g.is(i, "Add") || g.is(i, "Mul");
    for (std::size_t k = commutes ? 0 : 1; k < 2; k++) {
        const tensor_id c = g.input(i, k), x = g.input(i, 1 - k);
        if (!c || !x)
            return;
        const bool is_neutral =
            g.is_float(c) ? g.number(c) == (is_sum ? 0.f : 1.f) : g.is_integer(c, is_sum ? 0 : 1);
        if (is_neutral && g.type(x) == g.type(c) && g.has_rank(x) && g.rank(c) <= g.rank(x)) {
            g.drop(i, x);
            return;
        }
    }
}

/// A Slice from 0 to the largest number, one by one. Ends that happen to be the source's are not looked at.
bool takes_all(const ort_graph &g, node_id i) {
    constexpr std::int32_t end = std::numeric_limits<std::int32_t>::max();
    using list = std::vector<std::int64_t>;
    if (g.at(i).attributes.count("starts") != 0) { // below operator set 10
        const auto starts = g.attribute<list>(i, "starts", {}), ends = g.attribute<list>(i, "ends", {});
        return starts == list(starts.size(), 0) &&
               ends == list(starts.size(), std::numeric_limits<std::int64_t>::max());
    }
    const tensor_id axes = g.input(i, 3); // without which steps are not looked at
    return g.input(i, 1) && g.input(i, 2) && are_all(g, g.input(i, 1), 0) && are_all(g, g.input(i, 2), end) &&
           (!axes || (g.is_constant(axes) && are_all(g, g.input(i, 4), 1)));
}

/// An Expand to dimensions that the source is known to have, or to 1.
bool expands_nothing(const ort_graph &g, node_id i) {
    const tensor_id x = g.input(i, 0), shape = g.input(i, 1);
    const auto wanted = g.is_sized(shape) ? std::nullopt : g.integers(shape);
    if (!wanted)
        return g.dims(x) == g.dims(g.output(i)) && g.is_known(x);
    for (std::size_t d = 0; d < wanted->size(); d++) {
        const std::size_t from_end = wanted->size() - d;
        const dim_t size = (*wanted)[d];
        if (size != 1 && (from_end > g.rank(x) || !g.has_size(x, g.rank(x) - from_end, size)))
            return false;
    }
    return wanted->size() <= g.rank(x);
}

bool does_nothing(const ort_graph &g, node_id i) {
    constexpr std::int64_t boolean = 9; // of ONNX's types, stored as u8 but another one
    const tensor_id x = g.input(i, 0), y = g.output(i);
    const std::string &op = g.at(i).op;
    if (!x)
        return false;
    return op == "Identity" || (op == "Dropout" && g.at(i).outputs.size() == 1) ||
           (op == "Cast" && g.type(x) == g.type(y) && g.attribute<std::int64_t>(i, "to", 0) != boolean) ||
           (op == "Slice" && takes_all(g, i)) || (op == "Expand" && expands_nothing(g, i));
}

/// (1 / a) * b  ->  b / a.
void fuse_div_mul(ort_graph &g, node_id i) {
    const tensor_id a = g.input(i, 1), y = g.output(i);
    const node_id product = g.reader(y, "Mul");
    if (g.number(g.input(i, 0)) != 1.f || !product || !g.is_float(a))
        return;
    const tensor_id b = g.other(product, y);
    g.become(product, "Div", {b, a});
    g.give_shape(g.output(product), broadcast(g.dims(a), g.dims(b))); // the 1 may have had more dimensions
    g.remove(i);
}

/// The lower limit of a Clip, if it is constant or absent.
std::optional<float> lower_limit(const ort_graph &g, node_id i) {
    const auto &attributes = g.at(i).attributes;
    if (const auto found = attributes.find("min"); found != attributes.end()) {
        const auto *const low = std::get_if<float>(&found->second);
        return low ? std::optional<float>(*low) : std::nullopt;
    }
    return !g.input(i, 1) ? -std::numeric_limits<float>::infinity() : g.number(g.input(i, 1));
}

/// A Clip's own limits take a Relu's, under which a NaN stays one.
void fuse_relu_clip(ort_graph &g, node_id i) {
    const node_id clip = g.reader(g.output(i), "Clip");
    const bool is_limited = clip && g.input(clip, 0) == g.output(i);
    const auto low = is_limited ? lower_limit(g, clip) : std::nullopt;
    if (!low)
        return;
    const float limit = std::max(*low, 0.f);
    node n = g.at(clip);
    n.inputs[0] = g.input(i, 0);
    if (n.attributes.count("min") != 0 || n.attributes.count("max") != 0) {
        n.attributes["min"] = limit;
    } else {
        n.inputs.resize(std::max<std::size_t>(n.inputs.size(), 2), tensor_id());
        n.inputs[1] = g.add_floats("limit", {}, {limit});
    }
    g.replace(clip, std::move(n));
    g.remove(i);
}

/// A Where whose condition is a Not chooses the other way round without it, if all readers of the Not are
/// such.
void fuse_not_where(ort_graph &g, node_id i) {
    const tensor_id condition = g.input(i, 0);
    const node_id inverted = g.writer(condition, "Not");
    if (!inverted || g.is_graph_output(condition))
        return;
    const std::vector<node_id> readers = g.consumers(condition);
    for (const node_id r : readers)
        if (!g.is(r, "Where") || std::count(g.inputs(r).begin(), g.inputs(r).end(), condition) != 1)
            return;
    for (const node_id r : readers) {
        node n = g.at(r);
        n.inputs = {g.input(inverted, 0), n.inputs[2], n.inputs[1]};
        g.replace(r, std::move(n));
    }
    g.remove(inverted);
}

/// An Identity that alone reads a node's output to hand it out: the node itself does.
void deliver_without(ort_graph &g, node_id i) {
    const tensor_id x = g.input(i, 0), y = g.output(i);
    const node_id writer = g.producer(x);
    if (!writer || g.only_consumer(x) != i || !g.is_output_alone(y))
        return;
    node n = g.at(writer);
    model::replace(n.outputs, x, y);
    g.remove(i);
    g.replace(writer, std::move(n));
}

/// A constant has the dimensions ahead.
void unsqueeze_constant(ort_graph &g, node_id i) {
    const tensor_id x = g.input(i, 0), y = g.output(i);
    if (!g.is_constant(x) || g.is_sized(x) || g.is_graph_output(y) || g.at(i).attributes.count("axes") == 0)
        return; // axes are inputs from operator set 13 on, and constants are folded there
    const shared_bytes &data = g.tensor_at(x).data;
    const tensor_id constant = g.add_constant(g.tensor_at(y).name, g.type(x), g.dims(y),
                                              std::vector<std::uint8_t>(data.begin(), data.end()));
    g.redirect(y, constant);
    g.remove(i);
}

} // namespace

void eliminate(ort_graph &g, node_id i) {
    const std::string &op = g.at(i).op;
    if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div")
        eliminate_noop(g, i);
    else if (does_nothing(g, i) && !g.drop(i, g.input(i, 0)) && g.is(i, "Identity"))
        deliver_without(g, i);
}

namespace {

/// Rules for each node that was there at the beginning: what one makes of it another one sees in the next step.
template <typename Rules> void apply(ort_graph &g, const Rules &rules) {
    const std::vector<node_id> order = g.visiting_order();
    std::vector<std::string> operators;
    operators.reserve(order.size());
    for (const node_id i : order)
        operators.push_back(g.at(i).op);
    for (std::size_t k = 0; k < order.size(); k++)
        if (!g.is_removed(order[k]) && g.at(order[k]).op == operators[k])
            rules(order[k]);
}

} // namespace

void apply_level1_rules(ort_graph &g) {
    apply(g, [&](node_id i) {
        eliminate(g, i);
        if (g.is(i, "Div"))
            fuse_div_mul(g, i);
        else if (g.is(i, "Relu"))
            fuse_relu_clip(g, i);
        else if (g.is(i, "Where"))
            fuse_not_where(g, i);
        else if (g.is(i, "Unsqueeze"))
            unsqueeze_constant(g, i);
        else
            fuse_products(g, i);
    });
}

void apply_level2_rules(ort_graph &g) {
    apply(g, [&](node_id i) {
        drop_implied_limit(g, i);
        transpose_gemm(g, i);
    });
}

} // namespace octet::model::ort
