// ONNX Runtime's poolings of floats whose order no primitive has: windows in order or rows first, images as a whole over four lanes; also
// windows that reach beyond the padded image, as `ceil_mode` lets the last ones do (padding counts there with `count_include_pad`, what is
// beyond it does not). Maxima have an order, too: of NaN and of zeros. A row of outputs is computed at a time, tap by tap.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/shapes/images.hpp"
#include "octet/parallel_loop.hpp"

namespace octet::model {
namespace {

/// What is reduced: `first`, then `of(so far, element)`.
struct sum {
    static constexpr float first = 0.f;
    static float of(float r, float v) { return r + v; }
};
/// As instructions for vectors have it: a NaN in what is so far goes.
struct vector_maximum {
    static constexpr float first = std::numeric_limits<float>::lowest();
    static float of(float r, float v) { return r > v ? r : v; }
};
/// As std::max has it: a NaN in the element goes.
struct scalar_maximum {
    static constexpr float first = std::numeric_limits<float>::lowest();
    static float of(float r, float v) { return r < v ? v : r; }
};

/// One dimension of the image, with the taps of each output that lie in it.
struct axis {
    struct window {
        dim_t first, taps; ///< in the image
        dim_t counted;     ///< that a sum is divided by
    };
    std::vector<window> windows;
    dim_t in = 1, kernel = 1, stride = 1, step = 1, begin = 0, padded = 1, memory = 0;

