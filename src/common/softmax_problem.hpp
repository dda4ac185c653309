#pragma once // SPDX-License-Identifier: Apache-2.0

// Softmax and its logarithm along one axis.

#include "common/problem.hpp"

namespace octet::impl {

struct softmax_problem {
    memory_desc src, dst;
    int axis = 0;
    bool is_log = false;                    ///< f32 rules
    bool sums_in_order = false;             ///< logsoftmax: not in lanes, and by the C library's functions
    fixed_point_multiplier multiplier;      ///< tflite rules
    float src_scale = 1.f, dst_scale = 1.f; ///< ort_f32, LiteRT's rules
    std::int32_t dst_zero_point = 0;        ///< likewise
    epilogue out_stage;                     ///< its rule decides; f32 rules also use the rest
};

} // namespace octet::impl
