#pragma once // SPDX-License-Identifier: Apache-2.0

// Decides whether a problem is larger than the caches. The source of such a problem is fetched ahead, and
// results are stored past the caches. Smaller results stay in the caches for whoever reads them.

#include "common/resampling_problem.hpp"
#include "cpu/machine/caches.hpp"

namespace octet::impl::resampling {

inline bool is_large(const resampling_problem &p) {
    return leaves_caches(size_in_bytes(p.src) + size_in_bytes(p.dst));
}

/// True if moreover every position of dst is made of whole cache lines, where dst itself begins with one.
inline bool can_stream(const resampling_problem &p) {
    const auto size = static_cast<dim_t>(memory::data_type_size(p.dst.data_type));
    bool are_lines = has_whole_lines(p.dst.dims[1] * size);
    for (int d = 0; d < p.dst.ndims; d++)
        are_lines = are_lines && (d == 1 || has_whole_lines(p.dst.strides[d] * size));
    return are_lines && is_large(p);
}

} // namespace octet::impl::resampling
