// A float Conv as products of matrices, in ONNX Runtime's order: patches of the image, channel by channel, times the weights of
// each group. A group of one channel is a product of one row, an image of one pixel one of a column: their orders are others. So is
// that of two channels by kernels of 7 x 7 at strides of 2, for which ONNX Runtime has a loop (MobileCLIP's).
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
    static constexpr dim_t pair_kernel = 7;
    struct axis {
        dim_t in = 1, out = 1, kernel = 1, stride = 1, step = 1, pad = 0, memory = 0;
        dim_t position(dim_t o, dim_t tap) const { return o * stride + tap * step - pad; }
        /// The offset of a tap in memory; -1: outside the image.
        dim_t source_index(dim_t o, dim_t tap) const {
            const dim_t p = position(o, tap);
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
        are_rows_ = x.size() <= 4 && w[1] == 1 && x.back() == w.back() && are_all(g.padding_l, 0) &&
                    are_all(g.padding_r, 0) && are_all(g.dilates, 0) && are_all(g.strides, 1);
        are_pairs_ = x.size() == 4 && w[1] == 1 && w[0] == 2 * x[1] && x[1] > 1 && w[2] == pair_kernel &&
                     w[3] == pair_kernel && are_all(g.strides, 2) && are_all(g.padding_l, pair_kernel / 2) &&
                     are_all(g.padding_r, pair_kernel / 2) && are_all(g.dilates, 0) && outputs() > 1;
    }

    /// Whether the windows of an image of one channel are rows of a matrix there, because each takes the whole width.
    bool are_rows() const { return are_rows_; }
    /// Whether ONNX Runtime has a loop for them.
    bool are_pairs() const { return are_pairs_; }
    dim_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }
    dim_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }

    memory::desc src;
    memory::dims dst;
    axis axes[3];
    dim_t image_stride, channel_stride;

private:
    bool are_rows_ = false, are_pairs_ = false;
};

/// `count` elements of a row of the image, `distance` apart from position `first` on; 0 outside, and everywhere without a row. Returns
/// the end of what is written.
float *copy_row(const patch_windows::axis &a, const float *row, dim_t first, dim_t distance, dim_t count,
                float *to) {
    const auto before = [&](dim_t position) { // how many lie before it
        return first >= position ? 0 : std::min(count, (position - first + distance - 1) / distance);
    };
    if (!row) {
        std::fill_n(to, count, 0.f);
        return to + count;
    }
    const dim_t begin = before(0), end = std::max(begin, before(a.in));
    std::fill_n(to, begin, 0.f);
    if (distance * a.memory == 1)
        std::copy_n(row + first + begin, end - begin, to + begin);
    else
        for (dim_t i = begin; i < end; i++)
            to[i] = row[(first + i * distance) * a.memory];
    std::fill_n(to + end, count - end, 0.f);
    return to + count;
}

/// The row of one channel that a tap meets; null outside.
const float *row_of(const patch_windows::axis *axes, const float *x, const dim_t *o, const dim_t *tap) {
    const dim_t z = axes[0].source_index(o[0], tap[0]), y = axes[1].source_index(o[1], tap[1]);
    return z < 0 || y < 0 ? nullptr : x + z + y;
}

/// The taps of a window, in order.
float *copy_window(const patch_windows::axis *a, const float *channel, const dim_t *o, float *to) {
    const dim_t first = a[2].position(o[2], 0);
    for_positions(a[0].kernel, a[1].kernel, 1, [&](const dim_t *tap) {
        const float *const row = row_of(a, channel, o, tap);
        const dim_t last = first + (a[2].kernel - 1) * a[2].step;
        if (row && first >= 0 && last < a[2].in)
            for (dim_t i = 0; i < a[2].kernel; i++)
                *to++ = row[(first + i * a[2].step) * a[2].memory];
        else
            to = copy_row(a[2], row, first, a[2].step, a[2].kernel, to);
    });
    return to;
}

/// What a tap meets in all windows, in order.
float *copy_tap(const patch_windows::axis *a, const float *channel, const dim_t *tap, float *to) {
    const dim_t first = a[2].position(0, tap[2]);
    for_positions(a[0].out, a[1].out, 1, [&](const dim_t *o) {
        to = copy_row(a[2], row_of(a, channel, o, tap), first, a[2].stride, a[2].out, to);
    });
    return to;
}

