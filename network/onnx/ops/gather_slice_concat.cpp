// Operators that take elements from where others, or the shape functions, say: Gather, Slice, Split, Concat,
// QLinearConcat, Expand, Where.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/graph/element_map.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/ops/spans.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/broadcast.hpp"
#include "network/ops/slice_gather_extreme.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

std::size_t axis_of(const lowering &l, std::size_t rank) { return axis_among(l.integer("axis", 0), rank); }

template <typename T>
void choose_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++) {
        const std::size_t chosen =
            static_cast<const std::uint8_t *>(operands[0])[i * strides[0]] != 0 ? 1 : 2;
        static_cast<T *>(y)[i] = static_cast<const T *>(operands[chosen])[i * strides[chosen]];
    }
}

/// ONNX Runtime puts zeros where an operand is not chosen, and takes the first operand where it is no zero,
/// otherwise the second; but the second first where it is one number for a span. So a -0 of that which comes
/// first becomes +0.
template <bool second_is_first>
void choose_float_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    const auto *is_first = static_cast<const std::uint8_t *>(operands[0]);
    const auto *a = static_cast<const float *>(operands[1]), *b = static_cast<const float *>(operands[2]);
    for (dim_t i = 0; i < count; i++) {
        const bool takes_first = is_first[i * strides[0]] != 0;
        const float value = takes_first ? a[i * strides[1]] : b[i * strides[2]];
        static_cast<float *>(y)[i] = value == 0.f && takes_first != second_is_first ? 0.f : value;
    }
}

/// Whether one number of what is chosen of the second operand serves a span.
bool has_one_second(const memory::dims &choice, const memory::dims &a, const memory::dims &b) {
    return spans(broadcast(choice, a), broadcast(choice, b)).shares_b();
}

/// Rows of one element may share one in a batch.
bool where_keeps_rows(const node_rows &o) {
    const auto has_one = [&](dim_t batch) {
        return has_one_second(o.dims(0, batch), o.dims(1, batch), o.dims(2, batch));
    };
    return rows::broadcast(o) && (o.result_count() != 1 || has_one(1) == has_one(2));
}

walked_operand broadcast_operand(const lowering &l, std::size_t i) {
    return {l.input_buffer(i), broadcast_strides(l.input(i).dims, l.output().dims)};
}

std::unique_ptr<step> lower_gather(const lowering &l) {
    return make_gather(l, axis_of(l, any_input(l, 0).dims.size()));
}

std::unique_ptr<step> lower_slice(const lowering &l) {
    const slice_places places = l.marks().slice.value_or(slice_places());
    return make_slice(l, places.begin, places.stride, l.output().dims);
}

std::unique_ptr<step> lower_split(const lowering &l) {
    return make_split(l, 0, axis_of(l, any_input(l, 0).dims.size()), false);
}

std::unique_ptr<step> lower_concat(const lowering &l) {
    const tensor &first = any_input(l, 0), &y = l.output({first.type});
    const std::size_t axis = axis_of(l, y.dims.size());
    arguments args{{OCTET_ARG_DST, l.output_buffer()}};
    std::vector<memory::desc> srcs;
    for (std::size_t i = 0; i < l.input_count(); i++) {
        if (element_count(l.input(i, {first.type}).dims) == 0)
            continue;
        const int arg = OCTET_ARG_MULTIPLE_SRC + static_cast<int>(srcs.size());
        args[arg] = l.input_buffer(i);
        srcs.push_back(args[arg].get_desc());
    }
    return one_step(concat::primitive_desc(l.output_buffer().get_desc(), static_cast<int>(axis), srcs,
                                           l.get_engine(), copy_attr(first.type)),
                    args);
}

