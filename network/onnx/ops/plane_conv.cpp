// A float Conv as products of matrices, in ONNX Runtime's order: the weights of each group times what their
// taps meet, channel by channel. Images are copied with their padding, so that what a tap meets in
// neighbouring windows lies side by side; nothing is gathered. A group of one channel is a product of one
// row, an image of one pixel one of a column: their orders are others. So is that of two channels by kernels
// of 7 x 7 at strides of 2, for which ONNX Runtime has a loop (MobileCLIP's).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "loops/parallel.hpp"
#include "loops/plane_products.hpp"
#include "loops/vector_products.hpp"
#include "loops/windows.hpp"
#include "network/onnx/ops/float_conv.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/shapes/images.hpp"

namespace octet::model {
namespace {

struct conv_windows : loops::window_axes {
    static constexpr dim_t pair_kernel = 7;

    conv_windows(const lowering &l, const window_geometry &g) {
        const memory::dims &w = l.input(conv_weights).dims, &x = l.input(0).dims, &y = l.output().dims;
        const std::size_t rank = x.size() - 2;
        for (std::size_t d = 0; d < rank; d++)
            axes[3 + d - rank] = {x[2 + d],     y[2 + d],         w[2 + d],
                                  g.strides[d], g.dilates[d] + 1, g.padding_l[d]};
        const auto are_all = [](const memory::dims &all, dim_t value) {
            return std::all_of(all.begin(), all.end(), [&](dim_t p) { return p == value; });
        };
        are_rows = x.size() <= 4 && w[1] == 1 && x.back() == w.back() && are_all(g.padding_l, 0) &&
                   are_all(g.padding_r, 0) && are_all(g.dilates, 0) && are_all(g.strides, 1);
        are_pairs = x.size() == 4 && w[1] == 1 && w[0] == 2 * x[1] && x[1] > 1 && w[2] == pair_kernel &&
                    w[3] == pair_kernel && are_all(g.strides, 2) && are_all(g.padding_l, pair_kernel / 2) &&
                    are_all(g.padding_r, pair_kernel / 2) && are_all(g.dilates, 0) && outputs() > 1;
    }

    bool are_rows;  ///< of a matrix: an image has one channel, and each window the whole width
    bool are_pairs; ///< of channels, for which ONNX Runtime has a loop
};

/// Both kinds of steps read and write these operands.
class plane_step : public followed_loop {
protected:
    plane_step(const lowering &l, const conv_sizes &s, const conv_windows &w)
        : sizes_(s), windows_(w), images_(l.input(0).dims[0]), src_(l.input_buffer(0)),
          weights_(l.input_buffer(conv_weights)), dst_(l.output_buffer()),
          bias_(bias_of_channels(l, s.groups * s.outputs)) {
        if (adds_image(l.get_node()))
            summand_ = l.input_buffer(conv_summand);
        take_followers(l, activation_desc(l, l.output()));
    }

    /// Returns the operands of a group; `source` is its first channel's.
    loops::plane_products::operands operands_of(const run_memory &m, dim_t group, const float *source) const {
        const dim_t first = group % sizes_.groups * sizes_.outputs,
                    place = group * sizes_.outputs * windows_.outputs();
        return {m.at<float>(weights_) + first * sizes_.channels * sizes_.taps, source,
                summand_ ? m.at<float>(*summand_) + place : nullptr,
                bias_ ? m.at<float>(*bias_) + first : nullptr, m.at<float>(dst_) + place};
    }
    dim_t group_count() const { return images_ * sizes_.groups; } ///< of all images

    conv_sizes sizes_;
    conv_windows windows_;
    dim_t images_;
    buffer src_, weights_, dst_;
    std::optional<buffer> bias_, summand_;
};

class products_step final : public plane_step {
public:
    products_step(const lowering &l, const conv_sizes &s, const conv_windows &w)
        : plane_step(l, s, w), channels_(w) {
        const loops::window_axis *const a = w.axes;
        const dim_t pixels = w.outputs();
        products_.outputs = s.outputs;
        products_.inner = products_.weights_row = s.channels * s.taps;
        products_.block = float_reduction_block(products_.inner, pixels);
        products_.result_row = pixels;
        for (dim_t c = 0; c < s.channels; c++)
            loops::for_positions(a[0].kernel, a[1].kernel, a[2].kernel, [&](const dim_t *tap) {
                products_.rows.push_back(c * channels_.size() + channels_.shift(tap));
            });
        if (!channels_.is_copied()) {
            products_.add_columns(0, 0, pixels);
            return;
        }
        copies_ = l.scratch(
            memory::desc({group_count() * s.channels * channels_.size()}, data_type::f32, format_tag::a));
        dim_t dst = 0;
        for (dim_t z = 0; z < a[0].out; z++)
            for (dim_t y = 0; y < a[1].out; y++, dst += a[2].out)
                products_.add_columns(channels_.row(z, y), dst, a[2].out);
    }

