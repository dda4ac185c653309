#pragma once // SPDX-License-Identifier: Apache-2.0

// Matrix products and convolutions of codes (dot.cpp) and matrix products of floats (float_products.cpp)
// share the places of their inputs, and their matrices, batched and broadcast as in numpy.

#include <utility>

#include "network/lower/lowering.hpp"

namespace octet::model {

/// The places of inputs in an operator's definition; `absent` for one that it lacks.
inline constexpr std::size_t absent = static_cast<std::size_t>(-1);
struct dot_inputs {
    std::size_t src, src_scale, src_zero_point;
    std::size_t weights, weights_scale, weights_zero_point;
    std::size_t dst_scale, dst_zero_point, bias;
};
inline constexpr dot_inputs float_inputs = {0, absent, absent, 1, absent, absent, absent, absent, 2};

/// Refuses types that the operator does not have, and rules.
void check_node(const lowering &l, const dot_inputs &in);

/// Rows of numbers, one per column, that are added to a product of this shape.
memory::desc row_desc(const memory::desc &dst);

/// Operands that are read transposed.
struct transposes {
    bool a = false, b = false;
};

struct matrices {
    memory::desc src, weights, dst;
};

/// Both matrices and their product, under equally many dimensions.
matrices matrices_of(const lowering &l, const dot_inputs &in, transposes t = {});

/// A and B of Gemm and QGemm, transposed by strides where the attributes say so.
std::pair<memory::desc, memory::desc> gemm_matrices(const lowering &l, const dot_inputs &in);

/// C of Gemm and QGemm: [N], [1, N], [M, N], [M, 1] or [1].
memory::desc gemm_bias(const tensor &c);

} // namespace octet::model