/// Images whose channels lie one after the other: copies, where the pixels do.
class planes {
public:
    /// `w` is of the images, then of the copies.
    planes(const lowering &l, patch_windows &w)
        : src_(l.input_buffer(0, w.src)), image_stride_(w.image_stride), channels_(w.src.dims()[1]),
          pixels_(w.axes[0].in * w.axes[1].in * w.axes[2].in) {
        if (channels_ == 1 || w.channel_stride != 1 || pixels_ == 1)
            return;
        copy_ = l.scratch(memory::desc({channels_ * pixels_}, data_type::f32, format_tag::a));
        w.axes[2].memory = 1;
        w.axes[1].memory = w.axes[2].in;
        w.axes[0].memory = w.axes[1].in * w.axes[2].in;
        w.channel_stride = pixels_;
    }

    const float *image(const run_memory &m, dim_t n) const {
        const float *const x = m.at<float>(src_) + n * image_stride_;
        if (!copy_)
            return x;
        float *const y = m.at<float>(*copy_);
        for (dim_t p = 0; p < pixels_; p++)
            for (dim_t c = 0; c < channels_; c++)
                y[c * pixels_ + p] = x[p * channels_ + c];
        return y;
    }

private:
    buffer src_;
    std::optional<buffer> copy_;
    dim_t image_stride_, channels_, pixels_;
};

class patches_step final : public step {
public:
    patches_step(const lowering &l, buffer patches, const patch_windows &w)
        : patches_(std::move(patches)), windows_(w), planes_(l, windows_) {}

    primitive_step &products() { return products_; }
    void make_primitives() override { products_.make_primitives(); }
    void prepare() const override { products_.prepare(); }
    void run(const stream &s, const run_memory &m) const override {
        gather(m);
        products_.run(s, m);
    }
    std::string implementation() const override { return "loop + " + products_.implementation(); }
    std::string explain() const override {
        return "a plain loop gathers patches of the image\n" + products_.explain();
    }

private:
    void gather(const run_memory &m) const {
        const auto &a = windows_.axes;
        const memory::dims dims = windows_.src.dims();
        float *to = m.at<float>(patches_);
        for (dim_t n = 0; n < dims[0]; n++) {
            const float *const image = planes_.image(m, n);
            for_positions(a[0].out, a[1].out, a[2].out, [&](const dim_t *o) {
                for (dim_t c = 0; c < dims[1]; c++)
                    to = copy_window(a, image + c * windows_.channel_stride, o, to);
            });
        }
    }

    buffer patches_;
    patch_windows windows_;
    planes planes_;
    primitive_step products_;
};

/// A window of a channel that becomes two. Inside the image products of a column are one sum, at its edge all are, behind z.
float sum_of_window(const patch_windows::axis *a, const float *channel, const dim_t *o, const float *weights,
                    float z) {
    constexpr dim_t size = patch_windows::pair_kernel;
    const auto is_inside = [&](const patch_windows::axis &d, dim_t i) {
        return d.position(i, 0) >= 0 && d.position(i, size - 1) < d.in;
    };
    const bool has_lanes = is_inside(a[1], o[1]) && is_inside(a[2], o[2]);
    float lanes[size + 1] = {has_lanes ? 0.f : z};
    for_positions(1, size, size, [&](const dim_t *tap) {
        const dim_t row = a[1].source_index(o[1], tap[1]), column = a[2].source_index(o[2], tap[2]);
        float &lane = lanes[has_lanes ? tap[2] : 0];
        if (row >= 0 && column >= 0)
            lane = std::fma(channel[row + column], weights[tap[1] * size + tap[2]], lane);
    });
    if (!has_lanes)
        return lanes[0];
    for (dim_t distance = 4; distance > 0; distance /= 2)
        for (dim_t i = 0; i < distance; i++)
            lanes[i] += lanes[i + distance];
    return lanes[0] + z;
}

