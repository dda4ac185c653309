// Shapes of what takes some elements of a tensor, or the same several times. Where an operator is described by inputs
// that exported networks compute, the shape function writes what they come to into attributes of its own, in full rank:
// lowering need not read them again.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/onnx.hpp"

namespace octet::model::shape {
namespace {

using dims = memory::dims;

void need_rank(const dims &result) {
    if (result.size() > max_ndims)
        refuse("the output has " + std::to_string(result.size()) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
}

} // namespace

void gather(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 1), indices = n.dims(1);
    if (n.input(1).type != data_type::s32)
        refuse("input 1 ('" + n.input(1).name + "') is " + type_text(n.input(1)) + ", allowed are integers");
    const std::size_t axis = n.axis(n.integer("axis", 0), x.size());
    dims result(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
    result.insert(result.end(), indices.begin(), indices.end());
    result.insert(result.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
    need_rank(result);
    n.set_output(n.input(0).type, result);
}

/// Writes `begin` and `stride`: the first element of each dimension, and the way to the next.
void slice(node_shapes &n) {
    const dims x = n.dims(0);
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
    dims result = x, begin(x.size(), 0), stride(x.size(), 1);
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
    n.set_attribute("begin", begin);
    n.set_attribute("stride", stride);
    n.set_output(n.input(0).type, result);
}

/// Writes `sizes`, one per output.
void split(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 1);
    const std::size_t axis = n.axis(n.integer("axis", 0), x.size());
    dims sizes = n.has_input(1) ? n.constant(1) : n.integers("split", {});
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
    n.set_attribute("sizes", sizes);
    for (std::size_t i = 0; i < sizes.size(); i++) {
        dims part = x;
        part[axis] = sizes[i];
        n.set_output(n.input(0).type, part, i);
    }
}

void expand(node_shapes &n) {
    const dims shape = n.constant(1);
    need_rank(shape);
    for (const dim_t d : shape)
        if (d < 0)
            refuse("the shape " + to_text(shape) + " is none");
    n.set_output(n.input(0).type, broadcast(n.dims(0), shape));
}

/// Sizes are given, or factors of the old ones.
void resize(node_shapes &n) {
    const dims x = n.dims(0);
    dims result = x;
    if (n.has_input(3)) {
        result = n.constant(3);
    } else {
        const tensor &scales = n.input(n.has_input(2) ? 2 : 1);
        if (scales.type != data_type::f32 || scales.data.size() != x.size() * sizeof(float)) // or computed
            refuse_as_unimplemented("the scales are not " + std::to_string(x.size()) + " constant f32");
        const std::vector<float> factors = values_of<float>(scales);
        for (std::size_t i = 0; i < x.size(); i++) {
            const float size = factors[i] * static_cast<float>(x[i]); // rounded to f32, as ONNX Runtime does
            if (!(size >= 1 && size < static_cast<float>(max_size)))
                refuse("a scale is " + std::to_string(factors[i]));
            result[i] = static_cast<dim_t>(size);
        }
    }
    if (result.size() != x.size() || std::any_of(result.begin(), result.end(), [](dim_t d) { return d < 1; }))
        refuse("input " + to_text(x) + " cannot be resized to " + to_text(result));
    n.set_output(n.input(0).type, result);
}

} // namespace octet::model::shape
