#pragma once // SPDX-License-Identifier: Apache-2.0

// Packed weights: one opaque order, defined here. Innermost last; o counts output channels, i the reduction,
// t the kernel taps in row-major order, a line the taps of the kernel with equal depth and height:
//
//   [group or batch][o / 16][t][i / 4][o % 16][i % 4]  int8, then
//   [group or batch][line][o]                          int32 sums over i and the taps of the line
//
// One row [o % 16][i % 4] is the 64-byte operand of one dot-product instruction. Both counts are padded with
// zeros. Unsigned weights are stored with 128 subtracted. Two rearrangements keep vectors full:
// - groups with few channels are merged into one group whose weights are zero between different members;
// - with 3 input channels or another count that is no multiple of 4, the taps of one kernel row and their
//   channels form one reduction (they are neighbours in a channels-last source).
//
// f32 weights have the same order with one element of the reduction in the place of four bytes, [o / 16][t][i][o % 16],
// no sums and neither rearrangement: a product with a zero that pads can change a float's sum. Of depthwise ones all
// groups form one, whose output channel o multiplies the source's channel o alone.
//
// Depthwise 8-bit weights have an order of their own: all groups form one whose output channels are o, and a block
// holds patches of taps, several times where outputs share them (common/layout/patches.hpp).

#include <cstddef>

#include "common/layout/patches.hpp"
#include "common/layout/plain.hpp"

namespace octet::impl {

constexpr dim_t packed_o_block = 16;
constexpr dim_t packed_i_block = 4;                                 ///< bytes
constexpr dim_t packed_row_bytes = packed_o_block * packed_i_block; ///< bytes of a packed vector

/// Weights as they are packed. o, i and taps are those of a stored group.
struct packed_geometry {
    dim_t groups, o, i, taps;
    dim_t merged;                     ///< logical groups per stored group
    dim_t o_per_member, i_per_member; ///< channels of a logical group
    dim_t fused_width;                ///< taps of a kernel row that belong to the reduction, 1 if none
    dim_t lines;                      ///< rows of taps: depth times height of the kernel
    bool has_patches = false;
    tap_patches patches{};       ///< if has_patches
    dim_t element_bytes = 1;     ///< 4: f32
    bool multiplies_own = false; ///< an output channel multiplies one source channel, its own: depthwise f32

    dim_t o_blocks() const { return div_up(o, packed_o_block); }
    /// Elements of the reduction side by side.
    dim_t i_block() const { return packed_i_block / element_bytes; }
    dim_t i_blocks() const { return div_up(i, i_block()); }
    bool has_sums() const { return element_bytes == 1; }
    /// 64-byte vectors of a block of output channels.
    dim_t block_vectors() const { return has_patches ? patches.vectors() : taps * i_blocks(); }
    dim_t block_bytes() const { return block_vectors() * packed_o_block * packed_i_block; }
    /// How often each weight is stored.
    dim_t copies() const { return has_patches ? patches.phases() : 1; }
    dim_t group_bytes() const { return o_blocks() * block_bytes(); }
    /// The offset in bytes at which the sums start.
    dim_t sums_offset() const { return groups * group_bytes(); }
    /// Sums of one line of a stored group.
    dim_t line_sums() const { return o_blocks() * packed_o_block; }

    /// Elements from the start to weights(group, o, i, tap), all logical.
    dim_t offset(dim_t group, dim_t oc, dim_t ic, dim_t tap, dim_t copy = 0) const {
        const dim_t member = group % merged;
        const dim_t row_o = member * o_per_member + oc;
        if (has_patches)
            return row_o / packed_o_block * block_bytes() + row_o % packed_o_block * packed_i_block +
                   patches.offset(tap, copy);
        const dim_t row_i = multiplies_own ? 0 : (tap % fused_width * merged + member) * i_per_member + ic;
        const dim_t row =
            ((group / merged * o_blocks() + row_o / packed_o_block) * taps + tap / fused_width) * i_blocks() +
            row_i / i_block();
        return (row * packed_o_block + row_o % packed_o_block) * i_block() + row_i % i_block();
    }
};
packed_geometry packed_geometry_of(const memory_desc &md);

/// Gives weights of a plain shape the packed layout that serves them best. Fusing needs dilation 1 along the
/// width.
void set_packed(memory_desc &md, packed_kind kind, bool may_fuse_width);
/// Gives depthwise weights {groups, o, 1, spatial…} their packed layout by patches.
void set_packed_by_patches(memory_desc &md, const tap_patches &patches);

/// Weights {K, N} of 8 or 4 bits beside their scales (`packed_kind::matmul_with_scales`): blocks of 16 columns have a
/// record for each group of K, with codes, padded to a multiple of 8, the scales, and sums and zero points where
/// there are any. jit/kernels/group_dot.hpp has the order within a record.
void set_packed_with_scales(memory_desc &md, dim_t group, bool has_zero_points, bool has_sums);
bool is_packed_with_scales(const memory_desc &md);
/// Whether records have sums of columns.
bool has_packed_sums(const memory_desc &packed);
/// Says which dimensions are K: those of {K, N}, or of {N, K…} as inner products have them. The bytes are the same.
void set_columns_first(memory_desc &packed, bool are_first);
bool has_columns_first(const memory_desc &packed);
/// False for a descriptor that set_packed_with_scales does not make.
bool is_well_packed_with_scales(const memory_desc &md);

/// Bytes of packed weights that are one kernel, sums included.
std::size_t packed_bytes(const memory_desc &md);

} // namespace octet::impl
