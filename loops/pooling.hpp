#pragma once // SPDX-License-Identifier: Apache-2.0

// Averages and maxima of windows of floats in ONNX Runtime's orders, which no primitive has, on the threads
// of primitives. Images lie row by row, channel by channel. Windows may reach beyond the padded image, as
// `ceil_mode` lets the last ones.

#include <array>
#include <vector>

#include "octet/types.hpp"

namespace octet::loops {

/// One dimension of the image, with the taps of each output that lie in it.
struct pooled_axis {
    struct window {
        dim_t first, taps; ///< in the image
        dim_t counted;     ///< that a sum is divided by
    };
    std::vector<window> windows;
    dim_t in = 1, kernel = 1, stride = 1, step = 1, begin = 0, padded = 1;
    dim_t memory = 0; ///< elements from one position to the next; 0: the image lacks this dimension

    dim_t outputs() const { return static_cast<dim_t>(windows.size()); }
    /// How far the windows reach, from the first one's begin on.
    dim_t reach() const { return (outputs() - 1) * stride + (kernel - 1) * step + 1; }
};

/// `out` windows of `kernel` taps, `step` apart, over `in` elements with padding. Padding counts in averages where
/// `counts_padding`; what is beyond it does not.
pooled_axis pooled_axis_of(dim_t in, dim_t out, dim_t kernel, dim_t stride, dim_t step, dim_t begin,
                           dim_t end, bool counts_padding);

/// Depth, height and width; those that an image does not have are 1.
using pooled_axes = std::array<pooled_axis, 3>;

/// How a window is gone through.
enum class pooling_order { in_order, from_first_element, rows_first, over_lanes };

/// The order of kernels for vectors, for images of so many dimensions: whole images over lanes, small windows
/// rows first.
pooling_order vector_order(const pooled_axes &a, std::size_t rank);

enum class pooling {
    averages,
    maxima,          ///< a NaN so far goes in vectors, one in the element elsewhere
    maxima_of_blocks ///< a NaN so far goes
};

class pooling_loop {
public:
    /// Columns of windows and of the padded image that `rows_first` has room for.
    static constexpr dim_t most_columns = 2047;

    pooling_loop(pooling kind, pooled_axes axes, pooling_order order);
    void run(const float *x, dim_t planes, float *y) const { run_(*this, x, planes, y); }

private:
    template <typename Op, typename Tail, bool is_average> friend struct pooling_code;
    using run_function = void (*)(const pooling_loop &, const float *, dim_t, float *);
    static run_function code_of(pooling kind);

    run_function run_;
    pooled_axes axes_;
    pooling_order order_;
    bool are_whole_in_order_;
};

} // namespace octet::loops
