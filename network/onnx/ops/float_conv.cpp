// A float Conv in ONNX Runtime's orders of sums. If weights and bias are constants and channels fit, images
// are computed in blocks of 16 channels, otherwise by a product of matrices. Within a block sums begin with
// zero; blocks are added up in order, then the bias. ConvAdd, which a pass makes, adds its image behind the
// first block of channels; a product of matrices begins with it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/ops/float_conv.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/images.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

conv_sizes sizes_of(const lowering &l) {
    const tensor &w = l.input(conv_weights, {data_type::f32}), &x = l.input(0, {data_type::f32});
    const std::int64_t groups = convolution_groups(l, x, w);
    if (w.dims[1] < 1 || x.dims[1] % groups != 0 || w.dims[1] != x.dims[1] / groups)
        refuse("the weights have " + std::to_string(w.dims[1]) + " channels, allowed is 1 of " +
               std::to_string(groups) + " parts of the " + std::to_string(x.dims[1]) + " input channels");
    return {groups, w.dims[1], w.dims[0] / groups, element_count({w.dims.begin() + 2, w.dims.end()})};
}

/// Input channels whose products are one sum: each alone where there are few, 128 of single pixels, else 16.
dim_t block_of(const conv_sizes &s, const window_geometry &g) {
    constexpr dim_t pixel_block = 128;
    if (s.groups > 1)
        return s.channels; // with the order of one block, also where there are more
    if (s.channels < channels_of_block)
        return 1;
    const auto is_zero = [](const memory::dims &pads) {
        return std::all_of(pads.begin(), pads.end(), [](dim_t p) { return p == 0; });
    };
    return s.taps == 1 && is_zero(g.padding_l) && is_zero(g.padding_r) ? pixel_block : channels_of_block;
}

/// Some of the channels, the second dimension.
memory::desc part_of_channels(const memory::desc &whole, dim_t first, dim_t size) {
    memory::dims dims = whole.dims(), offsets(dims.size());
    dims[1] = size;
    offsets[1] = first;
    return whole.submemory_desc(dims, offsets);
}

void check_bias(const lowering &l, dim_t channels) {
    const tensor &bias = l.input(conv_bias, {data_type::f32});
    if (element_count(bias.dims) != channels)
        refuse("the bias has dimensions " + to_text(bias.dims) + ", allowed is one value for each of " +
               std::to_string(channels) + " channels");
}

/// The bias, if there is one, behind the last block of images of `rank` dimensions.
void append_bias(primitive_attr &attr, arguments &args, const lowering &l, std::size_t rank) {
    if (!l.has_input(conv_bias))
        return;
    memory::dims dims(rank, 1);
    dims[1] = l.input(conv_weights).dims[0];
    check_bias(l, dims[1]);
    const memory::desc row(dims, data_type::f32, memory::dims());
    post_ops ops = attr.get_post_ops();
    args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | OCTET_ARG_SRC_1] = l.input_buffer(conv_bias, row);
    ops.append_binary(algorithm::binary_add, row);
    attr.set_post_ops(ops);
}

std::unique_ptr<step> blocked_convolution(const lowering &l, const conv_sizes &s, const window_geometry &g) {
    const tensor &w = l.input(conv_weights);
    memory::dims dims = w.dims;
    if (s.groups > 1) {
        dims.front() = s.outputs;
        dims.insert(dims.begin(), s.groups);
    }
    const memory::desc src = activation_desc(l, l.input(0)),
                       dst = activation_desc(l, l.output({data_type::f32})),
                       weights(dims, w.type, memory::dims());
    const dim_t block = computes_in_blocks(l.get_graph(), l.get_node()) ? block_of(s, g) : s.channels;
    auto result = std::make_unique<primitive_step>();
    for (dim_t first = 0; first < s.channels; first += block) {
        const dim_t size = std::min(block, s.channels - first);
        const bool is_whole = size == s.channels;
        const memory::desc part = is_whole ? src : part_of_channels(src, first, size),
                           part_weights = is_whole ? weights : part_of_channels(weights, first, size);
        primitive_attr attr;
        arguments args;
        post_ops ops;
        if (first > 0)
            ops.append_sum(1.f);
        else if (adds_image(l.get_node())) {
            ops.append_binary(algorithm::binary_add, dst);
            args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1] = l.input_buffer(conv_summand, dst);
        }
        attr.set_post_ops(ops);
        if (first + size == s.channels) {
            append_bias(attr, args, l, dst.dims().size());
            append_float_followers(attr, args, l, dst);
        }
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, part,
                                          planned_weights(part_weights, w), memory::desc(), dst, g.strides,
                                          g.dilates, g.padding_l, g.padding_r);
        const convolution_forward::primitive_desc pd(d, attr, l.get_engine());
        args[OCTET_ARG_SRC] = l.input_buffer(0, part);
        args[OCTET_ARG_WEIGHTS] = l.packed_input(conv_weights, part_weights, pd.weights_desc());
        args[OCTET_ARG_DST] = l.output_buffer(dst);
        result->add(pd, args);
    }
    return result;
}

} // namespace

std::optional<buffer> bias_of_channels(const lowering &l, dim_t channels) {
    if (!l.has_input(conv_bias))
        return {};
    check_bias(l, channels);
    return l.input_buffer(conv_bias);
}

namespace {

std::unique_ptr<step> lower_float_conv(const lowering &l) {
    if (l.rule() != requantization_rule::automatic)
        refuse_as_unimplemented(std::string("rule ") + to_string(l.rule()) +
                                " is not available for ONNX's operators, only their own");
    const conv_sizes s = sizes_of(l);
    const tensor &x = l.input(0), &y = l.output({data_type::f32});
    if (adds_image(l.get_node()) && l.input(conv_summand, {data_type::f32}).dims != y.dims)
        refuse("what is added has dimensions " + to_text(l.input(conv_summand).dims) + ", allowed are " +
               to_text(y.dims));
    const memory::dims kernel(l.input(conv_weights).dims.begin() + 2, l.input(conv_weights).dims.end());
    const window_geometry g = read_windows(l, {x.dims.begin() + 2, x.dims.end()}, kernel);
    if (!computes_in_blocks(l.get_graph(), l.get_node()) && element_count(y.dims) > 0)
        return convolution_of_planes(l, s, g);
    return blocked_convolution(l, s, g);
}

using namespace row_words;

constexpr row onnx_float_conv_rows[] = {
    row("Conv", {2, 3}, lower_float_conv, shape::conv, rows::windows)
        .part(accumulates)
        .padded(add_pads)
        .becomes(form::convolution, "QLinearConv")
        .sizes(flow::windows)
        .blocked(block_use::convolve)
        .assumes("group", std::int64_t{1}),
    row("ConvAdd", 4, lower_float_conv, shape::conv, rows::never).part(accumulates).internal(),
};

} // namespace

operator_rows onnx_float_conv_operators() { return onnx_float_conv_rows; }

} // namespace octet::model
