#pragma once // SPDX-License-Identifier: Apache-2.0

// Reorders: another layout, type or scale of the same tensor.

#include "common/problem.hpp"

namespace octet::impl {

struct reorder_problem {
    memory_desc src, dst;
    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    masked_values<float> src_scales, dst_scales; ///< masks over the (common) dims
    bool concatenates = false; ///< tflite rules: rha(q * s + k), as TFLite's older CONCATENATION rescales
    epilogue out_stage;
};

} // namespace octet::impl