    void run(const stream &s, const run_memory &m) const override {
        const float *source = m.at<float>(src_);
        if (copies_) {
            const float *const images = source;
            float *const copies = m.at<float>(*copies_);
            const dim_t size = channels_.size();
            loops::parallel_for(group_count() * sizes_.channels, size, [&](dim_t begin, dim_t end) {
                for (dim_t c = begin; c < end; c++)
                    channels_.copy(images + c * windows_.inputs(), copies + c * size);
            });
            source = copies;
        }
        products_.run_all(group_count(), [&](dim_t group) {
            return operands_of(m, group, source + group * sizes_.channels * channels_.size());
        });
        run_followers(s, m);
    }

private:
    std::string explain_loop() const override {
        return "a loop multiplies the weights of " + std::to_string(sizes_.groups) +
               " groups by planes of pixels, " + std::to_string(products_.inner) + " products in blocks of " +
               std::to_string(products_.block);
    }

    loops::padded_channels channels_;
    loops::plane_products products_;
    std::optional<buffer> copies_;
};

/// Groups that give one channel each, a row of weights times a matrix with a row for each tap, or images of
/// one pixel, the weights times a column of taps. Threads divide the results of all groups; of the matrix,
/// few rows exist at a time.
class vectors_step final : public plane_step {
public:
    vectors_step(const lowering &l, const conv_sizes &s, const conv_windows &w)
        : plane_step(l, s, w), inner_(s.channels * s.taps), results_(s.outputs * w.outputs()) {
        const loops::window_axis *const a = w.axes;
        const bool is_image = std::all_of(a, a + 3, [](const loops::window_axis &d) {
            return d.kernel == d.in && d.pad == 0 && d.step == 1;
        });
        if (has_columns() && !is_image)
            columns_ = l.scratch(memory::desc({group_count() * inner_}, data_type::f32, format_tag::a));
    }

    void run(const stream &s, const run_memory &m) const override {
        const dim_t size = sizes_.channels * windows_.inputs();
        const float *sources = m.at<float>(src_);
        if (columns_) {
            float *const columns = m.at<float>(*columns_);
            loops::parallel_for(group_count(), inner_ * 2, [&](dim_t begin, dim_t end) {
                for (dim_t g = begin; g < end; g++)
                    loops::gather_taps(windows_, sources + g * size, 0, inner_, 0, 1, columns + g * inner_);
            });
            sources = columns;
        }
        const dim_t source_size = columns_ ? inner_ : size;
        loops::for_parts(group_count(), results_, part, inner_ * 2,
                         [&](dim_t group, dim_t first, dim_t count) {
                             convolve(operands_of(m, group, sources + group * source_size), first, count);
                         });
        run_followers(s, m);
    }

private:
    /// Results at a time, a multiple of the rows that `multiply_column` takes together.
    static constexpr dim_t part = 1024;

    std::string explain_loop() const override {
        return sizes_.outputs == 1 ? "a plain loop over " + std::to_string(sizes_.groups) +
                                         " channels, four products at a time"
                                   : std::string("a plain loop over channels of one pixel, eight sums each");
    }

    /// Rows that are several columns wide lie as ONNX Runtime's product wants them, and are added up in
    /// order.
    bool are_in_order() const { return windows_.are_rows && sizes_.outputs > 1 && windows_.axes[2].in > 1; }
    /// One pixel's weights are multiplied by a column of what its taps meet.
    bool has_columns() const { return !windows_.are_rows && sizes_.outputs > 1; }

