#pragma once // SPDX-License-Identifier: Apache-2.0

// Keyword arguments of operations as primitive attributes.

#include <unordered_map>

#include "dynamic.hpp"

namespace octet::python {

/// Masks of "one value per channel" for each argument that may have several.
struct channel_masks {
    int src = 1 << 1, weights = 0, dst = 1 << 1;
};

/// Attributes, and the tensors of their post-ops as arguments of the execution.
struct attributes {
    primitive_attr attr;
    std::unordered_map<int, memory> args;
    std::vector<py::array> kept;             ///< owners of the bytes of `args`
    std::optional<py::array> begins_as;      ///< the values to which a sum post-op adds
    std::optional<weight_values> of_weights; ///< of products whose source is quantized while they run
};

/// `given` has keyword arguments of octet.operations, all of which may be absent or None: rule, multiplier, shift,
/// scale, x_scale, x1_scale, w_scale, y_scale, x_zero_point, x1_zero_point, w_zero_point, y_zero_point, x_multiplier,
/// x_shift, x1_multiplier, x1_shift, w_multiplier, w_shift, post_ops, and of products whose source is quantized while
/// they run quantize, quantizer, symmetric, codes, combination, group, w_type. Operations on a list of `sources` have
/// scales and zero_points, one each. Throws TypeError for another name.
attributes attributes_of(const py::dict &given, const channel_masks &masks, std::size_t sources = 0);

/// An algorithm by its name without the family's prefix: ("pooling_", "max").
/// Throws ValueError, which names the argument `who`, for another name.
algorithm algorithm_of(const std::string &family, const std::string &name, const std::string &who);

} // namespace octet::python
