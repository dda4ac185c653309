#pragma once // SPDX-License-Identifier: Apache-2.0

// Computes the part of a tensor that TFLite's STRIDED_SLICE takes, from its three lists and five masks.

#include "network/graph/graph.hpp"

namespace octet::model {

struct strided_slice {
    memory::dims begin, stride, sizes; ///< for each dimension of the input
    memory::dims result;               ///< dimensions of the output
};

/// Attributes of the node that are masks; bit i is about entry i of the lists.
struct slice_masks {
    std::int64_t begin, end, ellipsis, new_axis, shrink_axis;
};

/// Throws octet::error where lists do not fit to each other or to `x`.
strided_slice strided_slice_of(const memory::dims &x, const std::vector<std::int64_t> &begin,
                               const std::vector<std::int64_t> &end, const std::vector<std::int64_t> &strides,
                               const slice_masks &masks);

} // namespace octet::model
