// As `onnx_transpose_optimization.cc` of ONNX Runtime 1.30, levels 1 and 2: one operator that a Transpose
// goes through. Its inputs are moved back, its outputs get the Transpose, and numbers that name dimensions
// name others. What is already moved, or constant, costs no Transpose.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "network/graph/element_map.hpp"
#include "network/graph/index_walk.hpp"
#include "network/onnx/rewrites/transposes.hpp"

namespace octet::model::ort {
namespace {

constexpr std::int64_t axes_input_opset = 13; ///< of Squeeze and Unsqueeze

/// Elements of `bytes` each, in another order of dimensions.
std::vector<std::uint8_t> moved_bytes(const tensor &t, const order &p) {
    const std::size_t bytes = memory::data_type_size(t.type);
    if (static_cast<std::size_t>(element_count(t.dims)) * bytes != t.data.size())
        throw error(status::invalid_arguments, "Transpose: a constant has " + std::to_string(t.data.size()) +
                                                   " bytes, which its dimensions contradict");
    std::vector<std::uint8_t> result(t.data.size());
    auto next = result.begin();
    for_each_offset(permuted(t.dims, p), permuted(placed_dims(t.dims).strides, p), [&](dim_t from) {
        next = std::copy_n(t.data.begin() + from * static_cast<std::ptrdiff_t>(bytes), bytes, next);
    });
    return result;
}

tensor_id moved_constant(ort_graph &g, tensor_id t, const order &p) {
    const tensor &from = g.tensor_at(t);
    return g.add_constant(from.name, from.type, permuted(from.dims, p), moved_bytes(from, p));
}

/// A constant is moved for all that read it: the others get a Transpose back, which may cancel one behind them.
void read_moved_constant(ort_graph &g, node_id i, std::size_t k, const order &p) {
    const tensor_id t = g.input(i, k), moved = moved_constant(g, t, p);
    g.set_input(i, k, moved);
    if (g.consumers(t).empty() || g.is_graph_output(t) || std::is_sorted(p.begin(), p.end()))
        return;
    const tensor_id back = g.add_like(t);
    g.redirect(t, back);
    g.insert_before(i, {"Transpose", {moved}, {back}, {{"perm", inverse(p)}}});
}

memory::dims raised(const memory::dims &dims, std::size_t count) {
    memory::dims result(count, 1);
    result.insert(result.end(), dims.begin(), dims.end());
    return result;
}

/// Axes counted from the front, each once.
std::optional<order> counted(order axes, std::size_t rank) {
    const auto r = static_cast<std::int64_t>(rank);
    for (auto a = axes.begin(); a != axes.end(); ++a)
        if (*a += *a < 0 ? r : 0; *a < 0 || *a >= r || std::find(axes.begin(), a, *a) != a)
            return {};
    return axes;
}

void remove_if_unread(ort_graph &g, node_id i) {
    if (i && !g.is_removed(i) && g.consumers(g.output(i)).empty())
        g.remove(i);
}

/// The DequantizeLinear that a node alone reads gets other codes, of other dimensions.
void read_other_codes(ort_graph &g, node_id dq, node_id reader, std::size_t input, tensor_id codes,
                      std::int64_t axis) {
    const tensor_id real = g.add_like(g.output(dq), g.dims(codes));
    node n = g.at(dq);
    n.inputs[0] = codes;
    n.outputs = {real};
    if (element_count(g.dims(input_of(n, 1))) != 1)
        n.attributes["axis"] = axis;
    g.replace(dq, std::move(n));
    g.set_input(reader, input, real);
}

std::int64_t axis_of(const ort_graph &g, node_id dq) {
    const auto rank = static_cast<std::int64_t>(g.rank(g.input(dq, 0)));
    const auto axis = g.attribute<std::int64_t>(dq, "axis", 1);
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, std::max<std::int64_t>(rank - 1, 0));
}

} // namespace

