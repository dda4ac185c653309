#pragma once

// Concat as one reorder per source, each into its part of the destination. A part is a strided view, so every
// fast path of reorder serves here, and concat has no kernels of its own.

#include "cpu/registry.hpp"

namespace octet::impl {

/// Each part of the destination is written by the best reorder for it.
/// Refused where that is the reference, so that the name of the implementation says so.
offer plan_concat(const concat_problem &p, const machine &m);
/// Also there.
offer plan_concat_on_reference(const concat_problem &p, const machine &m);

} // namespace octet::impl
