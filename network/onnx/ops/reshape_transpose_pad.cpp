// ONNX's operators that move elements: views, Transpose, Pad. `infer_shapes` has read their shapes,
// permutations and paddings, whether they came as attributes or as inputs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "network/graph/element_map.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/images.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/element_map_step.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

/// The padded element: input 2, or zero.
std::vector<std::uint8_t> pad_element(const lowering &l, const tensor &dst) {
    std::vector<std::uint8_t> element = given_padding(l, dst);
    if (!element.empty())
        return element;
    element.resize(memory::data_type_size(dst.type));
    if (l.has_attribute("value") && dst.type == data_type::f32) { // operator sets before 11
        const float value = l.real("value");
        std::memcpy(element.data(), &value, sizeof value);
    }
    return element;
}

std::unique_ptr<step> lower_dropout(const lowering &l) {
    need_only_outputs(l, {});
    if (l.has_input(2)) {
        const tensor &trains = l.input(2, {data_type::u8});
        if (!trains.is_constant || trains.data.size() != 1 || trains.data[0] != 0)
            refuse_as_unimplemented("input 2 ('" + trains.name + "') is not constant false: training");
    }
    return make_view(l);
}

std::unique_ptr<step> lower_layout(const lowering &l) {
    auto result = std::make_unique<primitive_step>();
    add_copy(*result, l.input_buffer(0), l.output_buffer());
    return result;
}

std::unique_ptr<step> lower_onnx_transpose(const lowering &l) {
    return make_transpose(l, l.integers("perm", {}));
}

std::unique_ptr<step> lower_onnx_pad(const lowering &l) {
    const std::string mode = l.text("mode", "constant");
    const std::vector<std::int64_t> pads = l.integers("pads", {});
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
    const memory::dims before(pads.begin(), middle), after(middle, pads.end());
    if (mode != "constant")
        return make_any_padding(l, before, after, mode, {});
    const bool cuts = std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p < 0; });
    const std::vector<std::uint8_t> element = pad_element(l, l.output());
    return cuts ? make_any_padding(l, before, after, mode, element) : make_padding(l, before, after, element);
}

// ---- Shapes, and whether rows of a batch stay apart

/// An attribute in older operator sets, an input in newer ones.
std::vector<std::int64_t> axes_of(const node_shapes &n) {
    return n.has_input(1) ? n.constant(1) : n.integers("axes", {});
}

void flatten_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    const std::size_t axis = n.axis(n.integer("axis", 1), x.size(), 1);
    const auto middle = x.begin() + static_cast<std::ptrdiff_t>(axis);
    n.set_output(n.input(0).type, {element_count(memory::dims(x.begin(), middle)),
                                   element_count(memory::dims(middle, x.end()))});
}

/// 0 keeps a dimension, -1 takes what is left.
void reshape_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    const bool zero_is_zero = n.integer("allowzero", 0) != 0;
    memory::dims result = n.constant(1);
    std::int64_t known = 1, unknown = -1;
    if (result.size() > max_ndims)
        refuse("the shape has " + std::to_string(result.size()) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
    for (std::size_t i = 0; i < result.size(); i++) {
        if (result[i] == 0 && !zero_is_zero && i < x.size())
            result[i] = x[i];
        if (result[i] == -1 && unknown < 0) {
            unknown = static_cast<std::int64_t>(i);
            continue;
        }
        if (result[i] < 0 || (result[i] > 0 && known > max_size / result[i]))
            refuse("the shape " + to_text(n.constant(1)) + " is none");
        known *= result[i];
    }
    if (unknown >= 0)
        result[static_cast<std::size_t>(unknown)] = known > 0 ? element_count(x) / known : 0;
    if (element_count(result) != element_count(x))
        refuse("input " + to_text(x) + " cannot take the shape " + to_text(n.constant(1)));
    n.set_output(n.input(0).type, result);
}

