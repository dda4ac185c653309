#pragma once // SPDX-License-Identifier: Apache-2.0

// Matrix products.

#include "common/problem.hpp"

namespace octet::impl {

struct matmul_problem {
    memory_desc src, weights, dst;
    bool sums_f32() const { return src.data_type == data_type::f32; }
    zero_points src_zero_points{{}, OCTET_ARG_SRC}, weights_zero_points{{}, OCTET_ARG_WEIGHTS};
    epilogue out_stage;
    dim_t prefetched_bytes = 0; ///< primitive_attr::set_prefetched_bytes
};

} // namespace octet::impl
