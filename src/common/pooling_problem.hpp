#pragma once // SPDX-License-Identifier: Apache-2.0

// Poolings, and whose arithmetic combines the elements of a window.

#include "common/problem.hpp"

namespace octet::impl {

/// The function of a window: octet/pooling.hpp.
enum class pooling_form {
    maximum,
    average_of_codes, ///< f32(Σ) / n: oneDNN
    rounded_average,  ///< Σ / n, ties away from code 0: TFLite
    requantized_sum,  ///< the rule's factor contains 1 / n
    rescaled_average, ///< TFLite's older MEAN: a factor first, then / n
    dequantized,      ///< real values are summed and divided: ONNX Runtime
    scaled_sum,       ///< (Σ - n * src_zp) times s_src / (s_dst * n), ties away from zero: SNPS-Caffe
};

struct pooling_problem {
    memory_desc src, dst;
    algorithm alg = algorithm::undef;
    pooling_form form = pooling_form::maximum;
    dim_t mb = 1, channels = 1;
    extent3 in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, pad{0, 0, 0};
    extent3 dilation{1, 1, 1}; ///< 1: adjacent taps
    int spatial_ndims = 0;
    float src_scale = 1.f, dst_scale = 1.f;
    fixed_point_multiplier multiplier; ///< rescaled_average
    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    epilogue out_stage;
};

} // namespace octet::impl
