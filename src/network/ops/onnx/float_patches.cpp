// A float Conv as products of matrices, in ONNX Runtime's order: patches of the image, channel by channel, times the weights of
// each group. A group of one channel is a product of one row, an image of one pixel one of a column: their orders are others.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/ops/onnx/float_conv.hpp"
#include "network/ops/onnx/float_loops.hpp"

namespace octet::model {
namespace {

/// Where the taps of an output's window lie. Of up to three dimensions, those that lack are 1.
class patch_windows {
public:
    struct axis {
        dim_t in = 1, out = 1, kernel = 1, stride = 1, step = 1, pad = 0, memory = 0;
        /// The offset of a tap in memory; -1: outside the image.
        dim_t source_index(dim_t o, dim_t tap) const {
            const dim_t p = o * stride + tap * step - pad;
            return p >= 0 && p < in ? p * memory : -1;
        }
    };

    patch_windows(const lowering &l, const window_geometry &g)
        : src(activation_desc(l, l.input(0))), dst(l.output().dims) {
        const memory::dims &w = l.input(conv_weights).dims, &x = l.input(0).dims, strides = src.get_strides();
        for (std::size_t d = 0; d + 2 < x.size(); d++)
            axes[3 + d - (x.size() - 2)] = {x[2 + d],         dst[2 + d],     w[2 + d],      g.strides[d],
                                            g.dilates[d] + 1, g.padding_l[d], strides[2 + d]};
        image_stride = strides[0];
        channel_stride = strides[1];
        const auto are_all = [](const memory::dims &all, dim_t value) {
            return std::all_of(all.begin(), all.end(), [&](dim_t p) { return p == value; });
        };
        are_rows_ = x.size() == 4 && w[1] == 1 && x[3] == w[3] && are_all(g.padding_l, 0) &&
                    are_all(g.padding_r, 0) && are_all(g.dilates, 0) && are_all(g.strides, 1);
    }

    /// Whether the windows of an image of one channel are rows of a matrix there, because each takes the whole width.
    bool are_rows() const { return are_rows_; }
    dim_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }
    dim_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }

    memory::desc src;
    memory::dims dst;
    axis axes[3];
    dim_t image_stride, channel_stride;

private:
    bool are_rows_ = false;
};

/// The element of one channel that a tap meets, or 0 outside.
float element(const patch_windows::axis *axes, const float *x, const dim_t *o, const dim_t *tap) {
    const dim_t z = axes[0].source_index(o[0], tap[0]), y = axes[1].source_index(o[1], tap[1]),
                w = axes[2].source_index(o[2], tap[2]);
    return z < 0 || y < 0 || w < 0 ? 0.f : x[z + y + w];
}

class patches_step final : public step {
public:
    patches_step(const lowering &l, buffer patches, const patch_windows &w)
        : src_(l.input_buffer(0, w.src)), patches_(std::move(patches)), windows_(w) {}

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
    void gather(const float *x, float *to) const {
        const auto &a = windows_.axes;
        const memory::dims image = windows_.src.dims();
        for (dim_t n = 0; n < image[0]; n++)
            for_positions(a[0].out, a[1].out, a[2].out, [&](const dim_t *o) {
                for (dim_t c = 0; c < image[1]; c++) {
                    const float *const channel = x + n * windows_.image_stride + c * windows_.channel_stride;
                    for_positions(a[0].kernel, a[1].kernel, a[2].kernel,
                                  [&](const dim_t *tap) { *to++ = element(a, channel, o, tap); });
                }
            });
    }

    buffer src_, patches_;
    patch_windows windows_;
    primitive_step products_;
};