/// Groups that give one channel each, a row of weights times a matrix with a row for each tap, or images of one pixel, the weights
/// times a column of taps, or pairs of channels.
class channels_step final : public followed_loop {
public:
    channels_step(const lowering &l, const conv_sizes &s, const patch_windows &w)
        : sizes_(s), windows_(w), planes_(l, windows_), weights_(l.input_buffer(conv_weights)),
          taps_(l.scratch(memory::desc({s.channels * s.taps * w.outputs() + s.outputs * w.outputs() + 1},
                                       data_type::f32, format_tag::a))),
          dst_(l.output_buffer(activation_desc(l, l.output()))) {
        if (adds_image(l.get_node()))
            summand_.emplace(l.input_buffer(conv_summand, activation_desc(l, l.input(conv_summand))));
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
        for (dim_t n = 0; n < windows_.dst[0]; n++) {
            const float *const image = planes_.image(m, n);
            for (dim_t group = 0; group < sizes_.groups; group++)
                convolve(m, image, n, group);
        }
        run_followers(s, m);
    }

private:
    std::string explain_loop() const override {
        if (windows_.are_pairs())
            return "a plain loop over windows of " + std::to_string(sizes_.groups) + " channels";
        return sizes_.outputs == 1 ? "a plain loop over " + std::to_string(sizes_.groups) +
                                         " channels, four products at a time"
                                   : std::string("a plain loop over channels of one pixel, eight sums each");
    }

    void convolve(const run_memory &m, const float *image, dim_t n, dim_t group) const {
        const auto &a = windows_.axes;
        const dim_t inner = sizes_.channels * sizes_.taps, pixels = windows_.outputs();
        float *to = m.at<float>(taps_);
        for (dim_t c = group * sizes_.channels; c < (group + 1) * sizes_.channels; c++) {
            const float *const channel = image + c * windows_.channel_stride;
            if (windows_.are_pairs())
                continue;
            if (windows_.are_rows())
                for_positions(a[0].out, a[1].out, a[2].out,
                              [&](const dim_t *o) { to = copy_window(a, channel, o, to); });
            else
                for_positions(a[0].kernel, a[1].kernel, a[2].kernel,
                              [&](const dim_t *tap) { to = copy_tap(a, channel, tap, to); });
        }
        float *const sums = to; // behind the taps, channel by channel
        const dim_t first = group * sizes_.outputs;
        for (dim_t o = 0; summand_ && o < sizes_.outputs; o++) {
            const float *const z = summand_->channel(m, n, first + o);
            for (dim_t p = 0; p < pixels; p++)
                sums[o * pixels + p] = z[p * summand_->step];
        }
        const float *const weights = m.at<float>(weights_) + first * inner;
        if (windows_.are_pairs())
            add_windows(image + group * windows_.channel_stride, weights, sums);
        else
            multiply(weights, m.at<float>(taps_), inner, pixels, sums);
        for (dim_t o = 0; o < sizes_.outputs; o++) {
            float *const y = dst_.channel(m, n, first + o), *const sum = sums + o * pixels;
            if (bias_) {
                const float bias = m.at<float>(*bias_)[first + o];
                for (dim_t p = 0; p < pixels; p++)
                    sum[p] += bias;
            }
            for (dim_t p = 0; p < pixels; p++)
                y[p * dst_.step] = sum[p];
        }
    }
    void add_windows(const float *channel, const float *weights, float *sums) const {
        const auto &a = windows_.axes;
        for (dim_t o = 0; o < sizes_.outputs; o++, weights += sizes_.taps)
            for_positions(1, a[1].out, a[2].out, [&](const dim_t *at) {
                *sums = sum_of_window(a, channel, at, weights, summand_ ? *sums : 0.f);
                sums++;
            });
    }
    void multiply(const float *weights, const float *taps, dim_t inner, dim_t pixels, float *sums) const {
        if (windows_.are_rows() && sizes_.outputs == 1)
            return multiply_column(taps, inner, weights, inner, sums, pixels, !summand_);
        if (windows_.are_rows() && windows_.axes[2].in > 1) // their columns lie apart
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

    /// Images of the size of the result, pixels `step` apart.
    struct result_images {
        explicit result_images(buffer b) : images(std::move(b)) {
            const memory::dims strides = images.get_desc().get_strides();
            image_stride = strides[0];
            channel_stride = strides[1];
            step = strides.back();
        }
        float *channel(const run_memory &m, dim_t n, dim_t c) const {
            return m.at<float>(images) + n * image_stride + c * channel_stride;
        }

        buffer images;
        dim_t image_stride, channel_stride, step;
    };

    conv_sizes sizes_;
    patch_windows windows_;
    planes planes_;
    buffer weights_, taps_;
    result_images dst_;
    std::optional<result_images> summand_;
    std::optional<buffer> bias_;
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
    if (s.outputs == 1 || windows.outputs() == 1 || windows.are_pairs())
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
