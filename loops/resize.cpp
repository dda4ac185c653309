// Threads divide the rows of all images.
// SPDX-License-Identifier: Apache-2.0
#include "loops/resize.hpp"

#include <algorithm>
#include <utility>

#include "loops/parallel.hpp"

namespace octet::loops {
namespace {

/// One row of results, of two rows of the source. Returns its end.
template <bool by_rows, typename T>
T *resize_row(const T *near, const T *far, const between_two y, const std::vector<between_two> &columns,
              T *to) {
    const auto term = [](float a, float b, T value) { return a * b * static_cast<float>(value); };
    for (const between_two &x : columns) {
        const float upper = term(x.near_weight, y.near_weight, near[x.near]) +
                            term(x.far_weight, y.near_weight, near[x.far]),
                    lower_near = term(x.near_weight, y.far_weight, far[x.near]),
                    lower_far = term(x.far_weight, y.far_weight, far[x.far]);
        *to++ = static_cast<T>(by_rows ? upper + (lower_near + lower_far) : upper + lower_near + lower_far);
    }
    return to;
}

/// Rows `begin` to `end` - 1 of the results of all images.
template <bool by_rows, typename T>
void resize_rows(const T *x, dim_t image_size, dim_t width, const std::vector<between_two> &rows,
                 const std::vector<between_two> &columns, dim_t begin, dim_t end, T *y) {
    const std::size_t height = rows.size();
    const T *image = x + begin / static_cast<dim_t>(height) * image_size;
    std::size_t row = static_cast<std::size_t>(begin) % height;
    y += begin * static_cast<dim_t>(columns.size());
    for (; begin < end; begin++) {
        y = resize_row<by_rows>(image + rows[row].near * width, image + rows[row].far * width, rows[row],
                                columns, y);
        if (++row == height) { // a division for each row would cost as much as some results
            row = 0;
            image += image_size;
        }
    }
}

constexpr dim_t work_of_four = 8; ///< in additions

} // namespace

template <typename T>
void resize_bilinear(const T *x, dim_t images, dim_t image_size, dim_t width,
                     const std::vector<between_two> &rows, const std::vector<between_two> &columns,
                     bilinear_order order, T *y) {
    const auto resize = order == bilinear_order::by_rows ? resize_rows<true, T> : resize_rows<false, T>;
    parallel_for(images * static_cast<dim_t>(rows.size()), static_cast<dim_t>(columns.size()) * work_of_four,
                 [&](dim_t begin, dim_t end) { resize(x, image_size, width, rows, columns, begin, end, y); });
}
template void resize_bilinear(const float *, dim_t, dim_t, dim_t, const std::vector<between_two> &,
                              const std::vector<between_two> &, bilinear_order, float *);
template void resize_bilinear(const std::uint8_t *, dim_t, dim_t, dim_t, const std::vector<between_two> &,
                              const std::vector<between_two> &, bilinear_order, std::uint8_t *);
template void resize_bilinear(const std::int8_t *, dim_t, dim_t, dim_t, const std::vector<between_two> &,
                              const std::vector<between_two> &, bilinear_order, std::int8_t *);

bicubic::bicubic(dim_t height, dim_t width, std::vector<among_four> rows, std::vector<among_four> columns)
    : height_(height), width_(width), rows_(std::move(rows)), columns_(std::move(columns)) {}

dim_t bicubic::together(dim_t images) const {
    constexpr dim_t room = 1 << 18; // floats
    return std::clamp<dim_t>(room / std::max<dim_t>(height_ * columns(), 1), 1, std::max<dim_t>(images, 1));
}

void bicubic::run(const float *x, dim_t images, float *scratch, float *y) const {
    constexpr std::size_t taps = among_four::taps;
    const dim_t width = columns(), height = rows();
    for (dim_t first = 0, count; first < images; first += count) {
        count = std::min(together(images), images - first);
        const float *const from = x + first * height_ * width_;
        parallel_for(count * height_, width * work_of_four, [&](dim_t begin, dim_t end) {
            for (dim_t r = begin; r < end; r++) {
                const float *const row = from + r * width_;
                float *to = scratch + r * width;
                for (const among_four &c : columns_) {
                    float sum = 0.f;
                    for (std::size_t k = 0; k < taps; k++)
                        sum += c.weight[k] / c.sum * row[c.at[k]];
                    *to++ = sum;
                }
            }
        });
        parallel_for(count * height, width * work_of_four, [&](dim_t begin, dim_t end) {
            for (dim_t r = begin; r < end; r++) {
                const among_four &c = rows_[static_cast<std::size_t>(r % height)];
                const float *const image = scratch + r / height * height_ * width;
                float *const to = y + (first * height + r) * width;
                for (dim_t i = 0; i < width; i++) {
                    float sum = 0.f;
                    for (std::size_t k = 0; k < taps; k++)
                        sum += image[c.at[k] * width + i] * c.weight[k] / c.sum;
                    to[i] = sum;
                }
            }
        });
    }
}

} // namespace octet::loops
