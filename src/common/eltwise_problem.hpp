#pragma once // SPDX-License-Identifier: Apache-2.0

// Functions of single elements.

#include "common/problem.hpp"

namespace octet::impl {

/// common/eltwise_code.hpp is its meaning.
struct eltwise_problem {
    memory_desc src, dst;
    algorithm alg = algorithm::undef;
    float alpha = 0.f, beta = 0.f;
    float src_scale = 1.f, dst_scale = 1.f; ///< float rules
    /// tflite rules: of the source; relu of negative values has its own.
    fixed_point_multiplier multiplier, negative_multiplier;
    bool has_negative_multiplier = false;
    fixed_point_multiplier gate_multiplier; ///< tflite rules, hardswish: of the source, 3 being 1
    bool rescales = false;                  ///< clip: by `multiplier`
    std::int32_t low = 0, high = 0;         ///< clip: relative to the zero point
    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    epilogue out_stage;
};

} // namespace octet::impl
