// Conv on floats in ONNX Runtime's orders of sums. Where weights and bias are constants and channels fit, it computes images in
// blocks of 16 channels; elsewhere a product of matrices. Within a block sums begin with zero; blocks are added up in order,
// then comes the bias. What ConvAdd adds, which a pass makes there, comes behind the first block.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/lower/fused.hpp"
#include "network/lower/moving.hpp"
#include "network/lower/onnx.hpp"
#include "network/lower/onnx_float_loops.hpp"

namespace octet::model {
namespace {

constexpr std::size_t weights_input = 1, bias_input = 2, summand_input = 3;
constexpr dim_t channel_block = 16, channel_alignment = 4;

struct conv_sizes {
    dim_t groups, channels, outputs; ///< channels of each group
    dim_t taps;
};

/// Others may have operands of what is fused behind them there.
bool has_summand(const lowering &l) { return l.get_node().op == "ConvAdd"; }

conv_sizes sizes_of(const lowering &l) {
    const tensor &w = l.input(weights_input, {data_type::f32}), &x = l.input(0, {data_type::f32});
    if (x.dims.size() < 3 || x.dims.size() > 5 || w.dims.size() != x.dims.size())
        refuse("input " + to_text(x.dims) + " and weights " + to_text(w.dims) +
               " are no convolution of 1 to 3 dimensions");
    const std::int64_t groups = l.integer("group", 1);
    if (groups < 1 || w.dims.front() % groups != 0)
        refuse("attribute 'group' is " + std::to_string(groups) + ", allowed is a divisor of the " +
               std::to_string(w.dims.front()) + " output channels");
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
    if (s.channels < channel_block)
        return 1;
    const auto is_zero = [](const memory::dims &pads) {
        return std::all_of(pads.begin(), pads.end(), [](dim_t p) { return p == 0; });
    };
    return s.taps == 1 && is_zero(g.padding_l) && is_zero(g.padding_r) ? pixel_block : channel_block;
}

memory::desc part_of_channels(const memory::desc &whole, dim_t first, dim_t size) {
    memory::dims dims = whole.dims(), offsets(dims.size());
    dims[1] = size;
    offsets[1] = first;
    return whole.submemory_desc(dims, offsets);
}

/// The bias and what a pass joined, behind the last block.
void append_end(primitive_attr &attr, arguments &args, const lowering &l, const memory::desc &dst,
                std::size_t channel) {
    post_ops ops = attr.get_post_ops();
    if (l.has_input(bias_input)) {
        memory::dims dims(dst.dims().size(), 1);
        dims[channel] = dst.dims()[channel];
        if (element_count(l.input(bias_input, {data_type::f32}).dims) != dims[channel])
            refuse("the bias has dimensions " + to_text(l.input(bias_input).dims) +
                   ", allowed is one value for each of " + std::to_string(dims[channel]) + " channels");
        const memory::desc row(dims, data_type::f32, memory::dims());
        args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | OCTET_ARG_SRC_1] = l.input_buffer(bias_input, row);
        ops.append_binary(algorithm::binary_add, row);
    }
    attr.set_post_ops(ops);
}

std::unique_ptr<step> blocked_convolution(const lowering &l, const conv_sizes &s, const window_geometry &g) {
    const tensor &w = l.input(weights_input);
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
        else if (has_summand(l)) {
            ops.append_binary(algorithm::binary_add, dst);
            args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1] = l.input_buffer(summand_input, dst);
        }
        attr.set_post_ops(ops);
        if (first + size == s.channels) {
            append_end(attr, args, l, dst, 1);
            append_float_followers(attr, args, l, dst);
        }
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, part,
                                          planned_weights(part_weights, w), memory::desc(), dst, g.strides,
                                          g.dilates, g.padding_l, g.padding_r);
        const convolution_forward::primitive_desc pd(d, attr, l.get_engine());
        args[OCTET_ARG_SRC] = l.input_buffer(0, part);
        args[OCTET_ARG_WEIGHTS] = l.packed_input(weights_input, part_weights, pd.weights_desc());
        args[OCTET_ARG_DST] = l.output_buffer(dst);
        result->add(pd, args);
    }
    return result;
}

// ---- As a product of matrices: patches of the image, channel by channel, times the weights

