// TFLite's operators that move codes: RESHAPE and its kin, TRANSPOSE, PAD, CONCATENATION, PACK. They compute
// nothing, but for LiteRT's CONCATENATION of u8 codes, which brings every input to the output's scale.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/ops/slice_gather_extreme.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

/// The bytes of one padded element: PADV2's constant, else the code of 0.
std::vector<std::uint8_t> pad_element(const lowering &l, const tensor &dst) {
    const std::vector<std::uint8_t> given = given_padding(l, dst);
    if (given.empty())
        return code_of_zero(dst);
    need_equal_quantization(l.input(2, {dst.type}), dst, "the pad value and the output");
    return given;
}

/// Input i under the dimensions that it takes in the output.
using part_dims = memory::dims (*)(const memory::dims &input, std::size_t axis);

/// Gives the attributes of the primitive that copies input i, which say how its codes change.
using part_attr = primitive_attr (*)(const lowering &l, std::size_t i);

primitive_attr as_they_are(const lowering &l, std::size_t i) {
    need_equal_quantization(l.input(i), l.result(), "input " + std::to_string(i) + " and the output");
    return copy_attr(l.input(i).type);
}

/// Codes of the input at the scale of the output: rha(q·s + k) + z_y with s = f32(s_x·f32(1 / s_y)) and k =
/// f32(−z_x·s); contracted, q·s + k is one operation. Nothing is computed if scale and zero point are equal.
primitive_attr at_the_scale_of_the_output(const lowering &l, std::size_t i) {
    const linear_codes x = per_tensor(l.input(i), "input " + std::to_string(i)),
                       y = per_tensor(l.result(), "the output");
    const float scale = x.scale * (1.f / y.scale), shift = static_cast<float>(-x.zero_point) * scale;
    if (x.scale == y.scale && x.zero_point == y.zero_point)
        return copy_attr(l.input(i).type);
    const bool is_contracted = contracts(elementwise_rule(l));
    return table_attr(l.input(i).type, [&](std::int32_t code) {
        const float nearest = std::round(product_plus(static_cast<float>(code), scale, shift, is_contracted));
        return static_cast<std::int32_t>(std::clamp(nearest, -1024.f, 1024.f)) + y.zero_point;
    });
}

/// Writes all inputs one behind the other along an axis of the output.
std::unique_ptr<step> join(const lowering &l, part_dims part_of, part_attr attr_of = as_they_are) {
    const tensor &first = any_input(l, 0), &dst = l.output({first.type});
    const std::size_t axis = axis_among(l.integer("axis"), dst.dims.size());
    auto result = std::make_unique<primitive_step>();
    memory::dims begin(dst.dims.size(), 0);
    for (std::size_t i = 0; i < l.input_count(); i++) {
        const tensor &src = any_input(l, i);
        const primitive_attr attr = attr_of(l, i);
        const memory::dims part = part_of(src.dims, axis);
        memory::dims expected = dst.dims;
        if (part.size() == expected.size())
            expected[axis] = part[axis];
        if (part != expected || begin[axis] + expected[axis] > dst.dims[axis])
            refuse("input " + std::to_string(i) + " (" + to_text(src.dims) + ") does not fit into output " +
                   to_text(dst.dims) + " at " + std::to_string(begin[axis]));
        const buffer from = l.input_buffer(i, memory::desc(part, src.type, memory::dims())),
                     to = l.output_buffer(dense_desc(dst).submemory_desc(part, begin));
        result->add(reorder_desc(from, to, attr), {{OCTET_ARG_FROM, from}, {OCTET_ARG_TO, to}});
        begin[axis] += part[axis];
    }
    if (begin[axis] != dst.dims[axis])
        refuse("the inputs fill " + std::to_string(begin[axis]) + " of the output's " +
               std::to_string(dst.dims[axis]) + " along axis " + std::to_string(axis));
    return result;
}

memory::dims own_dims(const memory::dims &input, std::size_t) { return input; }

void need_no_activation(const lowering &l) {
    if (l.text("activation", "NONE") != "NONE")
        refuse_as_unimplemented("a fused activation is not supported");
}

