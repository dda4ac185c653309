#pragma once // SPDX-License-Identifier: Apache-2.0

// Batch and layer normalization.

#include "common/problem.hpp"

namespace octet::impl {

/// Scales and shifts of a normalization, {C}, or {2, C} as one tensor.
struct normalization_operands {
    bool has_scale = false, has_shift = false;
    bool are_joined = false; ///< OCTET_ARG_SCALE_SHIFT instead of OCTET_ARG_SCALE and OCTET_ARG_SHIFT
};

struct batch_normalization_problem {
    memory_desc src, dst;
    float epsilon = 0.f;
    normalization_operands operands;
    bool has_relu = false;
    bool computes_stats = false; ///< statistics are computed from src instead of being operands
    bool gives_stats = false;    ///< statistics are results
    epilogue out_stage;
};

struct layer_normalization_problem {
    memory_desc src, dst; ///< over the last dimension
    memory_desc stats;    ///< mean and variance, if they are given or results; else ndims 0
    bool gives_stats = false;
    float epsilon = 0.f;
    normalization_operands operands;
    epilogue out_stage;
};

} // namespace octet::impl
