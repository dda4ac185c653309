#pragma once // SPDX-License-Identifier: Apache-2.0

// Sizes that come with the execution: OCTET_RUNTIME_DIM_VAL in place of a dimension or a stride. The front alone
// knows of them (api/runtime_sizes.hpp); whatever takes a descriptor behind it takes one without.

#include <algorithm>

#include "octet/memory.hpp"

namespace octet::impl {

constexpr bool is_runtime(dim_t size) { return size == OCTET_RUNTIME_DIM_VAL; }

/// True if a dimension, or a stride of a plain layout, comes with the execution.
inline bool has_runtime_sizes(const memory_desc &md) {
    const int ndims = std::clamp(md.ndims, 0, max_ndims); // a caller's descriptor, not checked yet
    return std::any_of(md.dims, md.dims + ndims, is_runtime) ||
           (md.format_kind == format_kind::plain && std::any_of(md.strides, md.strides + ndims, is_runtime));
}

} // namespace octet::impl
