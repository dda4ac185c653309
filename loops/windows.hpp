#pragma once // SPDX-License-Identifier: Apache-2.0

// Finds the elements that the windows of a convolution meet in images that lie channel by channel, and adds
// up what the windows of a transposed one give to them.

#include <algorithm>

#include "octet/types.hpp"

namespace octet::loops {

/// Calls work(position) for all positions of three axes, the last first.
template <typename Work> void for_positions(dim_t z, dim_t y, dim_t w, const Work &work) {
    dim_t at[3];
    for (at[0] = 0; at[0] < z; at[0]++)
        for (at[1] = 0; at[1] < y; at[1]++)
            for (at[2] = 0; at[2] < w; at[2]++)
                work(at);
}

/// Windows along one dimension. A padded line is divided into phases, each with every `stride`-th position.
struct window_axis {
    dim_t in = 1, out = 1, kernel = 1, stride = 1, step = 1, pad = 0;

    dim_t position(dim_t o, dim_t tap) const { return o * stride + tap * step - pad; }
    bool is_inside(dim_t position) const { return position >= 0 && position < in; }
    /// Whether a window is the position with its number.
    bool is_identity() const { return kernel == 1 && stride == 1 && pad == 0 && in == out; }
    dim_t phases() const { return std::min(stride, (kernel - 1) * step + 1); }
    dim_t phase_length() const { return out + (kernel - 1) * step / stride; }
};

/// Depth, height and width; dimensions that an image lacks are 1.
struct window_axes {
    window_axis axes[3];

    dim_t product(dim_t (*of)(const window_axis &)) const { return of(axes[0]) * of(axes[1]) * of(axes[2]); }
    dim_t inputs() const {
        return product([](const window_axis &a) { return a.in; });
    }
    dim_t outputs() const {
        return product([](const window_axis &a) { return a.out; });
    }
    dim_t taps() const {
        return product([](const window_axis &a) { return a.kernel; });
    }
};

/// Channels as windows see them: in phases, with padding, or as they are.
class padded_channels {
public:
    explicit padded_channels(const window_axes &w) : w_(w) {
        const window_axis *const a = w_.axes;
        is_copied_ = !a[0].is_identity() || !a[1].is_identity() || !a[2].is_identity();
        for (int d = 0; d < 3; d++)
            length_[d] = is_copied_ ? a[d].phase_length() : a[d].in;
    }

    bool is_copied() const { return is_copied_; }
    dim_t size() const {
        return w_.product([](const window_axis &a) { return a.phases(); }) * phase_size();
    }
    /// Returns where the windows of a row along the last dimension begin.
    dim_t row(dim_t z, dim_t y) const { return (z * length_[1] + y) * length_[2]; }
    /// Returns the offset of a tap from there.
    dim_t shift(const dim_t *tap) const {
        dim_t phase = 0, place[3];
        for (int d = 0; d < 3; d++) {
            const window_axis &a = w_.axes[d];
            phase = phase * a.phases() + tap[d] * a.step % a.stride;
            place[d] = tap[d] * a.step / a.stride;
        }
        return phase * phase_size() + row(place[0], place[1]) + place[2];
    }
    void copy(const float *channel, float *to) const;

private:
    dim_t phase_size() const { return length_[0] * length_[1] * length_[2]; }

    window_axes w_;
    bool is_copied_;
    dim_t length_[3];
};

/// Writes what `count` taps from number `tap` on meet in `pixels` windows from number `first` on. Taps are
/// numbered through the channels, which begin at `source`.
void gather_taps(const window_axes &w, const float *source, dim_t tap, dim_t count, dim_t first, dim_t pixels,
                 float *to);

/// Adds to a channel what all windows give to the places of their taps: those of the first tap first.
void scatter_taps(const window_axes &w, const float *given, float *channel);

/// The window at position `o` of a channel that becomes two, for kernels of 7 x 7. Inside the image products
/// of a column are one sum, and the sum of these is added to z; at its edge all products are added to z in
/// order.
float sum_of_pair_window(const window_axes &w, const float *channel, const dim_t *o, const float *weights,
                         float z);

} // namespace octet::loops
