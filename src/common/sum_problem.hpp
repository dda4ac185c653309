#pragma once // SPDX-License-Identifier: Apache-2.0

// Sums of scaled tensors.

#include <vector>

#include "common/problem.hpp"

namespace octet::impl {

struct sum_problem {
    std::vector<memory_desc> srcs;
    memory_desc dst;
    std::vector<float> scales;
    /// SNPS-Caffe: integer multipliers with a common shift.
    std::vector<fixed_point_multiplier> multipliers;
    std::vector<zero_points> src_zero_points;
    epilogue out_stage;
};

} // namespace octet::impl
