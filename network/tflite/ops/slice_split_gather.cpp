// TFLite's operators that take parts of tensors: SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, UNPACK, GATHER, and
// that say where they are: ARG_MAX, ARG_MIN.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/strided_slice.hpp"
#include "network/ops/slice_gather_extreme.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

std::size_t constant_axis(const lowering &l, std::size_t input, std::size_t rank) {
    const std::vector<std::int64_t> axes = l.constant_integers(input);
    if (axes.size() != 1)
        refuse("the axis has " + std::to_string(axes.size()) + " values, allowed is 1");
    return axis_among(axes[0], rank);
}

/// A size of -1 takes what is left.
std::unique_ptr<step> lower_tflite_slice(const lowering &l) {
    const memory::dims &x = any_input(l, 0).dims;
    const std::vector<std::int64_t> begin = l.constant_integers(1);
    std::vector<std::int64_t> sizes = l.constant_integers(2);
    for (std::size_t i = 0; i < sizes.size() && i < begin.size() && i < x.size(); i++)
        if (sizes[i] == -1)
            sizes[i] = x[i] - begin[i];
    need_output_dims(l, sizes);
    return make_slice(l, begin, memory::dims(x.size(), 1), sizes);
}

std::unique_ptr<step> lower_strided_slice(const lowering &l) {
    if (l.integer("offset", 0) != 0)
        refuse_as_unimplemented("ends relative to begins ('offset') are not supported");
    const auto mask = [&](const char *name) { return l.integer(name, 0); };
    const strided_slice s = strided_slice_of(any_input(l, 0).dims, l.constant_integers(1),
                                             l.constant_integers(2), l.constant_integers(3),
                                             {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"),
                                              mask("new_axis_mask"), mask("shrink_axis_mask")});
    need_output_dims(l, s.result);
    return make_slice(l, s.begin, s.stride, s.sizes);
}

template <std::size_t value, std::size_t axis> std::unique_ptr<step> split(const lowering &l) {
    return make_split(l, value, constant_axis(l, axis, any_input(l, value).dims.size()), false);
}

std::unique_ptr<step> lower_unpack(const lowering &l) {
    return make_split(l, 0, axis_among(l.integer("axis"), any_input(l, 0).dims.size()), true);
}

std::unique_ptr<step> lower_tflite_gather(const lowering &l) {
    if (l.integer("batch_dims", 0) != 0)
        refuse_as_unimplemented("attribute 'batch_dims' is " + std::to_string(l.integer("batch_dims")) +
                                ", supported is 0");
    return make_gather(l, axis_among(l.integer("axis"), any_input(l, 0).dims.size()));
}

template <bool is_smallest> std::unique_ptr<step> arg_extreme_of(const lowering &l) {
    return make_arg_extreme(l, constant_axis(l, 1, l.input(0).dims.size()), {is_smallest, false});
}

// ---- Shapes, and whether rows of a batch stay apart

/// ARG_MAX, ARG_MIN: the output lacks the axis that input 1 names.
void arg_extreme_shape(node_shapes &n) {
    memory::dims y = n.dims_of_rank(0, 1);
    const std::vector<std::int64_t> axes = n.constant(1);
    const std::size_t axis = n.axis(axes.empty() ? 0 : axes[0], y.size());
    y.erase(y.begin() + static_cast<std::ptrdiff_t>(axis));
    n.set_output_dims(y);
}

/// BROADCAST_TO: input 0 broadcasts to the shape in input 1.
void broadcast_to_shape(node_shapes &n) { n.set_output_dims(broadcast(n.dims(0), n.constant(1))); }

void tflite_gather_shape(node_shapes &n) {
    const memory::dims x = n.dims_of_rank(0, 1), indices = n.dims(1);
    const std::size_t axis = n.axis(n.integer("axis", 0), x.size());
    memory::dims y(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
    y.insert(y.end(), indices.begin(), indices.end());
    y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
    n.set_output_dims(y);
}

void unpack_shape(node_shapes &n) {
    memory::dims y = n.dims_of_rank(0, 1);
    const std::size_t axis = n.axis(n.integer("axis", 0), y.size());
    if (y[axis] != static_cast<dim_t>(n.output_count()))
        refuse("dimension " + std::to_string(axis) + " of " + to_text(y) + " has not " +
               std::to_string(n.output_count()) + " elements, one for each output");
    y.erase(y.begin() + static_cast<std::ptrdiff_t>(axis));
    for (std::size_t i = 0; i < n.output_count(); i++)
        n.set_output_dims(y, i);
}

void tflite_slice_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    const std::vector<std::int64_t> begin = n.constant(1), size = n.constant(2);
    if (begin.size() != x.size() || size.size() != x.size())
        refuse("there are " + std::to_string(begin.size()) + " begins and " + std::to_string(size.size()) +
               " sizes, allowed are " + std::to_string(x.size()));
    memory::dims y;
    for (std::size_t i = 0; i < x.size(); i++)
        y.push_back(size[i] == -1 ? x[i] - begin[i] : size[i]);
    n.set_output_dims(y);
}

void strided_slice_shape(node_shapes &n) {
    const auto mask = [&](const char *name) { return n.integer(name, 0); };
    n.set_output_dims(strided_slice_of(n.dims(0), n.constant(1), n.constant(2), n.constant(3),
                                       {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"),
                                        mask("new_axis_mask"), mask("shrink_axis_mask")})
                          .result);
}

