// Maxima have an order, too: of NaN and of zeros. A row of outputs is computed at a time, tap by tap.
// SPDX-License-Identifier: Apache-2.0
#include "loops/pooling.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "loops/parallel.hpp"

namespace octet::loops {
namespace {

/// A reduction begins with `first` and goes on with `of(so far, element)`.
struct added_up {
    static constexpr float first = 0.f;
    static float of(float r, float v) { return r + v; }
};
/// The maximum of vector instructions: a NaN in the result so far is lost.
struct vector_maximum {
    static constexpr float first = std::numeric_limits<float>::lowest();
    static float of(float r, float v) { return r > v ? r : v; }
};
/// The maximum of std::max: a NaN in the element is lost.
struct scalar_maximum {
    static constexpr float first = std::numeric_limits<float>::lowest();
    static float of(float r, float v) { return r < v ? v : r; }
};

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
void for_rows(const pooled_axes &a, const float *image, const pooled_axis::window &d,
              const pooled_axis::window &h, const Work &work) {
    for (dim_t i = 0; i < d.taps; i++)
        for (dim_t j = 0; j < h.taps; j++)
            work(image + (d.first + i * a[0].step) * a[0].memory + (h.first + j * a[1].step) * a[1].memory);
}

/// Each row of outputs tap by tap. What begins with an element has that of its first tap.
template <typename Op>
void reduce_in_order(const pooled_axes &a, const float *image, const pooled_axis::window &d,
                     const pooled_axis::window &h, bool begins_with_element, float *y) {
    const pooled_axis &w = a[2];
    const dim_t out = w.outputs();
    std::fill_n(y, out, Op::first);
    const dim_t first = std::max<dim_t>((w.begin - (out - 1) * w.stride + w.step - 1) / w.step, 0),
                last = std::min((w.in - 1 + w.begin) / w.step, w.kernel - 1);
    for_rows(a, image, d, h, [&](const float *row) {
        if (std::exchange(begins_with_element, false))
            for (dim_t o = 0; o < out; o++)
                if (const pooled_axis::window &x = w.windows[static_cast<std::size_t>(o)]; x.taps > 0)
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

/// Columns of a window, which `columns` holds for all positions and the padding, then what is in the row.
/// Columns of an image of two dimensions begin with their first element, also where that is negative
/// infinity, NaN or -0.
template <typename Op, typename Tail>
void reduce_rows_first(const pooled_axes &a, const float *image, const pooled_axis::window &d,
                       const pooled_axis::window &h, float *columns, float *y) {
    const pooled_axis &w = a[2];
    std::fill_n(columns, std::max(w.reach(), w.begin + w.in), Op::first);
    float *const inside = columns + w.begin;
    const dim_t in_vectors = w.in - w.in % static_cast<dim_t>(lane_count);
    bool is_first = a[0].memory == 0; // also where the depth is 1, three dimensions begin with Op::first
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

constexpr dim_t longest_row = 2045, most_stride = 2; ///< of the rows that are reduced first
/// The last of their windows reaches beyond the padding by less than a stride.
static_assert(pooling_loop::most_columns == longest_row + most_stride);

/// The only window is the image.
bool are_whole(const pooled_axes &a) {
    return std::all_of(a.begin(), a.end(), [](const pooled_axis &d) {
        return d.kernel == d.in && d.stride == 1 && d.step == 1 && d.outputs() == 1 && d.begin == 0;
    });
}

/// Reduces `count` images that lie one after the other, each in order. Images are interleaved so that the
/// additions of one do not wait for another's.
template <typename Op, int count> void reduce_images(const float *x, dim_t size, float *y) {
    float results[count];
    std::fill_n(results, count, Op::first);
    for (dim_t i = 0; i < size; i++)
        for (int n = 0; n < count; n++)
            results[n] = Op::of(results[n], x[n * size + i]);
    std::copy_n(results, count, y);
}

} // namespace

/// One kind of pooling.
template <typename Op, typename Tail, bool is_average> struct pooling_code {
    const pooling_loop &loop;

    static void run(const pooling_loop &loop, const float *x, dim_t planes, float *y) {
        const auto &[depth, height, width] = loop.axes_;
        const bool are_whole = loop.are_whole_in_order_;
        const dim_t image = depth.in * height.in * width.in,
                    results = depth.outputs() * height.outputs() * width.outputs();
        dim_t counted = 1;
        for (const pooled_axis &a : loop.axes_)
            counted *= are_whole ? a.windows[0].counted : 1;
        parallel_for(planes, image + results, [&](dim_t begin, dim_t end) {
            constexpr int side_by_side = 8;
            dim_t plane = begin;
            for (; are_whole && plane + side_by_side <= end; plane += side_by_side) {
                reduce_images<Tail, side_by_side>(x + plane * image, image, y + plane);
                for (dim_t i = plane; i < plane + side_by_side; i++)
                    finish(y[i], counted);
            }
            for (; plane < end; plane++)
                pooling_code{loop}.pool(x + plane * image, y + plane * results);
        });
    }

    void pool(const float *x, float *y) const {
        float columns[pooling_loop::most_columns];
        for (const pooled_axis::window &d : loop.axes_[0].windows)
            for (const pooled_axis::window &h : loop.axes_[1].windows) {
                reduce(x, d, h, columns, y);
                for (const pooled_axis::window &w : loop.axes_[2].windows)
                    finish(*y++, d.counted * h.counted * w.counted);
            }
    }
    void reduce(const float *x, const pooled_axis::window &d, const pooled_axis::window &h, float *columns,
                float *y) const {
        const pooled_axes &a = loop.axes_;
        if (loop.order_ == pooling_order::over_lanes)
            *y = reduce_over_lanes<Op, Tail>(x, a[0].in * a[1].in * a[2].in);
        else if (loop.order_ == pooling_order::rows_first)
            reduce_rows_first<Op, Tail>(a, x, d, h, columns, y);
        else
            reduce_in_order<Tail>(a, x, d, h, loop.order_ == pooling_order::from_first_element, y);
    }
    static void finish(float &y, dim_t counted) {
        if (is_average)
            y /= static_cast<float>(counted);
    }
};

pooled_axis pooled_axis_of(dim_t in, dim_t out, dim_t kernel, dim_t stride, dim_t step, dim_t begin,
                           dim_t end, bool counts_padding) {
    pooled_axis a{{}, in, kernel, stride, step, begin, begin + in + end, 0};
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

/// ONNX Runtime's kernels for vectors take whole images over lanes, and rows first of small windows.
pooling_order vector_order(const pooled_axes &a, std::size_t rank) {
    constexpr dim_t most_taps = 32;
    if (are_whole(a))
        return pooling_order::over_lanes;
    const bool are_small =
        std::all_of(a.begin(), a.end(), [](const pooled_axis &d) { return d.kernel <= most_taps; });
    return rank >= 4 && a[2].stride <= most_stride && are_small && a[2].padded <= longest_row
               ? pooling_order::rows_first
               : pooling_order::in_order;
}

pooling_loop::run_function pooling_loop::code_of(pooling kind) {
    switch (kind) {
    case pooling::averages:
        return pooling_code<added_up, added_up, true>::run;
    case pooling::maxima:
        return pooling_code<vector_maximum, scalar_maximum, false>::run;
    default:
        return pooling_code<vector_maximum, vector_maximum, false>::run;
    }
}

pooling_loop::pooling_loop(pooling kind, pooled_axes axes, pooling_order order)
    : run_(code_of(kind)), axes_(std::move(axes)), order_(order),
      are_whole_in_order_(order == pooling_order::in_order && are_whole(axes_)) {}

} // namespace octet::loops
