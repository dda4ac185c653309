#pragma once // SPDX-License-Identifier: Apache-2.0

// Products of a matrix of weights and one whose rows lie in planes: channels of an image, or a channel as the
// taps of a window see it. So nothing is packed, and results are planes, too.

#include <algorithm>
#include <vector>

#include "octet/parallel_loop.hpp"
#include "octet/types.hpp"

namespace octet::loops {

/// How many terms of a sum of products ONNX Runtime adds up before it adds the sum to those before, where the second
/// matrix is not packed ahead.
dim_t products_in_block(dim_t inner, dim_t columns);

struct tile_code;

/// Neighbouring columns of the result, as many as a vector has lanes, or fewer.
struct column_vector {
    dim_t dst, count;
    dim_t src, lanes; ///< where a row of the source has the first lanes, and how many
    dim_t others;     ///< what the others lie at, less their lanes
};

/// result[m][n] = initial[m][n] + the sums of blocks of k, in order, + bias[m]; a sum begins with zero and adds up
/// weights[m][k] * source[k][n] with `fma`, in ascending order.
struct plane_products {
    plane_products(); ///< for the instruction set in use

    dim_t outputs = 1, inner = 1, block = 1; ///< of m, of k, and of k in a block
    dim_t weights_row = 1, weights_step = 1; ///< from one m, and one k, to the next
    dim_t result_row = 1;                    ///< of the result, and of what it begins with
    std::vector<dim_t> rows;                 ///< where each k begins
    std::vector<column_vector> columns;

    /// Appends `count` neighbouring columns, which may share a vector with those before.
    void add_columns(dim_t src, dim_t dst, dim_t count);
    struct operands {
        const float *weights, *source, *initial, *bias; ///< the last two may be null
        float *result;
    };
    /// Products with operands_of(0) to operands_of(count - 1), on the threads of primitives.
    template <typename Operands> void run_all(dim_t count, const Operands &operands_of) const {
        const dim_t tiles = tile_count();
        parallel_loop(count * tiles, grain(), [&](dim_t begin, dim_t end) {
            for (dim_t i = begin / tiles; i * tiles < end; i++)
                run_tiles(operands_of(i), std::max<dim_t>(begin - i * tiles, 0),
                          std::min(end - i * tiles, tiles));
        });
    }

private:
    /// Columns are computed together in so many tiles.
    dim_t tile_count() const;
    /// Products that are worth a thread's start, in tiles.
    dim_t grain() const;
    /// Tiles `begin` to `end` - 1.
    void run_tiles(const operands &o, dim_t begin, dim_t end) const;

    const tile_code *code_;
};

/// Such products of dense matrices, whose sizes come with each call, in the calling thread.
class matrix_products {
public:
    matrix_products();                        ///< for the instruction set in use
    static constexpr dim_t most_inner = 1024; ///< in a block

    struct operands {
        const float *weights, *source;
        const float *initial; ///< in rows as far apart as the result's; null: the first block's sums
        float *result;
        dim_t outputs, inner, columns, block;
        dim_t weights_row, source_row, result_row; ///< from one row to the next
    };
    void run(const operands &o) const;

private:
    const tile_code *code_;
};

} // namespace octet::loops
