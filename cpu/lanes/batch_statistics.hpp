#pragma once // SPDX-License-Identifier: Apache-2.0

// Batch normalization by the statistics of the batch itself: a channel's mean and variance, then what is done
// with given ones. Sums are in the lanes of common/lanes.hpp, over images, then positions in row-major order.

#include "common/normalization_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::lanes {

candidate plan(const batch_normalization_problem &p, const machine &m);

} // namespace octet::impl::lanes