/// SPLIT cuts input 1 into equal parts along the axis that input 0 names.
void tflite_split_shape(node_shapes &n) {
    memory::dims y = n.dims_of_rank(1, 1);
    const std::vector<std::int64_t> axes = n.constant(0);
    const std::size_t axis = n.axis(axes.empty() ? 0 : axes[0], y.size());
    const auto count = static_cast<dim_t>(n.output_count());
    if (y[axis] % count != 0)
        refuse("dimension " + std::to_string(axis) + " of " + to_text(y) + " has no " +
               std::to_string(count) + " equal parts");
    y[axis] /= count;
    for (std::size_t i = 0; i < n.output_count(); i++)
        n.set_output_dims(y, i);
}

/// SPLIT_V cuts its input into parts whose sizes are in input 1; -1 stands for the rest.
void split_v_shape(node_shapes &n) {
    const memory::dims x = n.dims_of_rank(0, 1);
    const std::vector<std::int64_t> sizes = n.constant(1), axes = n.constant(2);
    const std::size_t axis = n.axis(axes.empty() ? 0 : axes[0], x.size());
    if (sizes.size() != n.output_count())
        refuse("there are " + std::to_string(sizes.size()) + " sizes, allowed are " +
               std::to_string(n.output_count()) + ", one for each output");
    dim_t known = 0;
    for (const std::int64_t s : sizes)
        known += s == -1 ? 0 : s;
    for (std::size_t i = 0; i < sizes.size(); i++) {
        memory::dims y = x;
        y[axis] = sizes[i] == -1 ? x[axis] - known : sizes[i];
        n.set_output_dims(y, i);
    }
}

bool adds_dimensions(const graph &g, const node &n) {
    if (!input_of(n, 0) || n.outputs.size() != 1)
        return false;
    const auto rank = [&](tensor_id t) { return tensor_at(g, t).dims.size(); };
    return rank(input_of(n, 0)) < rank(output_of(n));
}

bool has_negative_first_stride(const graph &g, const node &n) {
    const std::vector<std::int64_t> strides = known_integers_of(g, n, 3);
    return !strides.empty() && strides[0] < 0;
}

bool tflite_slice_keeps_rows(const node_rows &o) {
    const auto begin = o.list("begin", 1), size = o.list("size", 2);
    return begin && size && o.only_depends_on_first() && !begin->empty() && begin->front() == 0 &&
           size->size() == begin->size() && size->front() == -1;
}

bool strided_slice_keeps_rows(const node_rows &o) {
    const auto strides = o.list("strides", 3);
    const std::int64_t all = o.integer("begin_mask", 0) & o.integer("end_mask", 0),
                       others = o.integer("ellipsis_mask", 0) | o.integer("new_axis_mask", 0) |
                                o.integer("shrink_axis_mask", 0);
    return strides && o.only_depends_on_first() && !strides->empty() && strides->front() == 1 &&
           (all & 1) != 0 && (others & 1) == 0;
}

/// SPLIT has the axis as input 0 and the tensor as input 1.
bool split_keeps_rows(const node_rows &o) {
    return !o.depends(0) && o.depends(1) && o.has_inner_axes("axis", 0, o.rank(1));
}

bool split_v_keeps_rows(const node_rows &o) {
    return o.only_depends_on_first() && o.has_inner_axes("axis", 2, o.rank());
}

/// STRIDED_SLICE of a list of known numbers.
std::optional<known_values> known_strided_slice(const known_node &n) {
    if (n.input_count() < 4)
        return {};
    const auto integers = [&](std::size_t i) {
        return std::vector<std::int64_t>(n.input(i).begin(), n.input(i).end());
    };
    const auto mask = [&](const char *name) { return n.integer(name, 0); };
    const strided_slice s =
        strided_slice_of({static_cast<dim_t>(n.input(0).size())}, integers(1), integers(2), integers(3),
                         {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
                          mask("shrink_axis_mask")});
    known_values result;
    for (dim_t i = 0; i < s.sizes[0]; i++)
        result.push_back(n.input(0)[static_cast<std::size_t>(s.begin[0] + i * s.stride[0])]);
    return result;
}

using namespace row_words;

constexpr row tflite_slice_split_gather_rows[] = {
    row("ARG_MAX", 2, arg_extreme_of<false>, arg_extreme_shape, rows::reduce),
    row("ARG_MIN", 2, arg_extreme_of<true>, arg_extreme_shape, rows::reduce),
    row("BROADCAST_TO", 2, make_expand, broadcast_to_shape, rows::expand)
        .couples_batch(adds_dimensions)
        .use(aliased_or_persistent),
    row("GATHER", 2, lower_tflite_gather, tflite_gather_shape, rows::gather),
    row("SLICE", 3, lower_tflite_slice, tflite_slice_shape, tflite_slice_keeps_rows),
    row("SPLIT", 2, split<1, 0>, tflite_split_shape, split_keeps_rows),
    row("SPLIT_V", 3, split<0, 2>, split_v_shape, split_v_keeps_rows),
    row("STRIDED_SLICE", 4, lower_strided_slice, strided_slice_shape, strided_slice_keeps_rows)
        .couples_batch(has_negative_first_stride)
        .known_numbers(known_strided_slice),
    row("UNPACK", 1, lower_unpack, unpack_shape, rows::inner_axis_or_first),
};

} // namespace

operator_rows tflite_slice_split_gather_operators() { return tflite_slice_split_gather_rows; }

} // namespace octet::model