std::unique_ptr<step> lower_transpose(const lowering &l) { return make_transpose(l, l.constant_integers(1)); }

std::unique_ptr<step> lower_pad(const lowering &l) {
    const tensor &src = any_input(l, 0), &dst = l.output({src.type});
    need_equal_quantization(src, dst, "input and output");
    const paddings p = read_paddings(l, src.dims.size());
    return make_padding(l, p.before, p.after, pad_element(l, dst));
}

std::unique_ptr<step> lower_concatenation(const lowering &l) {
    need_no_activation(l);
    return join(l, own_dims);
}

} // namespace

std::unique_ptr<step> lower_litert_concatenation(const lowering &l) {
    need_no_activation(l);
    return join(l, own_dims, at_the_scale_of_the_output);
}

namespace {

/// PACK: inputs lie one behind the other along a dimension that they do not have themselves.
std::unique_ptr<step> lower_pack(const lowering &l) {
    return join(l, [](const memory::dims &input, std::size_t axis) {
        memory::dims part = input;
        part.insert(part.begin() + static_cast<std::ptrdiff_t>(std::min(axis, part.size())), 1);
        return part;
    });
}

/// SHAPE: its result is known before anything is lowered, so a node that is left contradicts its file.
std::unique_ptr<step> lower_shape(const lowering &l) {
    l.output({data_type::s32});
    refuse("the output (" + to_text(l.output().dims) + ") is not the " +
           std::to_string(l.input(0).dims.size()) + " dimensions of " + to_text(l.input(0).dims));
}

// ---- Shapes, and whether rows of a batch stay apart

void pack_shape(node_shapes &n) {
    memory::dims y = n.dims(0);
    const std::size_t axis = n.axis(n.integer("axis", 0), y.size() + 1);
    y.insert(y.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<dim_t>(n.input_count()));
    n.set_output_dims(y);
}

void list_of_sizes_shape(node_shapes &n) { n.set_output_dims({static_cast<dim_t>(n.dims(0).size())}); }

void concatenation_shape(node_shapes &n) {
    memory::dims y = n.dims_of_rank(0, 1);
    const std::size_t axis = n.axis(n.integer("axis", 0), y.size());
    for (std::size_t i = 1; i < n.input_count(); i++)
        y[axis] += n.dims_of_rank(i, y.size())[axis];
    n.set_output_dims(y);
}

void expand_dims_shape(node_shapes &n) {
    memory::dims y = n.dims(0);
    const std::vector<std::int64_t> axes = n.constant(1);
    if (axes.size() != 1)
        refuse("the axis has " + std::to_string(axes.size()) + " values, allowed is 1");
    const std::int64_t given = axes[0] < 0 ? axes[0] + static_cast<std::int64_t>(y.size()) + 1 : axes[0];
    y.insert(y.begin() + static_cast<std::ptrdiff_t>(n.axis(given, y.size(), 1)), 1);
    n.set_output_dims(y);
}

void tflite_squeeze_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    const std::vector<std::int64_t> axes = n.integers("squeeze_dims", {});
    const std::vector<bool> is_named = tflite_shape::named_axes(n, axes, x.size());
    memory::dims y;
    for (std::size_t i = 0; i < x.size(); i++)
        if (x[i] != 1 || !(axes.empty() || is_named[i]))
            y.push_back(x[i]);
    n.set_output_dims(y);
}

/// RESHAPE: the new shape is a constant or an option; -1 stands for the rest.
void tflite_reshape_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    memory::dims y = n.has_input(1) ? n.constant(1) : n.integers("new_shape", {});
    std::int64_t known = 1;
    for (const dim_t d : y)
        if (d != -1 && (d < 0 || (d > 0 && known > max_size / d)))
            refuse("the shape " + to_text(y) + " is none");
        else if (d != -1)
            known *= d;
    const auto unknown = std::find(y.begin(), y.end(), dim_t{-1});
    if (unknown != y.end())
        *unknown = known > 0 ? element_count(x) / known : 0;
    if (element_count(y) != element_count(x))
        refuse("input " + to_text(x) + " cannot take the shape " + to_text(y));
    n.set_output_dims(y);
}