class patches_step final : public step {
public:
    patches_step(const lowering &l, buffer patches, const memory::desc &src, const memory::dims &kernel,
                 const memory::dims &dst_dims, const window_geometry &g)
        : src_(l.input_buffer(0, src)), patches_(std::move(patches)), image_(src.dims()),
          strides_(src.get_strides()), kernel_(kernel), dst_(dst_dims), windows_(g) {}

    primitive_step &products() { return products_; }
    void make_primitives() override { products_.make_primitives(); }
    void prepare() const override { products_.prepare(); }
    void run(const stream &s, const run_memory &m) const override {
        gather(m.at<float>(src_), m.at<float>(patches_));
        products_.run(s, m);
    }
    std::string implementation() const override { return "loop + " + products_.implementation(); }
    std::string explain() const override {
        return "a plain loop gathers patches of the image\n" + products_.explain();
    }

private:
    /// Of up to three dimensions, those that lack are 1.
    struct axis {
        dim_t in = 1, out = 1, kernel = 1, stride = 1, step = 1, pad = 0, memory = 0;
    };
    axis axis_of(std::size_t d) const { // counted from the last
        axis a;
        if (d >= kernel_.size())
            return a;
        const std::size_t i = kernel_.size() - 1 - d;
        return {image_[2 + i],           dst_[2 + i],           kernel_[i],     windows_.strides[i],
                windows_.dilates[i] + 1, windows_.padding_l[i], strides_[2 + i]};
    }

    void gather(const float *x, float *to) const {
        const axis z = axis_of(2), y = axis_of(1), w = axis_of(0);
        for (dim_t n = 0; n < image_[0]; n++)
            for (dim_t oz = 0; oz < z.out; oz++)
                for (dim_t oy = 0; oy < y.out; oy++)
                    for (dim_t ow = 0; ow < w.out; ow++)
                        for (dim_t c = 0; c < image_[1]; c++)
                            to = gather_taps(x + n * strides_[0] + c * strides_[1], to, {z, y, w},
                                             {oz, oy, ow});
    }
    struct three_axes {
        const axis &z, &y, &w;
    };
    struct position {
        dim_t z, y, w;
    };
    static float *gather_taps(const float *x, float *to, const three_axes &a, const position &o) {
        for (dim_t kz = 0; kz < a.z.kernel; kz++)
            for (dim_t ky = 0; ky < a.y.kernel; ky++)
                for (dim_t kw = 0; kw < a.w.kernel; kw++) {
                    const dim_t z = place(a.z, o.z, kz), y = place(a.y, o.y, ky), w = place(a.w, o.w, kw);
                    *to++ =
                        z < 0 || y < 0 || w < 0 ? 0.f : x[z * a.z.memory + y * a.y.memory + w * a.w.memory];
                }
        return to;
    }
    /// -1: outside the image.
    static dim_t place(const axis &a, dim_t out, dim_t tap) {
        const dim_t p = out * a.stride + tap * a.step - a.pad;
        return p >= 0 && p < a.in ? p : -1;
    }

    buffer src_, patches_;
    memory::dims image_, strides_, kernel_, dst_;
    window_geometry windows_;
    primitive_step products_;
};

/// Pixels one after the other, each with its channels.
memory::desc image_of_rows(const memory::dims &dims) {
    memory::dims strides(dims.size());
    dim_t stride = dims[1];
    for (std::size_t d = dims.size(); d-- > 2; stride *= dims[d])
        strides[d] = stride;
    strides[0] = stride;
    strides[1] = 1;
    return memory::desc(dims, data_type::f32, strides);
}

