#pragma once // SPDX-License-Identifier: Apache-2.0

// A problem is what a primitive has to compute, checked once and free of spelling: 1D, 2D and 3D are one form, inner
// product is a convolution whose kernel covers the image, absent attributes have their defaults.
// Implementations see only this. Each operation's is in a header of its name; here is what they share.

#include <array>

#include "common/arguments.hpp"
#include "common/epilogue.hpp"
#include "octet/primitive_attr.hpp"

namespace octet::impl {

using extent3 = std::array<dim_t, 3>; ///< depth, height, width

/// Zero points of one input. Values are indexed by the masked dimensions of that tensor; unset means 0.
struct zero_points {
    masked_values<std::int32_t> values;
    int arg; ///< OCTET_ARG_* of the tensor, for run-time values

    const std::int32_t *bind(const arguments &args) const {
        if (values.runtime)
            return args.get<const std::int32_t>(OCTET_ARG_ATTR_ZERO_POINTS | arg);
        return values.values.empty() ? nullptr : values.values.data();
    }
};

/// Coordinates of (outer, channel, depth, height, width) in a tensor with 0 to 3 spatial dimensions.
inline coordinates spatial_coordinates(int spatial_ndims, dim_t n, dim_t c, dim_t d, dim_t h, dim_t w) {
    switch (spatial_ndims) {
    case 0:
        return {n, c};
    case 1:
        return {n, c, w};
    case 2:
        return {n, c, h, w};
    default:
        return {n, c, d, h, w};
    }
}

} // namespace octet::impl