void squeeze_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    std::vector<bool> drops(x.size());
    const bool drops_all = !n.has_input(1) && !n.has_attribute("axes");
    for (std::size_t i = 0; i < x.size(); i++)
        drops[i] = drops_all && x[i] == 1;
    for (const std::int64_t given : axes_of(n)) {
        const std::size_t axis = n.axis(given, x.size());
        if (x[axis] != 1)
            refuse("axis " + std::to_string(given) + " of " + to_text(x) + " is not 1");
        drops[axis] = true;
    }
    memory::dims result;
    for (std::size_t i = 0; i < x.size(); i++)
        if (!drops[i])
            result.push_back(x[i]);
    n.set_output(n.input(0).type, result);
}

void unsqueeze_shape(node_shapes &n) {
    const std::vector<std::int64_t> axes = axes_of(n);
    const std::size_t rank = n.dims(0).size() + axes.size();
    if (rank > max_ndims)
        refuse("the output has " + std::to_string(rank) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
    std::vector<bool> is_new(rank);
    for (const std::int64_t given : axes) {
        const std::size_t axis = n.axis(given, rank);
        if (is_new[axis])
            refuse("axis " + std::to_string(given) + " is named twice");
        is_new[axis] = true;
    }
    memory::dims result;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; i++)
        result.push_back(is_new[i] ? 1 : n.dims(0)[next++]);
    n.set_output(n.input(0).type, result);
}

/// A source may have dimensions of 1 in front that `perm` does not name: ONNX Runtime runs such a file if a
/// rewrite takes them away (a norm whose epsilon has them).
void transpose_shape(node_shapes &n) {
    memory::dims x = n.dims(0);
    const std::size_t named = n.has_attribute("perm") ? n.integers("perm", {}).size() : x.size();
    while (x.size() > named && x.front() == 1)
        x.erase(x.begin());
    memory::dims reversed(x.size());
    for (std::size_t i = 0; i < x.size(); i++)
        reversed[i] = static_cast<dim_t>(x.size() - 1 - i);
    if (!n.has_attribute("perm"))
        n.set_mark(&node_marks::names_no_order, true);
    const memory::dims permutation = n.integers("perm", reversed);
    n.set_attribute("perm", permutation);
    std::vector<bool> is_used(x.size());
    memory::dims result;
    for (const std::int64_t from : permutation) {
        const std::size_t axis = n.axis(from, x.size());
        if (from < 0 || is_used[axis])
            refuse("attribute 'perm' is not a permutation of " + std::to_string(x.size()) + " dimensions");
        is_used[axis] = true;
        result.push_back(x[axis]);
    }
    n.set_output(n.input(0).type, result);
}

/// Writes the padding of all dimensions as attribute `pads`.
void pad_shape(node_shapes &n) {
    const std::string mode = n.text("mode", "constant");
    if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
        refuse("attribute 'mode' is '" + mode + "', allowed: constant, reflect, edge, wrap");
    memory::dims result = n.dims(0);
    const std::size_t rank = result.size();
    const std::vector<std::int64_t> given = n.has_input(1) ? n.constant(1) : n.integers("pads", {});
    memory::dims axes(rank);
    for (std::size_t i = 0; i < rank; i++)
        axes[i] = static_cast<dim_t>(i);
    if (n.has_input(3))
        axes = n.constant(3);
    if (given.size() != 2 * axes.size())
        refuse("the padding has " + std::to_string(given.size()) + " values, " + std::to_string(axes.size()) +
               " dimensions need " + std::to_string(2 * axes.size()));
    memory::dims pads(2 * rank);
    std::vector<bool> is_named(rank);
    for (std::size_t i = 0; i < axes.size(); i++) {
        const std::size_t axis = n.axis(axes[i], rank);
        if (is_named[axis])
            refuse("axis " + std::to_string(axes[i]) + " is named twice");
        is_named[axis] = true;
        pads[axis] = given[i];
        pads[rank + axis] = given[axes.size() + i];
        result[axis] += pads[axis] + pads[rank + axis];
        if (result[axis] < 0)
            refuse("padding " + std::to_string(pads[axis]) + " and " + std::to_string(pads[rank + axis]) +
                   " leaves nothing of dimension " + std::to_string(axis) + " of " + to_text(n.dims(0)));
    }
    n.set_attribute("pads", pads);
    n.set_output(n.input(0).type, result);
}

/// The second output, what was kept, is all; nobody can read it while nothing is dropped.
void dropout_shape(node_shapes &n) {
    n.set_output_like(0);
    n.set_output(data_type::u8, n.dims(0), 1);
}

