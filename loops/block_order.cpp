// Which lane takes which sums of a block, as `block_order.hpp` describes it; start at the last function.
// SPDX-License-Identifier: Apache-2.0
#include "loops/block_order.hpp"

#include <algorithm>

namespace octet::loops {
namespace {

/// Groups of 128 elements: each of 16 lanes gets two quads, scaled together.
void order_groups_of_128(block_order &o, dim_t block) {
    const dim_t together = 128 / std::min<dim_t>(block, 128), lanes_of_block = 16 / together,
                quads_of_block = 2 * lanes_of_block;
    for (dim_t t = 0; t < together; t++)
        for (dim_t j = 0; j < lanes_of_block; j++) {
            const dim_t spread = j / 2 * 4 + j % 2;
            const dim_t place = together == 1 ? j : spread, distance = together == 1 ? 16 : 2;
            const dim_t lane = block == 16   ? t % 4 * 4 + t / 4 * 2 + j
                               : block == 32 ? t % 2 * 8 + t / 2 * 2 + spread
                               : block == 64 ? j * 2 + t
                                             : j;
            o.lane_of.push_back(lane);
            o.group_quads.push_back({t * quads_of_block + place});
            o.group_quads.push_back({t * quads_of_block + place + distance});
        }
}

/// Blocks that are left: each lane gets a quad, or half of one.
void order_tails(block_order &o, dim_t block) {
    if (block == 16)
        for (dim_t i = 0; i < 8; i++)
            o.tail_quads.push_back({i / 2, static_cast<int>(i % 2 * 2), static_cast<int>(i % 2 * 2 + 2)});
    else
        for (dim_t i = 0; i < block / 4; i++)
            o.tail_quads.push_back({i});
}

/// Groups of four blocks: each lane gets a quad of each, or two of each.
void order_groups_of_four(block_order &o, dim_t block) {
    for (dim_t i = 0; i < o.lanes; i++) {
        o.lane_of.push_back(i);
        for (dim_t place = i; place < block / 4; place += o.lanes)
            for (dim_t t = 0; t < 4; t++)
                o.group_quads.push_back({t * block / 4 + place});
    }
}

} // namespace

block_order::block_order(int bits, dim_t block, dim_t blocks) {
    if (bits == 2) {
        lanes = last_lanes = block == 32 ? 8 : 16;
        group_blocks = 4;
        group_elements = 4 * block;
        groups = (blocks + 3) / 4;
        all_blocks = groups * 4;
        sum = lane_sum::by_halves;
        order_groups_of_four(*this, block);
        return;
    }
    lanes = 16;
    all_blocks = blocks;
    group_elements = 128;
    group_blocks = std::max<dim_t>(128 / block, 1);
    groups = blocks / group_blocks * std::max<dim_t>(block / 128, 1);
    is_folded = block <= 32;
    last_lanes = is_folded ? 8 : 16;
    order_groups_of_128(*this, block);
    if (block < 128) {
        tails = blocks % group_blocks;
        order_tails(*this, block);
    }
    sum = is_folded || (bits == 8 && block == 64) ? lane_sum::in_order : lane_sum::in_order_if_odd_row;
}

block_order block_order::one_by_one(dim_t block, dim_t blocks) {
    block_order o;
    o.is_one_by_one = true;
    o.all_blocks = o.tails = blocks;
    for (dim_t i = 0; i < block / 4; i++)
        o.tail_quads.push_back({i});
    return o;
}

} // namespace octet::loops
