#pragma once // SPDX-License-Identifier: Apache-2.0

// Resizing of images.

#include "common/problem.hpp"

namespace octet::impl {

struct resampling_problem {
    memory_desc src, dst;
    algorithm alg = algorithm::undef;
    resampling_coordinates coordinates = resampling_coordinates::half_pixel;
    dim_t mb = 1, channels = 1;
    extent3 in{1, 1, 1}, out{1, 1, 1};
    int spatial_ndims = 0;
    epilogue out_stage;
};

} // namespace octet::impl