/// Groups that give one channel each, a row of weights times a matrix with a row for each tap, or images of one pixel, the weights
/// times a column of taps.
class channels_step final : public followed_loop {
public:
    channels_step(const lowering &l, const conv_sizes &s, const patch_windows &w)
        : sizes_(s), windows_(w), src_(l.input_buffer(0, w.src)), weights_(l.input_buffer(conv_weights)),
          dst_(l.output_buffer(activation_desc(l, l.output()))),
          taps_(l.scratch(memory::desc({s.channels * s.taps * w.outputs() + s.outputs * w.outputs() + 1},
                                       data_type::f32, format_tag::a))) {
        if (adds_image(l.get_node()))
            summand_ = l.input_buffer(conv_summand, activation_desc(l, l.input(conv_summand)));
        if (l.has_input(conv_bias)) {
            bias_ = l.input_buffer(conv_bias);
            if (element_count(l.input(conv_bias, {data_type::f32}).dims) != s.groups * s.outputs)
                refuse("the bias has dimensions " + to_text(l.input(conv_bias).dims) +
                       ", allowed is one value for each of " + std::to_string(s.groups * s.outputs) +
                       " channels");
        }
        take_followers(l, activation_desc(l, l.output()));
    }

    void run(const stream &s, const run_memory &m) const override {
        for (dim_t n = 0; n < windows_.dst[0]; n++)
            for (dim_t group = 0; group < sizes_.groups; group++)
                convolve(m, n, group);
        run_followers(s, m);
    }

private:
    std::string explain_loop() const override {
        return sizes_.outputs == 1 ? "a plain loop over " + std::to_string(sizes_.groups) +
                                         " channels, four products at a time"
                                   : std::string("a plain loop over channels of one pixel, eight sums each");
    }

    void convolve(const run_memory &m, dim_t n, dim_t group) const {
        const auto &a = windows_.axes;
        const dim_t inner = sizes_.channels * sizes_.taps, pixels = windows_.outputs();
        float *to = m.at<float>(taps_);
        for (dim_t c = group * sizes_.channels; c < (group + 1) * sizes_.channels; c++) {
            const float *const channel =
                m.at<float>(src_) + n * windows_.image_stride + c * windows_.channel_stride;
            if (windows_.are_rows())
                for_positions(a[0].out, a[1].out, a[2].out, [&](const dim_t *o) {
                    for_positions(a[0].kernel, a[1].kernel, a[2].kernel,
                                  [&](const dim_t *tap) { *to++ = element(a, channel, o, tap); });
                });
            else
                for_positions(a[0].kernel, a[1].kernel, a[2].kernel, [&](const dim_t *tap) {
                    for_positions(a[0].out, a[1].out, a[2].out,
                                  [&](const dim_t *o) { *to++ = element(a, channel, o, tap); });
                });
        }
        float *const sums = to; // behind the taps, channel by channel
        const dim_t first = group * sizes_.outputs;
        for (dim_t o = 0; summand_ && o < sizes_.outputs; o++)
            for (dim_t p = 0; p < pixels; p++)
                sums[o * pixels + p] = channel_of(*summand_, m, n, first + o)[p * step_of(*summand_)];
        multiply(m.at<float>(weights_) + first * inner, m.at<float>(taps_), inner, pixels, sums);
        for (dim_t o = 0; o < sizes_.outputs; o++) {
            float *const y = channel_of(dst_, m, n, first + o);
            for (dim_t p = 0; p < pixels; p++)
                y[p * step_of(dst_)] =
                    bias_ ? sums[o * pixels + p] + m.at<float>(*bias_)[first + o] : sums[o * pixels + p];
        }
    }
    void multiply(const float *weights, const float *taps, dim_t inner, dim_t pixels, float *sums) const {
        if (windows_.are_rows() && sizes_.outputs == 1)
            return multiply_column(taps, inner, weights, inner, sums, pixels, !summand_);
        if (windows_.are_rows())
            return multiply_in_order(weights, taps, inner, sums);
        if (sizes_.outputs == 1)
            return multiply_row(weights, taps, pixels, inner, sums, pixels, !summand_);
        multiply_column(weights, inner, taps, inner, sums, sizes_.outputs, !summand_);
    }
    /// One pixel, by blocks.
    void multiply_in_order(const float *weights, const float *taps, dim_t inner, float *sums) const {
        const dim_t block = float_reduction_block(inner, 1);
        for (dim_t o = 0; o < sizes_.outputs; o++)
            for (dim_t first = 0; first < inner; first += block) {
                float sum = 0;
                for (dim_t k = first; k < std::min(first + block, inner); k++)
                    sum = std::fma(weights[o * inner + k], taps[k], sum);
                sums[o] = first == 0 && !summand_ ? sum : sums[o] + sum;
            }
    }
    static float *channel_of(const buffer &image, const run_memory &m, dim_t n, dim_t channel) {
        const memory::dims strides = image.get_desc().get_strides();
        return m.at<float>(image) + n * strides[0] + channel * strides[1];
    }
    static dim_t step_of(const buffer &image) { return image.get_desc().get_strides().back(); }

