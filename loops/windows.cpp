// Images are copied by rows: what taps meet in neighbouring windows lies side by side, every `stride`-th element.
// SPDX-License-Identifier: Apache-2.0
#include "loops/windows.hpp"

#include <algorithm>
#include <cmath>

namespace octet::loops {
namespace {

/// How many of `count` positions, `distance` apart from `first` on, lie before another one.
dim_t count_before(dim_t position, dim_t first, dim_t distance, dim_t count) {
    return first >= position ? 0 : std::min(count, (position - first + distance - 1) / distance);
}

/// `count` elements of a row of the image, `distance` apart from position `first` on; 0 outside, and
/// everywhere without a row. Returns the end of what is written.
float *copy_row(const window_axis &a, const float *row, dim_t first, dim_t distance, dim_t count, float *to) {
    const dim_t begin = row ? count_before(0, first, distance, count) : count,
                end = row ? std::max(begin, count_before(a.in, first, distance, count)) : count;
    std::fill_n(to, begin, 0.f);
    if (distance == 1)
        std::copy_n(row + first + begin, end - begin, to + begin);
    else
        for (dim_t i = begin; i < end; i++)
            to[i] = row[first + i * distance];
    std::fill_n(to + end, count - end, 0.f);
    return to + count;
}

void add_row(const float *x, dim_t count, float *y, dim_t distance) {
    if (distance == 1)
        for (dim_t i = 0; i < count; i++)
            y[i] += x[i];
    else if (distance == 2)
        for (dim_t i = 0; i < count; i++)
            y[2 * i] += x[i];
    else
        for (dim_t i = 0; i < count; i++)
            y[i * distance] += x[i];
}

/// The row of a channel at a position; null outside.
template <typename T> T *row_at(const window_axis *a, T *channel, dim_t z, dim_t y) {
    return a[0].is_inside(z) && a[1].is_inside(y) ? channel + (z * a[1].in + y) * a[2].in : nullptr;
}

} // namespace

void padded_channels::copy(const float *channel, float *to) const {
    const window_axis *const a = w_.axes;
    for_positions(a[0].phases(), a[1].phases(), a[2].phases(), [&](const dim_t *phase) {
        for (dim_t z = 0; z < length_[0]; z++)
            for (dim_t y = 0; y < length_[1]; y++)
                to = copy_row(
                    a[2], row_at(a, channel, a[0].position(z, 0) + phase[0], a[1].position(y, 0) + phase[1]),
                    phase[2] - a[2].pad, a[2].stride, length_[2], to);
    });
}

void gather_taps(const window_axes &w, const float *source, dim_t tap, dim_t count, dim_t first, dim_t pixels,
                 float *to) {
    const window_axis *const a = w.axes;
    const dim_t taps = w.taps();
    const float *channel = source + tap / taps * w.inputs();
    dim_t column = tap % a[2].kernel, row = tap / a[2].kernel % a[1].kernel,
          plane = tap % taps / (a[1].kernel * a[2].kernel);
    const dim_t first_x = first % a[2].out, first_y = first / a[2].out % a[1].out,
                first_z = first / (a[1].out * a[2].out);
    for (; count > 0; count--) {
        dim_t x = first_x, y = first_y, z = first_z;
        for (dim_t left = pixels, n = 0; left > 0; left -= n, x = 0) {
            n = std::min(a[2].out - x, left);
            to = copy_row(a[2], row_at(a, channel, a[0].position(z, plane), a[1].position(y, row)),
                          a[2].position(x, column), a[2].stride, n, to);
            if (++y == a[1].out) {
                y = 0;
                z++;
            }
        }
        if (++column < a[2].kernel)
            continue;
        column = 0;
        if (++row < a[1].kernel)
            continue;
        row = 0;
        if (++plane == a[0].kernel) {
            plane = 0;
            channel += w.inputs();
        }
    }
}

void scatter_taps(const window_axes &w, const float *given, float *channel) {
    const window_axis *const a = w.axes;
    for_positions(a[0].kernel, a[1].kernel, a[2].kernel, [&](const dim_t *tap) {
        const dim_t shift = a[2].position(0, tap[2]), begin = count_before(0, shift, a[2].stride, a[2].out),
                    end = count_before(a[2].in, shift, a[2].stride, a[2].out);
        for_positions(a[0].out, a[1].out, 1, [&](const dim_t *o) {
            float *const row = row_at(a, channel, a[0].position(o[0], tap[0]), a[1].position(o[1], tap[1]));
            if (row && begin < end)
                add_row(given + begin, end - begin, row + a[2].position(begin, tap[2]), a[2].stride);
            given += a[2].out;
        });
    });
}

float sum_of_pair_window(const window_axes &w, const float *channel, const dim_t *o, const float *weights,
                         float z) {
    const window_axis *const a = w.axes;
    constexpr dim_t size = 7;
    const auto is_whole = [&](const window_axis &d, dim_t i) {
        return d.is_inside(d.position(i, 0)) && d.is_inside(d.position(i, size - 1));
    };
    const bool has_lanes = is_whole(a[1], o[1]) && is_whole(a[2], o[2]);
    float lanes[size + 1] = {has_lanes ? 0.f : z};
    for_positions(1, size, size, [&](const dim_t *tap) {
        const float *const row = row_at(a, channel, 0, a[1].position(o[1], tap[1]));
        const dim_t column = a[2].position(o[2], tap[2]);
        float &lane = lanes[has_lanes ? tap[2] : 0];
        if (row && a[2].is_inside(column))
            lane = std::fma(row[column], weights[tap[1] * size + tap[2]], lane);
    });
    if (!has_lanes)
        return lanes[0];
    for (dim_t distance = 4; distance > 0; distance /= 2)
        for (dim_t i = 0; i < distance; i++)
            lanes[i] += lanes[i + distance];
    return lanes[0] + z;
}

} // namespace octet::loops
