#pragma once // SPDX-License-Identifier: Apache-2.0

// The taps of a pooling's window that lie in the image. A file may name windows of any size, so loops must
// not visit the taps beside the image.

#include <algorithm>

#include "common/layout/plain.hpp"
#include "common/pooling_problem.hpp"

namespace octet::impl {

/// Taps of one axis that lie inside the image.
struct tap_range {
    dim_t first, count;
    dim_t end() const { return first + count; }
};

/// The taps of the window at position `out` that are inside; there is at least one.
inline tap_range taps_inside(const pooling_problem &p, std::size_t axis, dim_t out) {
    const dim_t start = out * p.stride[axis] - p.pad[axis], step = p.dilation[axis];
    const dim_t first = start >= 0 ? 0 : div_up(-start, step);
    const dim_t end = std::min(p.kernel[axis], div_up(std::max<dim_t>(p.in[axis] - start, 0), step));
    return {first, end - first};
}

} // namespace octet::impl
