#pragma once // SPDX-License-Identifier: Apache-2.0

// Steps of plain loops over elements, for what no primitive does: integers, truths, choices, copies with any
// stride. They serve masks and indices, small things beside the products, so they are simple rather than
// fast.

#include "network/graph/element_map.hpp"
#include "network/lower/lowering.hpp"

namespace octet::model {

/// One operand of `broadcast_step`: where its elements lie for each dimension of the output, in elements.
struct walked_operand {
    buffer where;
    memory::dims strides;
    dim_t first = 0; ///< the element at the origin
};

/// An innermost row: y[i] of what `operands` point to, which have their own strides; null behind the last.
using row_function = void (*)(void *y, const void *const *operands, const dim_t *strides, dim_t count);

/// Calls the function for each row of the dense output.
std::unique_ptr<step> broadcast_step(const lowering &l, std::vector<walked_operand> operands, row_function f);

/// Copies elements of a size in bytes.
row_function copying(std::size_t element_bytes);

} // namespace octet::model
