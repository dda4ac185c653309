#pragma once // SPDX-License-Identifier: Apache-2.0

// Linear interpolation along three dimensions, which is one along height and width of each depth slice, then
// one along the depth, whose channels are whole slices: the order in which the definition takes them.

#include "common/resampling_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::trilinear {

candidate plan(const resampling_problem &p, const machine &m);

} // namespace octet::impl::trilinear