std::unique_ptr<step> convolution_of_patches(const lowering &l, const conv_sizes &s,
                                             const window_geometry &g) {
    const tensor &w = l.input(weights_input), &x = l.input(0), &y = l.output({data_type::f32});
    if (y.dims.size() != x.dims.size() || y.dims[0] != x.dims[0] || y.dims[1] != s.outputs || s.taps < 1)
        refuse("output " + to_text(y.dims) + " is not that of " + to_text(x.dims) + " and weights " +
               to_text(w.dims));
    const memory::desc src = activation_desc(l, x);
    const dim_t pixels = element_count({y.dims.begin() + 2, y.dims.end()}), rows = y.dims[0] * pixels,
                inner = s.channels * s.taps, columns = s.outputs,
                block = float_reduction_block(inner, pixels);
    const bool lies_in_rows = y.is_channels_last || pixels == 1 || columns == 1;
    const memory::desc patches({rows, inner}, data_type::f32, format_tag::ab),
        matrix({inner, columns}, data_type::f32, memory::dims{1, inner}),
        dst({rows, columns}, data_type::f32, format_tag::ab);
    const buffer gathered = l.scratch(patches), sums = lies_in_rows ? l.output_buffer(dst) : l.scratch(dst);
    auto result = std::make_unique<patches_step>(l, gathered, src,
                                                 memory::dims(w.dims.begin() + 2, w.dims.end()), y.dims, g);
    for (dim_t first = 0; first < inner; first += block) {
        const dim_t size = std::min(block, inner - first);
        const memory::desc a = patches.submemory_desc({rows, size}, {0, first}),
                           b = matrix.submemory_desc({size, columns}, {first, 0});
        primitive_attr attr;
        arguments args;
        if (first > 0) {
            post_ops ops;
            ops.append_sum(1.f);
            attr.set_post_ops(ops);
        }
        if (first + size == inner)
            append_end(attr, args, l, dst, 1);
        const matmul::primitive_desc pd({a, planned_weights(b, w), dst}, attr, l.get_engine());
        args[OCTET_ARG_SRC] = gathered.seen_through(a);
        args[OCTET_ARG_WEIGHTS] = l.packed_input(weights_input, b, pd.weights_desc());
        args[OCTET_ARG_DST] = sums;
        result->products().add(pd, args);
    }
    if (!lies_in_rows)
        add_copy(result->products(), sums.seen_through(image_of_rows(y.dims)),
                 l.output_buffer(activation_desc(l, y)));
    if (!l.get_node().fused.empty())
        add_followers(result->products(), l);
    return result;
}

} // namespace

void add_followers(primitive_step &s, const lowering &l) {
    const memory::desc dst = activation_desc(l, l.output());
    primitive_attr attr;
    arguments args;
    append_float_followers(attr, args, l, dst);
    args[OCTET_ARG_SRC] = args[OCTET_ARG_DST] = l.output_buffer(dst);
    const eltwise_forward::desc same(prop_kind::forward_inference, algorithm::eltwise_relu, dst, dst, 1.f);
    s.add(eltwise_forward::primitive_desc(same, attr, l.get_engine()), args);
}

bool computes_in_blocks(const graph &g, const node &conv) {
    const auto at = [&](std::size_t i) {
        return i < conv.inputs.size() && conv.inputs[i] >= 0
                   ? &g.tensors[static_cast<std::size_t>(conv.inputs[i])]
                   : nullptr;
    };
    const tensor *const w = at(weights_input), *const bias = at(bias_input);
    if (!w || w->dims.size() != 4 || !w->is_constant || (bias && !bias->is_constant) ||
        attribute_or<std::int64_t>(conv, dequantized_matrix, 0) != 0)
        return false;
    const dim_t groups = attribute_or<std::int64_t>(conv, "group", 1), channels = w->dims[1],
                outputs = groups > 0 ? w->dims[0] / groups : 0;
    if (groups > 1 && channels == 1 && outputs == 1) // depthwise
        return groups % channel_alignment == 0;
    if (groups > 1)
        return channels % channel_block == 0 && outputs % channel_block == 0;
    return channels < channel_block || channels % channel_alignment == 0;
}

std::unique_ptr<step> lower_float_conv(const lowering &l) {
    if (l.rule() != requantization_rule::automatic)
        refuse_as_unimplemented(std::string("rule ") + to_string(l.rule()) +
                                " is not available for ONNX's operators, only their own");
    const conv_sizes s = sizes_of(l);
    const tensor &x = l.input(0), &y = l.output({data_type::f32});
    if (has_summand(l) && l.input(summand_input, {data_type::f32}).dims != y.dims)
        refuse("what is added has dimensions " + to_text(l.input(summand_input).dims) + ", allowed are " +
               to_text(y.dims));
    const memory::dims kernel(l.input(weights_input).dims.begin() + 2, l.input(weights_input).dims.end());
    const window_geometry g = read_windows(l, {x.dims.begin() + 2, x.dims.end()}, kernel);
    if (!computes_in_blocks(l.get_graph(), l.get_node()) && s.groups == 1 && s.channels == x.dims[1] &&
        element_count(y.dims) > 0)
        return convolution_of_patches(l, s, g);
    return blocked_convolution(l, s, g);
}

} // namespace octet::model
