// ONNX Runtime's averages that no primitive has: over windows that reach beyond the padded image, as `ceil_mode` lets the
// last ones do (padding counts there with `count_include_pad`, what is beyond it does not), and those that add up the
// rows of a window at first.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "network/ops/onnx/float_loops.hpp"

namespace octet::model {
namespace {

/// One dimension of the image, with the taps of each output that lie in it.
struct axis {
    struct window {
        dim_t first, taps; ///< in the image
        dim_t counted;     ///< that the sum is divided by
    };
    std::vector<window> windows;
    dim_t step = 0, src_stride = 0, dst_stride = 0;
};

axis axis_of(dim_t in, dim_t out, dim_t kernel, dim_t stride, dim_t step, dim_t begin, dim_t end,
             bool counts_padding) {
    axis a;
    a.step = step;
    for (dim_t o = 0; o < out; o++) {
        const dim_t start = o * stride - begin;
        const auto taps_before = [&](dim_t position) { // not one by one: a file may name any size
            return std::clamp<dim_t>((position - start + step - 1) / step, 0, kernel);
        };
        const dim_t skipped = start < 0 ? taps_before(0) : 0;
        const dim_t taps = std::max<dim_t>(taps_before(in) - skipped, 0);
        a.windows.push_back({start + skipped * step, taps, counts_padding ? taps_before(in + end) : taps});
    }
    return a;
}

class average_loop final : public loop_step {
public:
    average_loop(const lowering &l, const memory::desc &src, const memory::desc &dst,
                 std::array<axis, 3> axes)
        : src_(l.input_buffer(0, src)), dst_(l.output_buffer(dst)), images_(src.dims()[0]),
          channels_(src.dims()[1]), src_strides_(src.get_strides()), dst_strides_(dst.get_strides()),
          axes_(std::move(axes)), adds_rows_first_(l.integer(rows_of_windows_first, 0) != 0) {}

    void run(const stream &, const run_memory &m) const override {
        for (dim_t n = 0; n < images_; n++)
            for (dim_t c = 0; c < channels_; c++)
                average(m.at<float>(src_) + n * src_strides_[0] + c * src_strides_[1],
                        m.at<float>(dst_) + n * dst_strides_[0] + c * dst_strides_[1]);
    }
    std::string explain() const override { return "a plain loop over windows"; }

private:
    void average(const float *image, float *y) const {
        const auto &[depth, height, width] = axes_;
        for (std::size_t d = 0; d < depth.windows.size(); d++)
            for (std::size_t h = 0; h < height.windows.size(); h++)
                for (std::size_t w = 0; w < width.windows.size(); w++) {
                    const axis::window &wd = depth.windows[d], &wh = height.windows[h],
                                       &ww = width.windows[w];
                    y[static_cast<dim_t>(d) * depth.dst_stride + static_cast<dim_t>(h) * height.dst_stride +
                      static_cast<dim_t>(w) * width.dst_stride] =
                        sum(image, wd, wh, ww) / static_cast<float>(wd.counted * wh.counted * ww.counted);
                }
    }

    float sum(const float *image, const axis::window &d, const axis::window &h, const axis::window &w) const {
        const auto at = [](const axis &a, const axis::window &x, dim_t tap) {
            return (x.first + tap * a.step) * a.src_stride;
        };
        const auto element = [&](dim_t i, dim_t j, dim_t k) {
            return image[at(axes_[0], d, i) + at(axes_[1], h, j) + at(axes_[2], w, k)];
        };
        float total = -0.f; // so that zeros keep their sign
        for (dim_t k = 0; adds_rows_first_ && k < w.taps; k++) {
            float column = -0.f;
            for (dim_t i = 0; i < d.taps; i++)
                for (dim_t j = 0; j < h.taps; j++)
                    column += element(i, j, k);
            total += column;
        }
        for (dim_t i = 0; !adds_rows_first_ && i < d.taps; i++) // in the order of the window
            for (dim_t j = 0; j < h.taps; j++)
                for (dim_t k = 0; k < w.taps; k++)
                    total += element(i, j, k);
        return total;
    }

    buffer src_, dst_;
    dim_t images_, channels_;
    memory::dims src_strides_, dst_strides_;
    std::array<axis, 3> axes_;
    bool adds_rows_first_;
};

} // namespace

std::unique_ptr<step> make_average_loop(const lowering &l, const memory::desc &src, const memory::desc &dst,
                                        const memory::dims &kernel, const window_geometry &g,
                                        bool counts_padding) {
    const memory::dims in = src.dims(), out = dst.dims();
    std::array<axis, 3> axes;
    axes.fill(axis_of(1, 1, 1, 1, 1, 0, 0, counts_padding)); // dimensions that the image does not have
    for (std::size_t i = 0; i < kernel.size(); i++) {
        axis &a = axes[3 - kernel.size() + i];
        a = axis_of(in[2 + i], out[2 + i], kernel[i], g.strides[i], g.dilates[i] + 1, g.padding_l[i],
                    g.padding_r[i], counts_padding);
        a.src_stride = src.get_strides()[2 + i];
        a.dst_stride = dst.get_strides()[2 + i];
    }
    return std::make_unique<average_loop>(l, src, dst, std::move(axes));
}

} // namespace octet::model