void tflite_transpose_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    const std::vector<std::int64_t> permutation = n.constant(1);
    if (permutation.size() != x.size())
        refuse("the permutation has " + std::to_string(permutation.size()) + " values, allowed are " +
               std::to_string(x.size()));
    memory::dims y;
    for (const std::int64_t from : permutation)
        y.push_back(x[n.axis(from, x.size())]);
    n.set_output_dims(y);
}

bool tflite_squeeze_keeps_rows(const node_rows &o) {
    return o.only_depends_on_first() && o.has_inner_axes("squeeze_dims", 1, o.rank());
}

bool expand_dims_keeps_rows(const node_rows &o) {
    return o.only_depends_on_first() && o.has_inner_axes("axis", 1, o.rank() + 1);
}

bool pack_keeps_rows(const node_rows &o) {
    for (std::size_t i = 0; i < o.count(); i++)
        if (!o.depends(i) || o.rank(i) != o.rank())
            return false;
    return o.is_inner(o.integer("axis", 0), o.rank() + 1);
}

/// PACK and CONCATENATION of known numbers: one list behind the other.
std::optional<known_values> known_parts(const known_node &n) {
    known_values all;
    for (std::size_t i = 0; i < n.input_count(); i++)
        all.insert(all.end(), n.input(i).begin(), n.input(i).end());
    return all;
}

/// TFLite pads with the code of zero, or PADV2 with a constant. What is malformed is left to the node's own
/// lowering.
std::optional<image_padding> appended_zeros(const graph &g, const node &pad, const node &) {
    const auto tensor_of = [&](std::size_t k) -> const tensor & { return tensor_at(g, input_of(pad, k)); };
    const auto has = [&](std::size_t k) { return input_of(pad, k).has_value(); };
    const quantization &x = tensor_of(0).quant, &y = tensor_at(g, output_of(pad)).quant;
    if (!has(1) || !tensor_of(1).is_constant || x.zero_points.size() != 1 || x.zero_points != y.zero_points ||
        x.scales != y.scales || (has(2) && constant_code(g, input_of(pad, 2)) != x.zero_points[0]))
        return {};
    const std::vector<std::int32_t> values = values_of<std::int32_t>(tensor_of(1));
    image_padding p{{}, {}, values.size() / 2 - 1}; // the last dimension
    for (std::size_t i = 0; i < values.size(); i++)
        (i % 2 == 0 ? p.before : p.after).push_back(values[i]);
    return p;
}

using namespace row_words;

constexpr row tflite_reshape_transpose_pad_rows[] = {
    row("CONCATENATION", {1, any}, lower_concatenation, concatenation_shape, rows::concatenation)
        .known_numbers(known_parts),
    row("EXPAND_DIMS", 2, make_view, expand_dims_shape, expand_dims_keeps_rows).use(aliased_or_persistent),
    row("PACK", {1, any}, lower_pack, pack_shape, pack_keeps_rows).known_numbers(known_parts),
    row("PAD", 2, lower_pad, tflite_shape::pad, rows::tflite_pad)
        .use(aliased_or_persistent)
        .padding(appended_zeros),
    row("PADV2", 3, lower_pad, tflite_shape::pad, rows::tflite_pad)
        .use(aliased_or_persistent)
        .padding(appended_zeros),
    row("RESHAPE", {1, 2}, make_view, tflite_reshape_shape, rows::first_input).use(aliased_or_persistent),
    row("SHAPE", 1, lower_shape, list_of_sizes_shape, rows::never).known_from_dims(numbers::shape),
    row("SQUEEZE", 1, make_view, tflite_squeeze_shape, tflite_squeeze_keeps_rows).use(aliased_or_persistent),
    row("TRANSPOSE", 2, lower_transpose, tflite_transpose_shape, rows::transpose),
};

} // namespace

operator_rows tflite_reshape_transpose_pad_operators() { return tflite_reshape_transpose_pad_rows; }

} // namespace octet::model