    conv_sizes sizes_;
    patch_windows windows_;
    buffer src_, weights_, dst_, taps_;
    std::optional<buffer> bias_, summand_;
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

} // namespace

std::unique_ptr<step> convolution_of_patches(const lowering &l, const conv_sizes &s,
                                             const window_geometry &g) {
    const tensor &w = l.input(conv_weights), &x = l.input(0), &y = l.output({data_type::f32});
    if (y.dims.size() != x.dims.size() || y.dims[0] != x.dims[0] || y.dims[1] != w.dims[0] || s.taps < 1)
        refuse("output " + to_text(y.dims) + " is not that of " + to_text(x.dims) + " and weights " +
               to_text(w.dims));
    const patch_windows windows(l, g);
    if (s.outputs == 1 || windows.outputs() == 1)
        return std::make_unique<channels_step>(l, s, windows);
    const dim_t pixels = element_count({y.dims.begin() + 2, y.dims.end()}), rows = y.dims[0] * pixels,
                inner = s.channels * s.taps, columns = w.dims[0],
                block = float_reduction_block(inner, pixels);
    const bool lies_in_rows = y.is_channels_last || pixels == 1 || columns == 1;
    const memory::desc patches({rows, s.groups * inner}, data_type::f32, format_tag::ab),
        matrix({inner, columns}, data_type::f32, memory::dims{1, inner}),
        dst({rows, columns}, data_type::f32, format_tag::ab);
    const buffer gathered = l.scratch(patches), sums = lies_in_rows ? l.output_buffer(dst) : l.scratch(dst);
    auto result = std::make_unique<patches_step>(l, gathered, windows);
    const bool has_summand = adds_image(l.get_node());
    if (has_summand)
        add_copy(result->products(), l.input_buffer(conv_summand, activation_desc(l, l.input(conv_summand))),
                 sums.seen_through(image_of_rows(y.dims)));
    for (dim_t channel = 0; channel < columns; channel += s.outputs) // the first of a group
        for (dim_t first = 0; first < inner; first += block) {
            const dim_t size = std::min(block, inner - first), group = channel / s.outputs;
            const memory::desc a = patches.submemory_desc({rows, size}, {0, group * inner + first}),
                               b = matrix.submemory_desc({size, s.outputs}, {first, channel}),
                               d = part_of_channels(dst, channel, s.outputs);
            primitive_attr attr;
            arguments args;
            if (first > 0 || has_summand) {
                post_ops ops;
                ops.append_sum(1.f);
                attr.set_post_ops(ops);
            }
            if (first + size == inner)
                append_bias(attr, args, l, 2, channel, s.outputs);
            const matmul::primitive_desc pd({a, planned_weights(b, w), d}, attr, l.get_engine());
            args[OCTET_ARG_SRC] = gathered.seen_through(a);
            args[OCTET_ARG_WEIGHTS] = l.packed_input(conv_weights, b, pd.weights_desc());
            args[OCTET_ARG_DST] = sums.seen_through(d);
            result->products().add(pd, args);
        }
    if (!lies_in_rows)
        add_copy(result->products(), sums.seen_through(image_of_rows(y.dims)),
                 l.output_buffer(activation_desc(l, y)));
    if (!l.get_node().fused.empty())
        add_followers(result->products(), l, activation_desc(l, l.output()));
    return result;
}

} // namespace octet::model