/// Inputs: scale and zero point of y, then each x with its scale and zero point.
std::unique_ptr<step> lower_qlinear_concat(const lowering &l) {
    const tensor &y = l.output({data_type::u8, data_type::s8});
    if (l.input_count() < 5 || (l.input_count() - 2) % 3 != 0)
        refuse("has " + std::to_string(l.input_count()) + " inputs, allowed are 2 and 3 per tensor");
    const auto rank = static_cast<std::int64_t>(y.dims.size());
    const std::int64_t given = l.integer("axis"), axis = given < 0 ? given + rank : given;
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    set_parameters(attr, OCTET_ARG_DST, per_tensor_parameters(l, 0, 1));
    arguments args{{OCTET_ARG_DST, l.output_buffer()}};
    std::vector<memory::desc> srcs;
    for (std::size_t i = 2; i < l.input_count(); i += 3) {
        if (element_count(l.input(i, {y.type}).dims) == 0)
            continue;
        const int arg = OCTET_ARG_MULTIPLE_SRC + static_cast<int>(srcs.size());
        set_parameters(attr, arg, per_tensor_parameters(l, i + 1, i + 2));
        args[arg] = l.input_buffer(i);
        srcs.push_back(args[arg].get_desc());
    }
    return one_step(concat::primitive_desc(l.output_buffer().get_desc(), static_cast<int>(axis), srcs,
                                           l.get_engine(), attr),
                    std::move(args));
}

std::unique_ptr<step> lower_where(const lowering &l) {
    l.input(0, {data_type::u8});
    const tensor &x = any_input(l, 1);
    l.input(2, {x.type});
    l.output({x.type});
    const std::size_t size = memory::data_type_size(x.type);
    const bool second_is_first = has_one_second(l.input(0).dims, x.dims, l.input(2).dims);
    const row_function f = x.type == data_type::f32
                               ? (second_is_first ? choose_float_row<true> : choose_float_row<false>)
                           : size == 1 ? choose_row<std::uint8_t>
                           : size == 2 ? choose_row<std::uint16_t>
                                       : choose_row<std::uint32_t>;
    return broadcast_step(l, {broadcast_operand(l, 0), broadcast_operand(l, 1), broadcast_operand(l, 2)}, f);
}

// ---- Shapes, and whether rows of a batch stay apart

void joined_shape(node_shapes &n, std::size_t first, std::size_t step) {
    memory::dims result = n.dims_of_rank(first, 1);
    if (!n.has_attribute("axis"))
        refuse("attribute 'axis' is missing");
    const std::size_t axis = n.axis(n.integer("axis", 0), result.size());
    for (std::size_t i = first + step; i < n.input_count(); i += step) {
        memory::dims d = n.dims_of_rank(i, 1);
        const dim_t size = d.size() == result.size() ? d[axis] : 0;
        if (d.size() == result.size())
            d[axis] = result[axis];
        if (d != result || n.input(i).type != n.input(first).type)
            refuse("input " + std::to_string(i) + " (" + to_text(n.dims(i)) +
                   ") differs from the first in more than axis " + std::to_string(axis));
        result[axis] += size;
    }
    n.set_output(n.input(first).type, result);
}

void concat_shape(node_shapes &n) { joined_shape(n, 0, 1); }

void qlinear_concat_shape(node_shapes &n) { joined_shape(n, 2, 3); }