bool moved_node::pass(passing_kind kind) {
    switch (kind) {
    case passing_kind::unknown:
    case passing_kind::none:
        return false;
    case passing_kind::broadcast:
        if (!raise_ranks())
            return false;
        [[fallthrough]];
    case passing_kind::elements:
        transpose_inputs();
        transpose_outputs(p_);
        return true;
    case passing_kind::along_axis:
        return pass_axis(g_.is(i_, "Split") ? 0 : -static_cast<std::int64_t>(p_.size()) - 1);
    case passing_kind::softmax:
        return pass_softmax();
    case passing_kind::index:
        return pass_index(g_.attribute<std::int64_t>(i_, "keepdims", 1) != 0);
    case passing_kind::gather:
        return pass_gather();
    case passing_kind::reduction:
        return pass_reduction();
    case passing_kind::quantization:
        if (element_count(g_.dims(g_.input(i_, 1))) != 1)
            g_.set_attribute(i_, "axis", p_[static_cast<std::size_t>(axis_of(g_, i_))]);
        return pass(passing_kind::elements);
    case passing_kind::transpose:
        return pass_transpose(order_of(g_, i_));
    case passing_kind::reshape:
        return pass_reshape() || pass_split();
    case passing_kind::squeeze:
        return pass_squeeze();
    case passing_kind::unsqueeze:
        return pass_unsqueeze();
    case passing_kind::slice:
        return pass_slice();
    case passing_kind::tile:
        return pass_numbers(1, 1);
    case passing_kind::pad:
        return !g_.input(i_, 3) && pass_numbers(1, 2);
    case passing_kind::sizes:
        transpose_inputs(); // whoever reads the sizes has them already
        return true;
    }
    return false;
}

// ---- Operators whose numbers name dimensions

bool moved_node::pass_axis(std::int64_t fallback) {
    const auto axis = counted({g_.attribute<std::int64_t>(i_, "axis", fallback)}, p_.size());
    if (!axis)
        return false;
    g_.set_attribute(i_, "axis", p_[static_cast<std::size_t>((*axis)[0])]);
    return pass(passing_kind::elements);
}

/// Before operator set 13 the axis parts dimensions in two groups, which must stay.
bool moved_node::pass_softmax() {
    if (g_.get_graph().opset >= axes_input_opset)
        return pass_axis(-1);
    const auto axis = counted({g_.attribute<std::int64_t>(i_, "axis", 1)}, p_.size());
    for (std::size_t d = 0; axis && d < p_.size(); d++)
        if ((static_cast<std::int64_t>(d) < (*axis)[0]) != (p_[d] < (*axis)[0]))
            return false;
    return axis && pass(passing_kind::elements);
}

/// The operator's axis is in its output as well if `keeps`, as 1; else the Transpose behind it lacks the axis, too.
bool moved_node::pass_index(bool keeps) {
    const auto axis = counted({g_.attribute<std::int64_t>(i_, "axis", 0)}, p_.size());
    if (!axis)
        return false;
    const std::int64_t moved = p_[static_cast<std::size_t>((*axis)[0])];
    g_.set_attribute(i_, "axis", moved);
    transpose_inputs();
    transpose_outputs(keeps ? p_ : without_axes(p_, {moved}));
    return true;
}

/// A Gather of one index removes its axis.
bool moved_node::pass_gather() {
    const tensor_id index = g_.input(i_, 1);
    return index && g_.is_constant(index) && g_.rank(index) == 0 && pass_index(false);
}

std::optional<order> moved_node::axes(std::size_t rank) const {
    if (!g_.input(i_, 1))
        return counted(g_.attribute(i_, "axes", order{}), rank);
    const auto given = g_.integers(g_.input(i_, 1));
    return given ? counted(*given, rank) : std::nullopt;
}

void moved_node::set_axes(const order &axes) {
    if (!g_.input(i_, 1))
        g_.set_attribute(i_, "axes", axes);
    else
        g_.set_input(i_, 1, g_.add_integers("axes", axes));
}

