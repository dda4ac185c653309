#pragma once // SPDX-License-Identifier: Apache-2.0

// Local response normalization.

#include "common/problem.hpp"

namespace octet::impl {

/// The orders of operations of oneDNN's kernels; cpu/ref/lrn.cpp has the formulas.
enum class lrn_order {
    centre_first, ///< x², then fused with the neighbours' below and above
    window,       ///< fused, over rows and columns
    running,      ///< fused, from channel to channel
    plain         ///< each operation rounded
};

struct lrn_problem {
    memory_desc src, dst;
    bool is_across = true; ///< channels, else pixels
    dim_t size = 1;        ///< of a window along each of its dimensions
    float alpha = 1.f, beta = 1.f, k = 1.f;
    lrn_order order = lrn_order::plain;
};

} // namespace octet::impl
