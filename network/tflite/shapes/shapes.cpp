// Shapes that several of TFLite's operators have, as its own kernels resize their outputs.
// SPDX-License-Identifier: Apache-2.0
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model::tflite_shape {
namespace {

using dims = memory::dims;

void set(node_shapes &n, const dims &d) { n.set_output_dims(d); }

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

} // namespace

const dims &image(const node_shapes &n, std::size_t i) {
    if (n.dims(i).size() != 4)
        refuse("input " + std::to_string(i) + " is " + to_text(n.dims(i)) + ", allowed are 4 dimensions");
    return n.dims(i);
}

std::vector<bool> named_axes(const node_shapes &n, const std::vector<std::int64_t> &axes, std::size_t rank) {
    std::vector<bool> is_named(rank);
    for (const std::int64_t a : axes)
        is_named[n.axis(a, rank)] = true;
    return is_named;
}

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

/// The size is a constant of the file.
void transpose_conv(node_shapes &n) { set(n, n.constant(0)); }

} // namespace octet::model::tflite_shape