bool moved_node::pass_reduction() {
    auto given = axes(p_.size());
    const auto reduced = marks_of(g_.at(i_)).reduced.value_or(memory::dims());
    if (!given || reduced.size() != p_.size())
        return false;
    for (std::int64_t &a : *given)
        a = p_[static_cast<std::size_t>(a)];
    std::sort(given->begin(), given->end());
    const bool keeps = g_.attribute<std::int64_t>(i_, "keepdims", 1) != 0;
    const bool is_noop = given->empty() && g_.attribute<std::int64_t>(i_, "noop_with_empty_axes", 0) != 0;
    if (!given->empty())
        set_axes(*given);
    g_.set_mark(i_, &node_marks::reduced, permuted(reduced, back_));
    transpose_inputs();
    if (keeps || is_noop)
        transpose_outputs(p_);
    else if (!given->empty())
        transpose_outputs(without_axes(p_, *given));
    return true;
}

/// Two orders are one; where they cancel, none.
bool moved_node::pass_transpose(const order &own) {
    if (own.size() != p_.size())
        return false;
    if (own == back_) {
        cancel(i_);
        return true;
    }
    g_.become(i_, node{"Transpose", {g_.input(transpose_, 0)}, {}, {{"perm", composed(p_, own)}}});
    remove_if_unread(g_, transpose_);
    return true;
}

/// A Reshape that only moves dimensions of 1 is a Transpose.
bool moved_node::pass_reshape() {
    const tensor_id x = g_.input(i_, 0), y = g_.output(i_), shape = g_.input(i_, 1);
    if (g_.rank(y) != g_.rank(x) || !g_.is_known(x) || (shape && !g_.is_constant(shape)))
        return false;
    memory::dims left = g_.dims(x);
    order own;
    for (const dim_t wanted : g_.dims(y)) {
        std::size_t d = 0;
        for (; d < left.size() && left[d] != wanted; d++)
            if (left[d] > 1 && wanted != 1)
                return false;
        if (d == left.size())
            return false;
        own.push_back(static_cast<std::int64_t>(d));
        left[d] = -1;
    }
    return pass_transpose(own);
}

/// A Reshape that splits dimensions: those parts of each that follow each other go with it.
bool moved_node::pass_split() {
    const tensor_id x = g_.input(transpose_, 0), y = g_.output(i_), shape = g_.input(i_, 1);
    const memory::dims parts = g_.dims(y);
    if (!g_.is_known(x) || !g_.is_known(y) || (shape && !g_.is_constant(shape)) ||
        parts.size() <= p_.size() || element_count(parts) == 0)
        return false;
    std::vector<std::size_t> ends; // of the parts of each dimension
    std::size_t next = 0;
    for (const std::int64_t d : p_) {
        const dim_t whole = g_.dims(x)[static_cast<std::size_t>(d)];
        dim_t product = 1;
        do {
            if (next == parts.size() || product > whole / parts[next])
                return false;
            product *= parts[next++];
        } while (product < whole);
        if (product != whole)
            return false;
        ends.push_back(next);
    }
    if (next != parts.size())
        return false;
    order moved(parts.size()), split;
    for (const std::int64_t d : back_) {
        const auto at = static_cast<std::size_t>(d);
        for (std::size_t k = at == 0 ? 0 : ends[at - 1]; k < ends[at]; k++) {
            moved[k] = static_cast<std::int64_t>(split.size());
            split.push_back(parts[k]);
        }
    }
    g_.set_input(i_, 0, x);
    if (shape)
        g_.set_input(i_, 1, g_.add_integers("shape", split));
    transpose_outputs(moved);
    remove_if_unread(g_, transpose_);
    return true;
}

bool moved_node::pass_squeeze() {
    auto given = axes(p_.size());
    if (!given || given->empty())
        return false;
    for (std::int64_t &a : *given)
        a = p_[static_cast<std::size_t>(a)];
    std::sort(given->begin(), given->end());
    set_axes(*given);
    transpose_inputs();
    transpose_outputs(without_axes(p_, *given));
    return true;
}

