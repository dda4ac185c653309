#pragma once // SPDX-License-Identifier: Apache-2.0

// The positions of a destination with batch, channels and up to three spatial dimensions, as convolutions, pooling and
// resampling walk over them.

#include "common/problem.hpp"
#include "cpu/machine/parallel.hpp"

namespace octet::impl::ref {

/// The source position that a tap of the destination position `out` meets; it may lie outside the image.
template <typename Problem>
extent3 source_position(const Problem &p, const extent3 &out, const extent3 &tap) {
    extent3 at{};
    for (std::size_t a = 0; a < at.size(); a++)
        at[a] = out[a] * p.stride[a] + tap[a] * p.dilation[a] - p.pad[a];
    return at;
}
template <typename Problem> bool is_in_image(const Problem &p, const extent3 &at) {
    return at[0] >= 0 && at[0] < p.in[0] && at[1] >= 0 && at[1] < p.in[1] && at[2] >= 0 && at[2] < p.in[2];
}

/// Calls body(n, c, od, oh, ow) for each position of `channels` channels of the destination; its rows run in parallel.
template <typename Problem, typename Body>
void for_each_position(const Problem &p, dim_t channels, const Body &body) {
    parallel_for(p.mb * channels * p.out[0] * p.out[1], 1, [&](dim_t begin, dim_t end) {
        for (dim_t row = begin; row < end; row++) {
            const dim_t oh = row % p.out[1], od = row / p.out[1] % p.out[0];
            const dim_t c = row / (p.out[1] * p.out[0]) % channels,
                        n = row / (p.out[1] * p.out[0] * channels);
            for (dim_t ow = 0; ow < p.out[2]; ow++)
                body(n, c, od, oh, ow);
        }
    });
}

} // namespace octet::impl::ref
