#pragma once // SPDX-License-Identifier: Apache-2.0

// Reductions over dimensions.

#include "common/problem.hpp"

namespace octet::impl {

struct reduction_problem {
    memory_desc src, dst; ///< dimensions of dst that are 1 and of src are not are reduced
    algorithm alg = algorithm::undef;
    float p = 0.f, epsilon = 0.f;
    epilogue out_stage;
};

} // namespace octet::impl
