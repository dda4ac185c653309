#pragma once // SPDX-License-Identifier: Apache-2.0

// Loops over the elements of plain tensors: dimensions that lie one behind the other in every operand become
// one loop, and the innermost runs along the destination's memory. A dense tensor is a single loop whatever
// its shape; a part of a concatenation is rows and columns.

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "common/layout/layout.hpp"
#include "cpu/machine/parallel.hpp"

namespace octet::impl::stream {

/// Operand 0 is the destination.
constexpr int max_operands = 12;
using operand_strides = std::array<dim_t, max_ndims>; ///< per dimension, in elements
using operand_offsets = std::array<dim_t, max_operands>;

/// Strides of a tensor, 0 where a dimension is broadcast.
operand_strides strides_of(const memory_desc &md);

/// `md` as a dense tensor whose dimensions lie in the order of `like`.
memory_desc dense_in_order_of(const memory_desc &like, memory_desc md);

struct nest {
    struct loop {
        dim_t size;
        operand_offsets strides; ///< per operand, in elements
    };
    std::vector<loop> loops; ///< innermost first, at least one

    const loop &columns() const { return loops[0]; }
    dim_t rows() const; ///< iterations of all loops but the innermost
};

/// operands[0] are the destination's strides.
nest make_nest(const memory_desc &dst, const std::vector<operand_strides> &operands);

/// A rectangle of the two innermost loops: `rows` rows of `columns` elements.
struct piece {
    operand_offsets offsets; ///< offsets of the first element
    dim_t rows, columns;
};

/// Offsets of a row, and the number of rows from it on that advance along the second loop.
dim_t locate(const nest &n, dim_t row, operand_offsets &offsets);

constexpr dim_t all_rows = std::numeric_limits<dim_t>::max(); ///< for `max_rows`: rows are not cut
constexpr dim_t elements_per_task = 16384; ///< below, starting a task costs more than it gains

/// Calls body(piece) for pieces that cover the nest, in parallel. One long row is cut at multiples of `block`
/// columns; `max_rows` bounds the rows of a piece.
template <typename Body> void for_each_piece(const nest &n, dim_t block, dim_t max_rows, const Body &body) {
    const nest::loop &columns = n.columns();
    const dim_t rows = n.rows();
    if (rows == 1) {
        parallel_for(div_up(columns.size, block), div_up(elements_per_task, block),
                     [&](dim_t begin, dim_t end) {
                         piece p{{}, 1, std::min(end * block, columns.size) - begin * block};
                         for (int i = 0; i < max_operands; i++)
                             p.offsets[i] = begin * block * columns.strides[i];
                         body(p);
                     });
        return;
    }
    parallel_for(rows, div_up(elements_per_task, columns.size), [&](dim_t begin, dim_t end) {
        for (dim_t row = begin; row < end;) {
            piece p{{}, 0, columns.size};
            p.rows = std::min({locate(n, row, p.offsets), max_rows, end - row});
            body(p);
            row += p.rows;
        }
    });
}

} // namespace octet::impl::stream