void need_allowed_rank(const memory::dims &result) {
    if (result.size() > max_ndims)
        refuse("the output has " + std::to_string(result.size()) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
}

void gather_shape(node_shapes &n) {
    const memory::dims x = n.dims_of_rank(0, 1), indices = n.dims(1);
    if (n.input(1).type != data_type::s32)
        refuse("input 1 ('" + n.input(1).name + "') is " + type_text(n.input(1)) + ", allowed are integers");
    const std::size_t axis = n.axis(n.integer("axis", 0), x.size());
    memory::dims result(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
    result.insert(result.end(), indices.begin(), indices.end());
    result.insert(result.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
    need_allowed_rank(result);
    n.set_output(n.input(0).type, result);
}

/// Writes `begin` and `stride`: the first element of each dimension, and the way to the next.
void slice_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    const std::vector<std::int64_t> starts = n.has_input(1) ? n.constant(1) : n.places("starts"),
                                    ends = n.has_input(2) ? n.constant(2) : n.places("ends");
    std::vector<std::int64_t> axes = n.has_input(3) ? n.constant(3) : n.integers("axes", {});
    std::vector<std::int64_t> steps = n.has_input(4) ? n.constant(4) : std::vector<std::int64_t>();
    if (axes.empty())
        for (std::size_t i = 0; i < starts.size(); i++)
            axes.push_back(static_cast<std::int64_t>(i));
    if (steps.empty())
        steps.assign(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
        refuse("there are " + std::to_string(starts.size()) + " starts, " + std::to_string(ends.size()) +
               " ends, " + std::to_string(axes.size()) + " axes and " + std::to_string(steps.size()) +
               " steps, allowed are as many of each");
    memory::dims result = x, begin(x.size(), 0), stride(x.size(), 1);
    std::vector<bool> is_cut(x.size());
    for (std::size_t i = 0; i < starts.size(); i++) {
        const std::size_t axis = n.axis(axes[i], x.size());
        if (is_cut[axis])
            refuse("axis " + std::to_string(axes[i]) + " is named twice");
        is_cut[axis] = true;
        const std::int64_t size = x[axis], step = steps[i];
        if (step == 0)
            refuse("a step is 0");
        const auto from_start = [&](std::int64_t place) { return place < 0 ? place + size : place; };
        const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
        const std::int64_t first = std::clamp<std::int64_t>(from_start(starts[i]),
                                                            std::min<std::int64_t>(0, highest), highest),
                           last = std::clamp<std::int64_t>(from_start(ends[i]), lowest, highest);
        result[axis] = std::max<std::int64_t>(0, step > 0 ? (last - first + step - 1) / step
                                                          : (first - last - step - 1) / -step);
        begin[axis] = result[axis] == 0 ? 0 : first;
        stride[axis] = step;
    }
    n.set_mark(&node_marks::slice, slice_places{begin, stride});
    n.set_output(n.input(0).type, result);
}

void split_shape(node_shapes &n) {
    const memory::dims x = n.dims_of_rank(0, 1);
    const std::size_t axis = n.axis(n.integer("axis", 0), x.size());
    memory::dims sizes = n.has_input(1) ? n.constant(1) : n.integers("split", {});
    const auto count = static_cast<dim_t>(n.output_count());
    if (sizes.empty()) {
        const dim_t size = (x[axis] + count - 1) / count; // the last may be smaller
        for (dim_t left = x[axis], i = 0; i < count; i++, left -= size)
            sizes.push_back(std::clamp<dim_t>(left, 0, size));
    }
    dim_t sum = 0;
    for (const dim_t s : sizes)
        sum += s < 0 ? max_size : s;
    if (static_cast<dim_t>(sizes.size()) != count || sum != x[axis])
        refuse("the parts " + to_text(sizes) + " are not " + std::to_string(count) + " of " +
               std::to_string(x[axis]) + " elements");
    for (std::size_t i = 0; i < sizes.size(); i++) {
        memory::dims part = x;
        part[axis] = sizes[i];
        n.set_output(n.input(0).type, part, i);
    }
}

void expand_shape(node_shapes &n) {
    const memory::dims shape = n.constant(1);
    need_allowed_rank(shape);
    for (const dim_t d : shape)
        if (d < 0)
            refuse("the shape " + to_text(shape) + " is none");
    n.set_output(n.input(0).type, broadcast(n.dims(0), shape));
}

std::optional<known_values> known_slice(const known_node &n) {
    const slice_places places = n.marks().slice.value_or(slice_places());
    return n.moved(
        [&] { return sliced(placed_dims(n.dims(0)), places.begin, places.stride, n.output_dims()); });
}

std::optional<known_values> known_expand(const known_node &n) {
    return n.moved([&] { return expanded(n.dims(0), n.output_dims()); });
}

std::optional<known_values> known_concat(const known_node &n) {
    const std::size_t a = n.axis(n.output_dims().size());
    return n.filled([&](std::size_t, memory::dims at) {
        std::size_t k = 0;
        while (at[a] >= n.dims(k)[a])
            at[a] -= n.dims(k++)[a];
        return n.input(k)[flat_index(n.dims(k), at)];
    });
}

/// Nothing if an index is outside: the node itself says so when it is lowered.
std::optional<known_values> known_gather(const known_node &n) {
    const memory::dims &x = n.dims(0);
    const std::size_t a = n.axis(x.size());
    const std::int64_t size = x[a];
    const known_values &given = n.input(1);
    if (std::any_of(given.begin(), given.end(), [&](double i) {
            return i < static_cast<double>(-size) || i >= static_cast<double>(size);
        }))
        return {};
    const auto axis = x.begin() + static_cast<std::ptrdiff_t>(a);
    const std::int64_t outer = element_count({x.begin(), axis}), inner = element_count({axis + 1, x.end()});
    known_values result;
    for (std::int64_t o = 0; o < outer; o++)
        for (const double index : given) {
            const auto i = static_cast<std::int64_t>(index);
            const auto row = n.input(0).begin() + (o * size + (i < 0 ? i + size : i)) * inner;
            result.insert(result.end(), row, row + inner);
        }
    return result;
}

bool slice_keeps_rows(const node_rows &o) {
    return o.only_depends_on_first() && o.has_inner_axes("axes", 3, o.rank());
}

using namespace row_words;

constexpr row onnx_gather_slice_concat_rows[] = {
    row("Concat", {1, any}, lower_concat, concat_shape, rows::concatenation)
        .becomes(form::concatenation, "QLinearConcat")
        .uses_integers(use::passes_on, use::passes_on)
        .known_numbers(known_concat)
        .sizes(flow::concatenated)
        .transposed(passing_kind::along_axis)
        .blocked(block_use::join),
    row("Expand", 2, make_expand, expand_shape, rows::expand)
        .use(aliased_or_persistent)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::computes)
        .dims_from(1)
        .known_numbers(known_expand)
        .sizes(flow::expanded)
        .becomes(form::moved),
    row("Gather", 2, lower_gather, gather_shape, rows::gather)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::computes)
        .known_numbers(known_gather)
        .sizes(flow::gathered)
        .transposed(passing_kind::gather)
        .becomes(form::moved)
        .assumes("axis", std::int64_t{0}),
    row("QLinearConcat", {5, any}, lower_qlinear_concat, qlinear_concat_shape, rows::concatenation)
        .in(domains::microsoft)
        .scales(2, any, 0)
        .layouts(follows)
        .sizes(flow::concatenated)
        .transposed(passing_kind::along_axis),
    row("Slice", {1, 5}, lower_slice, slice_shape, slice_keeps_rows)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::compares)
        .dims_from(1)
        .known_numbers(known_slice)
        .sizes(flow::first_broadcast)
        .transposed(passing_kind::slice)
        .becomes(form::moved)
        .passes_pairs(),
    row("Split", {1, 2}, lower_split, split_shape, rows::inner_axis_or_first)
        .sizes(flow::first_broadcast)
        .transposed(passing_kind::along_axis, passed_inputs::first)
        .becomes(form::parts),
    row("Where", 3, lower_where, shape::where, where_keeps_rows)
        .elements_of(1)
        .known_numbers(numbers::where)
        .transposed(passing_kind::broadcast)
        .becomes(form::choice),
};

} // namespace

operator_rows onnx_gather_slice_concat_operators() { return onnx_gather_slice_concat_rows; }

} // namespace octet::model
