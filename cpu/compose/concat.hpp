#pragma once // SPDX-License-Identifier: Apache-2.0

// Concat as one reorder per source, each into its part of the destination. A part is a strided view, so every
// fast path of reorder serves here, and concat has no kernels of its own.

#include <vector>

#include "cpu/implementation.hpp"

namespace octet::impl {

/// Makes a kernel that writes part after part of the destination by these reorders.
candidate concatenation(const std::vector<candidate> &parts);

} // namespace octet::impl
