#pragma once // SPDX-License-Identifier: Apache-2.0

// The orders of operations that products of groups have, as the kernel's flags and as what packing prepares for them.

#include <optional>

#include "jit/kernels/group_dot.hpp"
#include "octet/source_quantization.hpp"

namespace octet::impl {

struct order_of_groups {
    jit::group_order kernel;
    std::int32_t exact_zero_point = 0; ///< in exact sums, where `kernel.zero_point` has the source's
    bool adds_weights =
        false;            ///< to Σ s (q - z), for a negative zero point; else they are subtracted from it
    dim_t neighbours = 0; ///< weights whose sum is scaled and added at once
    bool takes_both_halves = false;     ///< of 32: as many neighbours more, 16 behind
    bool scales_are_sixteenths = false; ///< rounded as such
};

/// Nothing for an order that combines otherwise.
std::optional<order_of_groups> order_of_groups_for(combination order, bool source_has_groups);

} // namespace octet::impl
