#pragma once // SPDX-License-Identifier: Apache-2.0

// Runs tasks: the loops around the stream kernel.

#include "cpu/implementation.hpp"
#include "cpu/stream/plan.hpp"

namespace octet::impl::stream {

candidate plan_task(instruction_set isa, const task &t);

/// Dimensions that numbers of a task vary over.
struct variation {
    int channel = -1;   ///< the innermost of them in dst; -1: they don't
    int outer_dims = 0; ///< mask of the others
};
variation variation_of(const task &t);

} // namespace octet::impl::stream