bool moved_node::pass_unsqueeze() {
    const std::size_t rank = g_.rank(g_.output(i_));
    const auto given = axes(rank);
    if (!given || given->size() + p_.size() != rank)
        return false;
    transpose_inputs();
    transpose_outputs(with_axes(p_, *given));
    return true;
}

bool moved_node::pass_slice() {
    const bool has_inputs = g_.input(i_, 1).has_value();
    const auto starts = has_inputs ? g_.integers(g_.input(i_, 1)) : g_.attribute(i_, "starts", order{});
    std::optional<order> given;
    if (has_inputs ? g_.input(i_, 3) : g_.at(i_).attributes.count("axes") != 0) {
        given = has_inputs ? g_.integers(g_.input(i_, 3)) : g_.attribute(i_, "axes", order{});
    } else if (starts) {
        given.emplace(starts->size());
        std::iota(given->begin(), given->end(), 0);
    }
    given = given ? counted(*given, p_.size()) : std::nullopt;
    if (!given)
        return false;
    for (std::int64_t &a : *given)
        a = p_[static_cast<std::size_t>(a)];
    if (has_inputs)
        g_.set_input(i_, 3, g_.add_integers("axes", *given));
    else
        g_.set_attribute(i_, "axes", *given);
    if (const auto places = marks_of(g_.at(i_)).slice; places && places->begin.size() == p_.size())
        g_.set_mark(i_, &node_marks::slice,
                    slice_places{permuted(places->begin, back_), permuted(places->stride, back_)});
    return pass(passing_kind::elements);
}

/// Numbers for each dimension, in groups: repeats, pads before and behind.
bool moved_node::pass_numbers(std::size_t input, std::size_t groups) {
    const tensor_id t = g_.input(i_, input);
    const bool is_pad = g_.at(i_).attributes.count("pads") != 0; // which shape inference has written
    const auto given = is_pad ? g_.attribute(i_, "pads", order{}) : g_.integers(t);
    if (!given || given->size() != groups * p_.size())
        return false;
    order moved;
    for (std::size_t group = 0; group < groups; group++)
        for (const std::int64_t d : back_)
            moved.push_back((*given)[group * p_.size() + static_cast<std::size_t>(d)]);
    if (t)
        g_.set_input(i_, input, g_.add_integers("numbers", moved));
    if (is_pad)
        g_.set_attribute(i_, "pads", moved);
    transpose_input(i_, 0, back_);
    transpose_outputs(p_);
    return true;
}

// ---- Inputs and outputs

void moved_node::transpose_inputs() {
    for (const std::int64_t k : inputs_)
        transpose_input(i_, static_cast<std::size_t>(k), back_);
}

void moved_node::transpose_outputs(const order &p) {
    if (!std::is_sorted(p.begin(), p.end()))
        for (std::size_t k = 0; k < g_.at(i_).outputs.size(); k++)
            if (g_.output(i_, k))
                transpose_output(i_, k, p);
}

node_id moved_node::transpose_output(node_id i, std::size_t k, const order &p) {
    node n = g_.at(i);
    const tensor_id y = output_of(n, k), inner = g_.add_like(y, permuted(g_.dims(y), inverse(p)));
    n.outputs[k] = inner;
    g_.replace(i, std::move(n));
    return g_.insert_after(i, {"Transpose", {inner}, {y}, {{"perm", p}}});
}

