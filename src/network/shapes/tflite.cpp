// As TFLite's own kernels resize their outputs.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/tflite.hpp"

#include "network/graph/element_map.hpp"
#include "network/graph/strided_slice.hpp"

#include <algorithm>

namespace octet::model::tflite_shape {
namespace {

using dims = memory::dims;

void set(node_shapes &n, const dims &d) { n.set_output_dims(d); }

const dims &image(const node_shapes &n, std::size_t i) {
    if (n.dims(i).size() != 4)
        refuse("input " + std::to_string(i) + " is " + to_text(n.dims(i)) + ", allowed are 4 dimensions");
    return n.dims(i);
}

/// Positions of a window along one side of an image; see `make_window` of the lowering.
dim_t positions(const node_shapes &n, const std::string &suffix, dim_t size, dim_t kernel) {
    const dim_t stride = n.integer("stride" + suffix, 1), dilation = n.integer("dilation" + suffix, 1);
    if (stride < 1 || dilation < 1 || kernel < 1)
        refuse("a stride, dilation or kernel is below 1");
    const dim_t extent = (kernel - 1) * dilation + 1;
    const bool is_same = n.text("padding", "VALID") == "SAME";
    const dim_t count = is_same ? (size + stride - 1) / stride : (size - extent + stride) / stride;
    if (count < 1 || (!is_same && size < extent))
        refuse("a window of " + std::to_string(extent) + " elements does not fit into " +
               std::to_string(size));
    return count;
}

void window(node_shapes &n, dim_t kernel_h, dim_t kernel_w, dim_t channels) {
    const dims x = image(n, 0);
    set(n, {x[0], positions(n, "_h", x[1], kernel_h), positions(n, "_w", x[2], kernel_w), channels});
}

/// Which dimensions a list of axes names.
std::vector<bool> named_axes(const node_shapes &n, const std::vector<std::int64_t> &axes, std::size_t rank) {
    std::vector<bool> is_named(rank);
    for (const std::int64_t a : axes)
        is_named[n.axis(a, rank)] = true;
    return is_named;
}

/// Dimensions of the images that blocks make up, or of the blocks that an image makes.
void change_blocks(node_shapes &n, bool makes_blocks) {
    dims y = n.dims_of_rank(0, 2);
    const std::vector<std::int64_t> sizes = n.constant(1), around = n.constant(2);
    if (sizes.size() >= y.size() || around.size() != 2 * sizes.size())
        refuse("there are " + std::to_string(sizes.size()) + " block sizes and " +
               std::to_string(around.size()) + " numbers around them for an input " + to_text(y));
    for (std::size_t k = 0; k < sizes.size(); k++) {
        const dim_t size = sizes[k], sum = around[2 * k] + around[2 * k + 1];
        if (size < 1 || size > 1 << 10 || y[0] > max_size)
            refuse("a block size is " + std::to_string(size) + " for an input " + to_text(n.dims(0)) +
                   ", allowed: 1 to 1024");
        y[0] = makes_blocks ? y[0] * size : y[0] / size;
        y[k + 1] = makes_blocks ? (y[k + 1] + sum) / size : y[k + 1] * size - sum;
    }
    set(n, y);
}

/// NHWC as {N, C, H, W}, whose strides nobody asks for.
blocked_image image_in_blocks(const node_shapes &n) {
    const dims x = image(n, 0);
    return {{{x[0], x[3], x[1], x[2]}, {}}, n.integer("block_size", 0)};
}

} // namespace

void same(node_shapes &n) { set(n, n.dims(0)); }

void binary(node_shapes &n) { set(n, broadcast(n.dims(0), n.dims(1))); }

void conv_2d(node_shapes &n) {
    const dims w = image(n, 1);
    window(n, w[1], w[2], w[0]);
}

void depthwise_conv_2d(node_shapes &n) {
    const dims w = image(n, 1);
    window(n, w[1], w[2], w[3]);
}

void pool_2d(node_shapes &n) {
    window(n, n.integer("filter_h", 1), n.integer("filter_w", 1), image(n, 0)[3]);
}

void fully_connected(node_shapes &n) {
    const dims x = n.dims(0), w = n.dims_of_rank(1, 2);
    const std::int64_t count = element_count(x);
    if (w[1] < 1 || count % w[1] != 0)
        refuse("input " + to_text(x) + " does not divide into rows of " + std::to_string(w[1]));
    dims y = {count / w[1], w[0]};
    if (n.integer("keep_num_dims", 0) != 0 && !x.empty()) {
        y = x;
        y.back() = w[0];
    }
    set(n, y);
}

void batch_matmul(node_shapes &n) {
    dims a = n.dims_of_rank(0, 2), b = n.dims_of_rank(1, 2);
    if (n.integer("adj_x", 0) != 0)
        std::swap(a[a.size() - 2], a.back());
    if (n.integer("adj_y", 0) != 0)
        std::swap(b[b.size() - 2], b.back());
    if (a.back() != b[b.size() - 2])
        refuse("matrices " + to_text(n.dims(0)) + " and " + to_text(n.dims(1)) + " do not fit together");
    dims y = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
    y.push_back(a[a.size() - 2]);
    y.push_back(b.back());
    set(n, y);
}

/// Without the axis that input 1 names.
void arg_extreme(node_shapes &n) {
    dims y = n.dims_of_rank(0, 1);
    const std::vector<std::int64_t> axes = n.constant(1);
    const std::size_t axis = n.axis(axes.empty() ? 0 : axes[0], y.size());
    y.erase(y.begin() + static_cast<std::ptrdiff_t>(axis));
    set(n, y);
}

/// Input 1 says which shape, along with the input's: of BROADCAST_TO.
void broadcast_to(node_shapes &n) { set(n, broadcast(n.dims(0), n.constant(1))); }

void tile(node_shapes &n) {
    dims y = n.dims(0);
    const std::vector<std::int64_t> multiples = n.constant(1);
    if (multiples.size() != y.size())
        refuse("there are " + std::to_string(multiples.size()) + " multiples, allowed are " +
               std::to_string(y.size()));
    for (std::size_t i = 0; i < y.size(); i++) {
        if (multiples[i] < 0 || (y[i] > 0 && multiples[i] > max_size / y[i]))
            refuse("a multiple is " + std::to_string(multiples[i]));
        y[i] *= multiples[i];
    }
    set(n, y);
}

void gather(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 1), indices = n.dims(1);
    const std::size_t axis = n.axis(n.integer("axis", 0), x.size());
    dims y(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
    y.insert(y.end(), indices.begin(), indices.end());
    y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
    set(n, y);
}

void pack(node_shapes &n) {
    dims y = n.dims(0);
    const std::size_t axis = n.axis(n.integer("axis", 0), y.size() + 1);
    y.insert(y.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<dim_t>(n.input_count()));
    set(n, y);
}

void unpack(node_shapes &n) {
    dims y = n.dims_of_rank(0, 1);
    const std::size_t axis = n.axis(n.integer("axis", 0), y.size());
    if (y[axis] != static_cast<dim_t>(n.output_count()))
        refuse("dimension " + std::to_string(axis) + " of " + to_text(y) + " has not " +
               std::to_string(n.output_count()) + " elements, one for each output");
    y.erase(y.begin() + static_cast<std::ptrdiff_t>(axis));
    for (std::size_t i = 0; i < n.output_count(); i++)
        n.set_output_dims(y, i);
}

void slice(node_shapes &n) {
    const dims x = n.dims(0);
    const std::vector<std::int64_t> begin = n.constant(1), size = n.constant(2);
    if (begin.size() != x.size() || size.size() != x.size())
        refuse("there are " + std::to_string(begin.size()) + " begins and " + std::to_string(size.size()) +
               " sizes, allowed are " + std::to_string(x.size()));
    dims y;
    for (std::size_t i = 0; i < x.size(); i++)
        y.push_back(size[i] == -1 ? x[i] - begin[i] : size[i]);
    set(n, y);
}

void strided_slice(node_shapes &n) {
    const auto mask = [&](const char *name) { return n.integer(name, 0); };
    set(n, strided_slice_of(n.dims(0), n.constant(1), n.constant(2), n.constant(3),
                            {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"),
                             mask("new_axis_mask"), mask("shrink_axis_mask")})
               .result);
}

void shape(node_shapes &n) { set(n, {static_cast<dim_t>(n.dims(0).size())}); }

/// Equal parts: of SPLIT, whose input 0 is the axis.
void split(node_shapes &n) {
    dims y = n.dims_of_rank(1, 1);
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

/// The outputs of SPLIT_V: parts by input 1, of which -1 takes what is left.
void split_v(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 1);
    const std::vector<std::int64_t> sizes = n.constant(1), axes = n.constant(2);
    const std::size_t axis = n.axis(axes.empty() ? 0 : axes[0], x.size());
    if (sizes.size() != n.output_count())
        refuse("there are " + std::to_string(sizes.size()) + " sizes, allowed are " +
               std::to_string(n.output_count()) + ", one for each output");
    dim_t known = 0;
    for (const std::int64_t s : sizes)
        known += s == -1 ? 0 : s;
    for (std::size_t i = 0; i < sizes.size(); i++) {
        dims y = x;
        y[axis] = sizes[i] == -1 ? x[axis] - known : sizes[i];
        n.set_output_dims(y, i);
    }
}

void depth_to_space(node_shapes &n) {
    const dims y = image_in_blocks(n).wide_dims();
    set(n, {y[0], y[2], y[3], y[1]});
}

void space_to_depth(node_shapes &n) {
    const dims y = image_in_blocks(n).deep_dims();
    set(n, {y[0], y[2], y[3], y[1]});
}

void space_to_batch_nd(node_shapes &n) { change_blocks(n, true); }
void batch_to_space_nd(node_shapes &n) { change_blocks(n, false); }

void concatenation(node_shapes &n) {
    dims y = n.dims_of_rank(0, 1);
    const std::size_t axis = n.axis(n.integer("axis", 0), y.size());
    for (std::size_t i = 1; i < n.input_count(); i++)
        y[axis] += n.dims_of_rank(i, y.size())[axis];
    set(n, y);
}

void expand_dims(node_shapes &n) {
    dims y = n.dims(0);
    const std::vector<std::int64_t> axes = n.constant(1);
    if (axes.size() != 1)
        refuse("the axis has " + std::to_string(axes.size()) + " values, allowed is 1");
    const std::int64_t given = axes[0] < 0 ? axes[0] + static_cast<std::int64_t>(y.size()) + 1 : axes[0];
    y.insert(y.begin() + static_cast<std::ptrdiff_t>(n.axis(given, y.size(), 1)), 1);
    set(n, y);
}

void squeeze(node_shapes &n) {
    const dims x = n.dims(0);
    const std::vector<std::int64_t> axes = n.integers("squeeze_dims", {});
    const std::vector<bool> is_named = named_axes(n, axes, x.size());
    dims y;
    for (std::size_t i = 0; i < x.size(); i++)
        if (x[i] != 1 || !(axes.empty() || is_named[i]))
            y.push_back(x[i]);
    set(n, y);
}

/// -1 takes what is left. The shape is a constant or an option.
void reshape(node_shapes &n) {
    const dims x = n.dims(0);
    dims y = n.has_input(1) ? n.constant(1) : n.integers("new_shape", {});
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
    set(n, y);
}

void reduce(node_shapes &n) {
    const dims x = n.dims(0);
    const std::vector<bool> is_reduced = named_axes(n, n.constant(1), x.size());
    const bool keeps = n.integer("keep_dims", 0) != 0;
    dims y;
    for (std::size_t i = 0; i < x.size(); i++)
        if (!is_reduced[i] || keeps)
            y.push_back(is_reduced[i] ? 1 : x[i]);
    set(n, y);
}

void pad(node_shapes &n) {
    dims y = n.dims(0);
    const std::vector<std::int64_t> paddings = n.constant(1);
    if (paddings.size() != 2 * y.size())
        refuse("the paddings have " + std::to_string(paddings.size()) + " values, allowed are " +
               std::to_string(2 * y.size()));
    for (std::size_t i = 0; i < paddings.size(); i++)
        y[i / 2] += paddings[i];
    set(n, y);
}

void resize(node_shapes &n) {
    const dims x = image(n, 0);
    const std::vector<std::int64_t> size = n.constant(1);
    if (size.size() != 2)
        refuse("the size has " + std::to_string(size.size()) + " values, allowed are 2");
    set(n, {x[0], size[0], size[1], x[3]});
}

/// Rows of the state are those of the batch.
void sequence(node_shapes &n) {
    constexpr std::size_t weights = 2, hidden_state = 18, cell_state = 19;
    const dims x = n.dims_of_rank(0, 3);
    const dim_t units = n.dims_of_rank(weights, 2)[0], batch = x[n.integer("time_major", 0) != 0 ? 1 : 0];
    n.set_state_dims(hidden_state, {batch, units});
    n.set_state_dims(cell_state, {batch, units});
    set(n, {x[0], x[1], units});
}

void svdf(node_shapes &n) {
    constexpr std::size_t features = 1, time = 2, state = 4;
    const dim_t batch = n.dims_of_rank(0, 2)[0], filters = n.dims_of_rank(features, 2)[0],
                history = n.dims_of_rank(time, 2)[1], rank = n.integer("rank", 1);
    if (rank < 1 || filters % rank != 0)
        refuse("attribute 'rank' is " + std::to_string(rank) + ", allowed is a divisor of the " +
               std::to_string(filters) + " filters");
    n.set_state_dims(state, {batch, filters * history});
    set(n, {batch, filters / rank});
}

void transpose(node_shapes &n) {
    const dims x = n.dims(0);
    const std::vector<std::int64_t> permutation = n.constant(1);
    if (permutation.size() != x.size())
        refuse("the permutation has " + std::to_string(permutation.size()) + " values, allowed are " +
               std::to_string(x.size()));
    dims y;
    for (const std::int64_t from : permutation)
        y.push_back(x[n.axis(from, x.size())]);
    set(n, y);
}

/// The size is a constant of the file.
void transpose_conv(node_shapes &n) { set(n, n.constant(0)); }

namespace {

/// Elements of a constant s32 input; none of one that is computed.
std::vector<std::int64_t> constant_of(const graph &g, const node &n, std::size_t i) {
    const int index = i < n.inputs.size() ? n.inputs[i] : -1;
    const auto values = index < 0 ? std::nullopt : known_integers(g.tensors[static_cast<std::size_t>(index)]);
    return values.value_or(std::vector<std::int64_t>());
}

} // namespace

bool adds_dimensions(const graph &g, const node &n) {
    if (n.inputs.empty() || n.inputs[0] < 0 || n.outputs.size() != 1)
        return false;
    const auto rank = [&](int t) { return g.tensors[static_cast<std::size_t>(t)].dims.size(); };
    return rank(n.inputs[0]) < rank(n.outputs[0]);
}

bool names_first_axis(const graph &g, const node &n) {
    if (n.inputs.empty() || n.inputs[0] < 0)
        return false;
    const auto rank = static_cast<std::int64_t>(g.tensors[static_cast<std::size_t>(n.inputs[0])].dims.size());
    const std::vector<std::int64_t> axes = constant_of(g, n, 1);
    return std::any_of(axes.begin(), axes.end(), [&](std::int64_t a) { return a == 0 || a == -rank; });
}

bool has_negative_first_stride(const graph &g, const node &n) {
    const std::vector<std::int64_t> strides = constant_of(g, n, 3);
    return !strides.empty() && strides[0] < 0;
}

} // namespace octet::model::tflite_shape
