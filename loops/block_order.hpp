#pragma once // SPDX-License-Identifier: Apache-2.0

// The order in which ONNX Runtime adds up products of blocks on AVX512-VNNI, as data. Four neighbours in the reduction,
// a quad, give an exact integer. Such sums are scaled and added to 8 or 16 lanes; each lane is a float, and gets its
// sums in ascending order of the reduction. So it is enough to say which quads go to which lane: rounded rows and
// packed weights lie in this order, and one loop multiplies all of them.
//
// Octet's own order takes blocks one by one: each is an exact sum, which is scaled and added to the result.

#include <vector>

#include "octet/types.hpp"

namespace octet::loops {

/// Four neighbours, of which `first` to `last` - 1 count.
struct quad {
    dim_t place; ///< in its group or block, in quads
    int first = 0, last = 4;
};

/// How the lanes of one result are added up.
enum class lane_sum {
    by_halves,          ///< l_i + l_(i + half), again until one is left
    in_order,           ///< fours from left to right, then those sums
    in_order_if_odd_row ///< the same for the last row of an odd number of rows, others by halves
};

struct block_order {
    block_order(int bits, dim_t block, dim_t blocks); ///< ONNX Runtime's
    static block_order one_by_one(dim_t block, dim_t blocks);

    dim_t lanes = 0;        ///< in which groups are added up
    dim_t groups = 0;       ///< of blocks, whose quads go to all lanes
    dim_t group_blocks = 0; ///< blocks of a group; of blocks of 256 elements each makes two groups
    dim_t group_elements = 0;
    std::vector<quad> group_quads; ///< of a group, by steps: those of the first lane that gets any, and so on
    std::vector<dim_t> lane_of;    ///< the lane of each step
    bool is_folded = false;        ///< behind the groups, lanes 8 to 15 are added to lanes 0 to 7
    dim_t last_lanes = 0;          ///< lanes from there on
    dim_t all_blocks = 0;          ///< of groups and tails; with 2 bits the last ones may be missing
    dim_t tails = 0;               ///< blocks behind the groups, whose quads go to lanes 0 to last_lanes - 1
    std::vector<quad> tail_quads;
    bool is_one_by_one = false;         ///< all blocks are tails, and there are no lanes
    lane_sum sum = lane_sum::by_halves; ///< in columns that ONNX Runtime takes in fours; in others by_halves

    dim_t steps() const { return static_cast<dim_t>(lane_of.size()); }
    /// Quads of a row: those of all groups, then those of the tails.
    dim_t quads() const {
        return groups * static_cast<dim_t>(group_quads.size()) +
               tails * static_cast<dim_t>(tail_quads.size());
    }

private:
    block_order() = default;
};

} // namespace octet::loops