void moved_node::transpose_input(node_id i, std::size_t k, const order &p) {
    const tensor_id t = g_.input(i, k);
    const node_id dq = g_.writer(t, "DequantizeLinear");
    if (g_.is_constant(t)) {
        if (element_count(g_.dims(t)) != 1 && g_.rank(t) == p.size())
            read_moved_constant(g_, i, k, p);
        return;
    }
    const bool is_own = dq && g_.only_consumer(t) == i;
    const auto axis = [&] {
        const auto a = static_cast<std::size_t>(axis_of(g_, dq));
        return a < p.size() ? inverse(p)[a] : 0;
    };
    if (is_own && g_.is_constant(g_.input(dq, 0)))
        return read_other_codes(g_, dq, i, k, moved_constant(g_, g_.input(dq, 0), p), axis());
    const node_id before = g_.writer(is_own ? g_.input(dq, 0) : t, "Transpose");
    const order first = !before ? order{} : order_of(g_, before);
    if (before && first == inverse(p)) {
        if (is_own)
            read_other_codes(g_, dq, i, k, g_.input(before, 0), axis());
        else
            g_.set_input(i, k, g_.input(before, 0));
        return remove_if_unread(g_, before);
    }
    const tensor_id moved = g_.add_like(t, permuted(g_.dims(t), p));
    if (before && !is_own && first.size() == p.size()) {
        g_.insert_before(i, {"Transpose", {g_.input(before, 0)}, {moved}, {{"perm", composed(first, p)}}});
        g_.set_input(i, k, moved);
        return remove_if_unread(g_, before);
    }
    for (const node_id r : g_.consumers(t))
        if (r != i && g_.is(r, "Transpose") && order_of(g_, r) == p)
            return g_.set_input(i, k, g_.output(r));
    g_.insert_before(i, {"Transpose", {t}, {moved}, {{"perm", p}}});
    g_.set_input(i, k, moved);
    if (dq)
        add_pair_behind(g_, dq);
}

/// Dimensions of 1 in front of operands of fewer dimensions.
bool moved_node::raise_ranks() {
    const auto rank = [&](std::int64_t k) { return g_.rank(g_.input(i_, static_cast<std::size_t>(k))); };
    if (std::any_of(inputs_.begin(), inputs_.end(), [&](std::int64_t k) { return rank(k) > p_.size(); }))
        return false;
    for (const std::int64_t k : inputs_)
        if (rank(k) < p_.size())
            raise_input(static_cast<std::size_t>(k), p_.size() - rank(k));
    return true;
}

void moved_node::raise_input(std::size_t k, std::size_t count) {
    const tensor_id t = g_.input(i_, k);
    const node_id dq = g_.writer(t, "DequantizeLinear");
    const auto raise_constant = [&](tensor_id c) {
        const tensor &from = g_.tensor_at(c);
        return g_.add_constant(from.name, from.type, raised(from.dims, count),
                               {from.data.begin(), from.data.end()});
    };
    if (g_.is_constant(t))
        return g_.set_input(i_, k, raise_constant(t));
    if (dq && g_.only_consumer(t) == i_ && g_.is_constant(g_.input(dq, 0)))
        return read_other_codes(g_, dq, i_, k, raise_constant(g_.input(dq, 0)),
                                axis_of(g_, dq) + static_cast<std::int64_t>(count));
    order axes(count);
    std::iota(axes.begin(), axes.end(), 0);
    const tensor_id up = g_.add_like(t, raised(g_.dims(t), count));
    node n{"Unsqueeze", {t}, {up}, {}};
    if (g_.get_graph().opset < axes_input_opset)
        n.attributes["axes"] = axes;
    else
        n.inputs.push_back(g_.add_integers("axes", axes));
    const node_id i = g_.insert_before(i_, std::move(n)), before = g_.writer(t, "Transpose");
    g_.set_input(i_, k, up);
    if (const order p = !before ? order{} : order_of(g_, before); !p.empty())
        moved_node(g_, i, before, p, {0}).pass(passing_kind::unsqueeze);
    else if (dq)
        add_pair_behind(g_, dq);
}

/// `last` gives what the Transpose was given.
void moved_node::cancel(node_id last) {
    const tensor_id x = g_.input(transpose_, 0), y = g_.output(last);
    const node_id writer = g_.producer(x);
    if (!g_.is_graph_output(y)) {
        g_.bypass(last, x);
    } else if (writer && !g_.is_graph_output(x)) {
        g_.remove(last);
        node n = g_.at(writer);
        model::replace(n.outputs, x, y);
        g_.replace(writer, std::move(n));
        g_.redirect(x, y);
    } else {
        g_.become(last, "Identity", {x});
    }
    remove_if_unread(g_, transpose_);
}

} // namespace octet::model::ort