    /// `count` results of a group.
    void convolve(const loops::plane_products::operands &o, dim_t first, dim_t count) const {
        float *const y = o.result + first;
        if (o.initial)
            std::copy_n(o.initial + first, count, y);
        const float *const weights = o.weights + (sizes_.outputs > 1 ? first * inner_ : 0);
        if (windows_.are_rows && sizes_.outputs == 1) { // what a window holds lies side by side
            const dim_t width = windows_.axes[2].in;
            loops::multiply_column(o.source + first * width, width, o.weights, inner_, y, count, !summand_);
        } else if (are_in_order())
            multiply_in_order(weights, o.source, y, count);
        else if (sizes_.outputs == 1)
            multiply_taps(o, first, count, y);
        else
            loops::multiply_column(weights, inner_, o.source, inner_, y, count, !summand_);
        for (dim_t i = 0; o.bias && i < count; i++)
            y[i] += o.bias[sizes_.outputs == 1 ? 0 : first + i];
    }

    void multiply_taps(const loops::plane_products::operands &o, dim_t first, dim_t count, float *y) const {
        constexpr dim_t room = 4 * part; // of the first cache
        float taps[room];
        const dim_t rows = room / count / 4 * 4;
        for (dim_t k = 0; k < inner_; k += rows) {
            const dim_t n = std::min(rows, inner_ - k);
            loops::gather_taps(windows_, o.source, k, n, first, count, taps);
            loops::multiply_row(o.weights + k, taps, count, n, y, count, k == 0 && !summand_);
        }
    }

    /// One pixel, by blocks.
    void multiply_in_order(const float *weights, const float *taps, float *sums, dim_t count) const {
        const dim_t block = float_reduction_block(inner_, 1);
        for (dim_t o = 0; o < count; o++)
            for (dim_t first = 0; first < inner_; first += block) {
                float sum = 0;
                for (dim_t k = first; k < std::min(first + block, inner_); k++)
                    sum = std::fma(weights[o * inner_ + k], taps[k], sum);
                sums[o] = first == 0 && !summand_ ? sum : sums[o] + sum;
            }
    }

    dim_t inner_, results_; ///< products of a result; results of a group
    std::optional<buffer> columns_;
};

/// Channels that become two each.
class pairs_step final : public plane_step {
public:
    pairs_step(const lowering &l, const conv_sizes &s, const conv_windows &w) : plane_step(l, s, w) {}

    void run(const stream &s, const run_memory &m) const override {
        const dim_t results = group_count() * sizes_.outputs, pixels = windows_.outputs();
        loops::parallel_for(results, sizes_.taps * pixels * 2, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t group = i / sizes_.outputs;
                convolve(operands_of(m, group, m.at<float>(src_) + group * windows_.inputs()),
                         i % sizes_.outputs);
            }
        });
        run_followers(s, m);
    }

private:
    std::string explain_loop() const override {
        return "a plain loop over windows of " + std::to_string(sizes_.groups) + " channels";
    }

    void convolve(const loops::plane_products::operands &o, dim_t output) const {
        const loops::window_axis *const a = windows_.axes;
        const dim_t place = output * windows_.outputs();
        const float *initial = o.initial + (o.initial ? place : 0);
        float *sums = o.result + place;
        loops::for_positions(1, a[1].out, a[2].out, [&](const dim_t *at) {
            const float sum = loops::sum_of_pair_window(
                windows_, o.source, at, o.weights + output * sizes_.taps, initial ? *initial++ : 0.f);
            *sums++ = o.bias ? sum + o.bias[output] : sum;
        });
    }
};

} // namespace

std::unique_ptr<step> convolution_of_planes(const lowering &l, const conv_sizes &s,
                                            const window_geometry &g) {
    const tensor &w = l.input(conv_weights), &x = l.input(0), &y = l.output({data_type::f32});
    if (y.dims.size() != x.dims.size() || y.dims[0] != x.dims[0] || y.dims[1] != w.dims[0] || s.taps < 1)
        refuse("output " + to_text(y.dims) + " is not that of " + to_text(x.dims) + " and weights " +
               to_text(w.dims));
    if (x.is_channels_last || y.is_channels_last)
        refuse("images of floats whose channels do not fit blocks lie channel by channel");
    const conv_windows windows(l, g);
    if (windows.are_pairs)
        return std::make_unique<pairs_step>(l, s, windows);
    if (s.outputs == 1 || windows.outputs() == 1)
        return std::make_unique<vectors_step>(l, s, windows);
    return std::make_unique<products_step>(l, s, windows);
}

} // namespace octet::model
