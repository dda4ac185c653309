#pragma once // SPDX-License-Identifier: Apache-2.0

// Resizing of images by tables of weights for the indices of an axis, on the threads of primitives.

#include <cstdint>
#include <vector>

#include "octet/types.hpp"

namespace octet::loops {

/// An element between two.
struct between_two {
    dim_t near, far;
    float near_weight, far_weight;
};

/// How the four weighted elements around one are added up.
enum class bilinear_order {
    in_sequence, ///< ((a + b) + c) + d
    by_rows      ///< (a + b) + (c + d)
};

/// Images of `width` columns; each result is four elements of its image, each times the weight of its column,
/// times that of its row. T is float, or codes, of which results are the integer part.
template <typename T>
void resize_bilinear(const T *x, dim_t images, dim_t image_size, dim_t width,
                     const std::vector<between_two> &rows, const std::vector<between_two> &columns,
                     bilinear_order order, T *y);

/// An element among four: the sum of their weights may differ from 1.
struct among_four {
    static constexpr std::size_t taps = 4;
    dim_t at[taps];
    float weight[taps], sum;
};

/// First along the rows of the source, then along its columns, as sums of four in order.
class bicubic {
public:
    bicubic(dim_t height, dim_t width, std::vector<among_four> rows, std::vector<among_four> columns);

    /// Floats of scratch that `run` needs for so many images.
    dim_t scratch_size(dim_t images) const { return together(images) * height_ * columns(); }
    void run(const float *x, dim_t images, float *scratch, float *y) const;

private:
    dim_t columns() const { return static_cast<dim_t>(columns_.size()); }
    dim_t rows() const { return static_cast<dim_t>(rows_.size()); }
    /// So many images are resized at a time: one large one, or small ones that are work for several threads.
    dim_t together(dim_t images) const;

    dim_t height_, width_; ///< of the source
    std::vector<among_four> rows_, columns_;
};

} // namespace octet::loops
