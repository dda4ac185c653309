#pragma once // SPDX-License-Identifier: Apache-2.0

// PReLU, with a slope per masked element.

#include "common/problem.hpp"

namespace octet::impl {

struct prelu_problem {
    memory_desc src, weights, dst;
    fixed_point_multiplier multiplier, negative_multiplier; ///< tflite rules
    zero_points src_zero_points{{}, OCTET_ARG_SRC}, weights_zero_points{{}, OCTET_ARG_WEIGHTS};
    epilogue out_stage;
};

} // namespace octet::impl