std::optional<known_values> known_transpose(const known_node &n) {
    return n.moved([&] { return transposed(placed_dims(n.dims(0)), n.integers("perm")); });
}

bool flatten_keeps_rows(const node_rows &o) { return o.only_depends_on_first() && o.integer("axis", 1) >= 1; }

bool unsqueeze_keeps_rows(const node_rows &o) {
    const auto axes = o.list("axes", 1);
    return axes && o.only_depends_on_first() && o.has_inner_axes("axes", 1, o.rank() + axes->size());
}

bool pad_keeps_rows(const node_rows &o) {
    const auto pads = o.list("pads", 1);
    return pads && o.only_depends_on_first() && pads->size() == 2 * o.rank() && pads->front() == 0 &&
           (*pads)[o.rank()] == 0;
}

using namespace row_words;

/// The input's elements under other dimensions.
constexpr row view_row(const char *name, input_counts inputs, row::shape_function s, row::rows_question q) {
    return row(name, inputs, make_view, s, q)
        .use(aliased_or_persistent)
        .moved(code_move::both)
        .uses_integers(use::passes_on, use::computes)
        .known_numbers(numbers::view);
}

/// Pad of the codes of 0 of a QLinearConv behind it.
std::optional<image_padding> appended_zeros(const graph &g, const node &pad, const node &conv) {
    const auto code = [&](const node &n) { return input_of(n, 2) ? constant_code(g, input_of(n, 2)) : 0; };
    const std::optional<std::int32_t> zero_point = code(conv);
    if (!zero_point || code(pad) != zero_point ||
        attribute_or<std::string>(pad, "mode", "constant") != "constant")
        return {};
    const auto pads = attribute_or<std::vector<std::int64_t>>(pad, "pads", {});
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
    constexpr std::size_t channels = 1;
    return image_padding{{pads.begin(), middle}, {middle, pads.end()}, channels};
}

constexpr row onnx_reshape_transpose_pad_rows[] = {
    row("Dropout", {1, 3}, lower_dropout, dropout_shape, rows::first_input)
        .use(aliased_or_persistent)
        .moved(code_move::both)
        .known_numbers(numbers::view),
    view_row("Flatten", 1, flatten_shape, flatten_keeps_rows)
        .moved(code_move::down)
        .sizes(flow::lost)
        .becomes(form::moved)
        .assumes("axis", std::int64_t{1}),
    view_row("Identity", 1, shape::same, rows::first_input).transposed(passing_kind::elements),
    row("Pad", {1, 4}, lower_onnx_pad, pad_shape, pad_keeps_rows)
        .in(domains::both)
        .use(aliased_or_persistent)
        .padding(appended_zeros)
        .layouts(follows)
        .moved(code_move::down)
        .dims_from(1)
        .sizes(flow::first_broadcast)
        .transposed(passing_kind::pad),
    row(layout_operator, 1, lower_layout).internal(),
    view_row("Reshape", {1, 2}, reshape_shape, rows::first_input)
        .sizes(flow::reshaped)
        .transposed(passing_kind::reshape)
        .becomes(form::moved)
        .passes_pairs()
        .assumes("allowzero", std::int64_t{0}),
    view_row("Squeeze", {1, 2}, squeeze_shape, rows::reduce)
        .sizes(flow::squeezed)
        .transposed(passing_kind::squeeze)
        .becomes(form::moved)
        .passes_pairs(),
    row("Transpose", 1, lower_onnx_transpose, transpose_shape, rows::transpose)
        .layouts(converts)
        .moved(code_move::both)
        .uses_integers(use::passes_on, use::computes)
        .known_numbers(known_transpose)
        .sizes(flow::transposed)
        .transposed(passing_kind::transpose)
        .becomes(form::moved)
        .passes_pairs(),
    view_row("Unsqueeze", {1, 2}, unsqueeze_shape, unsqueeze_keeps_rows)
        .sizes(flow::squeezed)
        .transposed(passing_kind::unsqueeze)
        .becomes(form::moved)
        .passes_pairs(),
};

} // namespace

operator_rows onnx_reshape_transpose_pad_operators() { return onnx_reshape_transpose_pad_rows; }

} // namespace octet::model