    dim_t outputs() const { return static_cast<dim_t>(windows.size()); }
    /// How far the windows reach, from the first one's begin on.
    dim_t reach() const { return (outputs() - 1) * stride + (kernel - 1) * step + 1; }
};

axis axis_of(dim_t in, dim_t out, dim_t kernel, dim_t stride, dim_t step, dim_t begin, dim_t end,
             bool counts_padding) {
    axis a{{}, in, kernel, stride, step, begin, begin + in + end, 0};
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

/// Depth, height and width; those that an image does not have are 1.
using image_axes = std::array<axis, 3>;

constexpr std::size_t lane_count = 4;

template <typename Op, typename Tail> float reduce_over_lanes(const float *x, dim_t count) {
    std::array<float, lane_count> lanes;
    lanes.fill(Op::first);
    dim_t k = 0;
    for (; k + static_cast<dim_t>(lane_count) <= count; k += static_cast<dim_t>(lane_count))
        for (std::size_t i = 0; i < lane_count; i++)
            lanes[i] = Op::of(lanes[i], x[k + static_cast<dim_t>(i)]);
    float result = Op::of(Op::of(lanes[0], lanes[2]), Op::of(lanes[1], lanes[3]));
    for (; k < count; k++)
        result = Tail::of(result, x[k]);
    return result;
}

/// Calls work(row of the image) for the rows of a window, in order.
template <typename Work>
void for_rows(const image_axes &a, const float *image, const axis::window &d, const axis::window &h,
              const Work &work) {
    for (dim_t i = 0; i < d.taps; i++)
        for (dim_t j = 0; j < h.taps; j++)
            work(image + (d.first + i * a[0].step) * a[0].memory + (h.first + j * a[1].step) * a[1].memory);
}

/// Each row of outputs tap by tap. What begins with an element has that of its first tap.
template <typename Op>
void reduce_in_order(const image_axes &a, const float *image, const axis::window &d, const axis::window &h,
                     bool begins_with_element, float *y) {
    const axis &w = a[2];
    const dim_t out = w.outputs();
    std::fill_n(y, out, Op::first);
    const dim_t first = std::max<dim_t>((w.begin - (out - 1) * w.stride + w.step - 1) / w.step, 0),
                last = std::min((w.in - 1 + w.begin) / w.step, w.kernel - 1);
    for_rows(a, image, d, h, [&](const float *row) {
        if (std::exchange(begins_with_element, false))
            for (dim_t o = 0; o < out; o++)
                if (const axis::window &x = w.windows[static_cast<std::size_t>(o)]; x.taps > 0)
                    y[o] = row[x.first];
        if (out == 1) { // one output, in a register
            float r = y[0];
            for (dim_t k = first; k <= last; k++)
                if (const dim_t p = k * w.step - w.begin; p >= 0 && p < w.in)
                    r = Op::of(r, row[p]);
            y[0] = r;
            return;
        }
        for (dim_t k = first; k <= last; k++) {
            const dim_t shift = k * w.step - w.begin; // of the first output's tap
            const dim_t begin = shift < 0 ? (-shift + w.stride - 1) / w.stride : 0,
                        end = shift >= w.in ? 0 : std::min(out, (w.in - 1 - shift) / w.stride + 1);
            const float *const x = row + shift;
            if (w.stride == 1)
                for (dim_t o = begin; o < end; o++)
                    y[o] = Op::of(y[o], x[o]);
            else
                for (dim_t o = begin; o < end; o++)
                    y[o] = Op::of(y[o], x[o * w.stride]);
        }
    });
}

/// Columns of a window, which `columns` holds for all positions and the padding, then what is in the row. Columns of an image of two
/// dimensions begin with their first element, also where that is negative infinity, NaN or -0.
template <typename Op, typename Tail>
void reduce_rows_first(const image_axes &a, const float *image, const axis::window &d, const axis::window &h,
                       float *columns, float *y) {
    const axis &w = a[2];
    std::fill_n(columns, std::max(w.reach(), w.begin + w.in), Op::first);
    float *const inside = columns + w.begin;
    const dim_t in_vectors = w.in - w.in % static_cast<dim_t>(lane_count);
    bool is_first = a[0].kernel * a[0].in == 1;
    for_rows(a, image, d, h, [&](const float *row) {
        if (std::exchange(is_first, false)) {
            std::copy_n(row, w.in, inside);
            return;
        }
        for (dim_t p = 0; p < in_vectors; p++)
            inside[p] = Op::of(inside[p], row[p]);
        for (dim_t p = in_vectors; p < w.in; p++)
            inside[p] = Tail::of(inside[p], row[p]);
    });
    for (dim_t o = 0; o < w.outputs(); o++)
        y[o] = columns[o * w.stride];
    for (dim_t k = 1; k < w.kernel; k++)
        for (dim_t o = 0; o < w.outputs(); o++)
            y[o] = Op::of(y[o], columns[o * w.stride + k * w.step]);
}

/// How ONNX Runtime goes through windows.
enum class window_order { in_order, from_first_element, rows_first, over_lanes };

constexpr dim_t longest_row = 2045, most_stride = 2; ///< of the rows that are reduced first
/// The last of their windows reaches beyond the padding by less than a stride.
constexpr dim_t most_columns = longest_row + most_stride;

/// The only window is the image.
bool are_whole(const image_axes &a) {
    return std::all_of(a.begin(), a.end(), [](const axis &d) {
        return d.kernel == d.in && d.stride == 1 && d.step == 1 && d.outputs() == 1 && d.begin == 0;
    });
}

/// Its kernels for vectors take whole images over lanes, and rows first of small windows.
window_order vector_order(const image_axes &a, std::size_t rank) {
    constexpr dim_t most_taps = 32;
    if (are_whole(a))
        return window_order::over_lanes;
    const bool are_small =
        std::all_of(a.begin(), a.end(), [](const axis &d) { return d.kernel <= most_taps; });
    return rank >= 4 && a[2].stride <= most_stride && are_small && a[2].padded <= longest_row
               ? window_order::rows_first
               : window_order::in_order;
}

/// Of `count` images that lie one after the other, each in order: what is computed of one does not wait for another.
template <typename Op, int count> void reduce_images(const float *x, dim_t size, float *y) {
    float results[count];
    std::fill_n(results, count, Op::first);
    for (dim_t i = 0; i < size; i++)
        for (int n = 0; n < count; n++)
            results[n] = Op::of(results[n], x[n * size + i]);
    std::copy_n(results, count, y);
}

template <typename Op, typename Tail, bool is_average> class pooling_loop final : public loop_step {
public:
    pooling_loop(const lowering &l, const memory::desc &src, const memory::desc &dst, image_axes axes,
                 window_order order)
        : src_(l.input_buffer(0, src)), dst_(l.output_buffer(dst)), planes_(src.dims()[0] * src.dims()[1]),
          axes_(std::move(axes)), order_(order),
          are_whole_in_order_(order == window_order::in_order && are_whole(axes_)) {
        if (src.dims()[0] != dst.dims()[0] || src.dims()[1] != dst.dims()[1])
            refuse("input " + to_text(src.dims()) + " and output " + to_text(dst.dims()) +
                   " differ in images");
        if (const dim_t reach = axes_[2].reach();
            order == window_order::rows_first && (reach > most_columns || axes_[2].padded > most_columns))
            refuse("windows reach " + std::to_string(reach) + " columns; allowed are up to " +
                   std::to_string(most_columns));
    }

    void run(const stream &, const run_memory &m) const override {
        const auto &[depth, height, width] = axes_;
        constexpr dim_t worth = 1 << 15; // elements
        const dim_t image = depth.in * height.in * width.in,
                    results = depth.outputs() * height.outputs() * width.outputs();
        dim_t counted = 1;
        for (const axis &a : axes_)
            counted *= are_whole_in_order_ ? a.windows[0].counted : 1;
        const float *const images = m.at<float>(src_);
        float *const all = m.at<float>(dst_);
        parallel_loop(planes_, worth / (image + results) + 1, [&](dim_t begin, dim_t end) {
            constexpr int side_by_side = 8;
            dim_t plane = begin;
            for (; are_whole_in_order_ && plane + side_by_side <= end; plane += side_by_side) {
                reduce_images<Tail, side_by_side>(images + plane * image, image, all + plane);
                for (dim_t i = plane; i < plane + side_by_side; i++)
                    finish(all[i], counted);
            }
            for (; plane < end; plane++)
                pool(images + plane * image, all + plane * results);
        });
    }
    std::string explain() const override { return "a plain loop over windows"; }

private:
    void pool(const float *x, float *y) const {
        const axis &width = axes_[2];
        float columns[most_columns];
        for (const axis::window &d : axes_[0].windows)
            for (const axis::window &h : axes_[1].windows) {
                reduce(x, d, h, columns, y);
                for (const axis::window &w : width.windows)
                    finish(*y++, d.counted * h.counted * w.counted);
            }
    }
    void reduce(const float *x, const axis::window &d, const axis::window &h, float *columns,
                float *y) const {
        if (order_ == window_order::over_lanes)
            *y = reduce_over_lanes<Op, Tail>(x, axes_[0].in * axes_[1].in * axes_[2].in);
        else if (order_ == window_order::rows_first)
            reduce_rows_first<Op, Tail>(axes_, x, d, h, columns, y);
        else
            reduce_in_order<Tail>(axes_, x, d, h, order_ == window_order::from_first_element, y);
    }
    static void finish(float &y, dim_t counted) {
        if (is_average)
            y /= static_cast<float>(counted);
    }

    buffer src_, dst_;
    dim_t planes_;
    image_axes axes_;
    window_order order_;
    bool are_whole_in_order_;
};

image_axes axes_of(const lowering &l, const pooled_images &p, bool counts_padding) {
    if (l.integer("channels_last", 0) != 0)
        refuse_as_unimplemented("attribute 'channels_last' is 1, allowed is 0 for floats");
    const memory::dims in = p.src.dims(), out = p.dst.dims();
    image_axes axes;
    axes.fill(axis_of(1, 1, 1, 1, 1, 0, 0, counts_padding));
    dim_t memory = 1;
    for (std::size_t i = p.kernel.size(); i-- > 0;) {
        axis &a = axes[3 - p.kernel.size() + i];
        a = axis_of(in[2 + i], out[2 + i], p.kernel[i], p.g.strides[i], p.g.dilates[i] + 1, p.g.padding_l[i],
                    p.g.padding_r[i], counts_padding);
        a.memory = memory;
        memory *= in[2 + i];
    }
    return axes;
}

} // namespace

std::unique_ptr<step> make_average_loop(const lowering &l, const pooled_images &p, bool counts_padding) {
    image_axes axes = axes_of(l, p, counts_padding);
    const bool has_vectors = l.marks().pools_by_vectors;
    const window_order order = has_vectors ? vector_order(axes, p.src.dims().size()) : window_order::in_order;
    return std::make_unique<pooling_loop<sum, sum, true>>(l, p.src, p.dst, std::move(axes), order);
}

std::unique_ptr<step> make_maximum_loop(const lowering &l, const pooled_images &p) {
    image_axes axes = axes_of(l, p, false);
    const bool is_dilated =
        std::any_of(axes.begin(), axes.end(), [](const axis &a) { return a.step != 1 && a.kernel > 1; });
    if (p.src.dims().size() == 4 && p.src.dims()[1] % channels_of_block == 0) // in blocks of channels
        return std::make_unique<pooling_loop<vector_maximum, vector_maximum, false>>(
            l, p.src, p.dst, std::move(axes), window_order::in_order);
    const window_order order =
        is_dilated ? window_order::from_first_element : vector_order(axes, p.src.dims().size());
    return std::make_unique<pooling_loop<vector_maximum, scalar_maximum, false>>(l, p.src, p.dst,
                                                                                 std::move(axes), order);
}

} // namespace octet::model
