#pragma once

// Concat as one reorder per source, each into its part of the destination. A part is a strided view, so every
// fast path of reorder serves here, and concat has no kernels of its own.

#include "cpu/registry.hpp"

namespace octet::impl {

/// Each part of the destination is written by the best reorder for it.
/// Refused where that is the reference, so that the name of the implementation says so.
std::string refuses_concat(const concat_problem &p, const machine &);
std::shared_ptr<const kernel> create_concat(const concat_problem &p, const machine &);

} // namespace octet::impl
