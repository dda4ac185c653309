#pragma once

// Where an element lies. Plain tensors: offset0 + Σ index * stride. Packed weights: one opaque order, defined
// here and read and written only through these functions.
//
// Packed weights, innermost last; o counts output channels, i the reduction, t the kernel taps in row-major
// order, a line the taps of the kernel with equal depth and height:
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
// Depthwise weights have an order of their own: all groups form one whose output channels are o, and a block
// holds patches of taps, several times where outputs share them (common/layout/patches.hpp).
//
// Weights of a deconvolution are several kernels of convolutions one after the other ("parts"): outputs at a
// distance of the strides meet the same taps, which are those with equal index modulo `packed_steps`. A
// convolution runs through them backwards, so the last tap is stored first. Parts of depthwise weights may be
// stored in patches.

#include <array>
#include <cstddef>
#include <vector>

#include "common/layout/patches.hpp"
#include "octet/memory.hpp"

namespace octet::impl {

using coordinates = std::array<dim_t, max_ndims>;

constexpr dim_t packed_o_block = 16;
constexpr dim_t packed_i_block = 4;

constexpr dim_t div_up(dim_t a, dim_t b) { return (a + b - 1) / b; }

/// Number of elements; throws `invalid_arguments` if it does not fit.
dim_t element_count(const memory_desc &md);
/// Bytes of a buffer for the tensor, padding of packed layouts and gaps of strides included.
std::size_t size_in_bytes(const memory_desc &md);

inline dim_t plain_offset(const memory_desc &md, const coordinates &at) {
    dim_t offset = md.offset0;
    for (int d = 0; d < md.ndims; d++)
        offset += at[d] * md.strides[d];
    return offset;
}

/// As plain_offset, with dimensions of size 1 broadcast.
inline dim_t broadcast_offset(const memory_desc &md, const coordinates &at) {
    dim_t offset = md.offset0;
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] != 1)
            offset += at[d] * md.strides[d];
    return offset;
}

/// Weights as they are packed. o, i and taps are those of a stored group.
struct packed_geometry {
    dim_t groups, o, i, taps;
    dim_t merged;                     ///< logical groups per stored group
    dim_t o_per_member, i_per_member; ///< channels of a logical group
    dim_t fused_width;                ///< taps of a kernel row that belong to the reduction, 1 if none
    dim_t lines;                      ///< rows of taps: depth times height of the kernel
    bool has_patches = false;
    tap_patches patches{}; ///< if has_patches

    dim_t o_blocks() const { return div_up(o, packed_o_block); }
    dim_t i_blocks() const { return div_up(i, packed_i_block); }
    /// 64-byte vectors of a block of output channels.
    dim_t block_vectors() const { return has_patches ? patches.vectors() : taps * i_blocks(); }
    dim_t block_bytes() const { return block_vectors() * packed_o_block * packed_i_block; }
    /// How often each weight is stored.
    dim_t copies() const { return has_patches ? patches.phases() : 1; }
    dim_t group_bytes() const { return o_blocks() * block_bytes(); }
    /// Where the sums start, as an offset in bytes.
    dim_t sums_offset() const { return groups * group_bytes(); }
    /// Sums of one line of a stored group.
    dim_t line_sums() const { return o_blocks() * packed_o_block; }

    /// Bytes from the start to weights(group, o, i, tap), all logical.
    dim_t offset(dim_t group, dim_t oc, dim_t ic, dim_t tap, dim_t copy = 0) const {
        const dim_t member = group % merged;
        const dim_t row_o = member * o_per_member + oc;
        if (has_patches)
            return row_o / packed_o_block * block_bytes() + row_o % packed_o_block * packed_i_block +
                   patches.offset(tap, copy);
        const dim_t row_i = (tap % fused_width * merged + member) * i_per_member + ic;
        const dim_t row =
            ((group / merged * o_blocks() + row_o / packed_o_block) * taps + tap / fused_width) * i_blocks() +
            row_i / packed_i_block;
        return (row * packed_o_block + row_o % packed_o_block) * packed_i_block + row_i % packed_i_block;
    }
};
packed_geometry packed_geometry_of(const memory_desc &md);

/// Gives weights of a plain shape the packed layout that serves them best. Fusing needs dilation 1 along the
/// width.
void set_packed(memory_desc &md, packed_kind kind, bool may_fuse_width);
/// The same for depthwise weights {groups, o, 1, spatial…}.
void set_packed_by_patches(memory_desc &md, const tap_patches &patches);

/// One of the kernels that packed weights of a deconvolution consist of.
struct kernel_part {
    memory_desc weights; ///< packed for a convolution
    dim_t offset;        ///< bytes from the start
};
constexpr bool has_parts(packed_kind kind) {
    return kind == packed_kind::deconvolution || kind == packed_kind::grouped_deconvolution;
}
/// All parts, row-major over the remainders of depth, height and width.
std::vector<kernel_part> kernel_parts(const memory_desc &packed);
/// The same taps in the same order as a view of plain weights of these dims.
memory_desc plain_part(const memory_desc &plain, const memory_desc &packed, std::size_t part);
/// Where a tap {depth, height, width} is stored.
struct part_tap {
    std::size_t part;
    dim_t tap;
};
part_tap find_tap(const memory_desc &packed, const std::array<dim_t, 3> &tap);

/// More parts than this are not made: the kernel then stays one.
constexpr dim_t max_kernel_parts = 1024;
/// Gives weights of a deconvolution (`kind` has parts) the packed layout for these steps {depth, height,
/// width}.
void set_packed_in_parts(memory_desc &md, packed_kind kind, const std::array<dim_t, 3> &steps,
                         bool may_fuse_width);
/// The same for depthwise weights: each part gets patches of its own, unless it is too large for them.
void set_parts_in_patches(memory_desc &md);

/// One weight at an offset from element_offset.
inline std::int32_t load_weight(const void *base, const memory_desc &md, dim_t offset) {
    if (md.format_kind == format_kind::packed)
        return static_cast<const std::int8_t *>(base)[offset] + (md.data_type == data_type::u8 ? 128 : 0);
    return md.data_type == data_type::u8 ? static_cast<const std::uint8_t *>(base)[offset]
                                         : static_cast<const std::int8_t *>(base)[offset];
}

/// Offset for any layout, from logical coordinates in the descriptor's own rank.
dim_t element_offset(const memory_desc &md, const coordinates &at);

/// Index into values with the given mask over `dims`, row-major over the masked dimensions.
inline dim_t masked_index(int mask, const dim_t *dims, int ndims, const coordinates &at) {
    dim_t index = 0;
    for (int d = 0; d < ndims; d++)
        if (mask & (1 << d))
            index = index * dims[d] + at[d];
    return index;
}
dim_t masked_count(int mask, const memory_desc &md);

/// Coordinates of the element with this row-major index.
coordinates coordinates_of(dim_t index, const memory_desc &md);

/// Coordinates of the next element in row-major order; after the last one, of the first.
inline void advance(coordinates &at, const memory_desc &md) {
    for (int d = md.ndims - 1; d >= 0; d--) {
        if (++at[d] < md.dims[d])
            return;
        at[d] = 0;
    }
}

/// True if `a` and `b` describe the same shape.
bool same_dims(const memory_desc &a, const memory_desc &b);

/// "{1, 64, 56, 56}"
std::string dims_text(const memory_desc &md);

/// Fills the strides of a dense row-major tensor.
void set_row_major(memory_desc &md);

} // namespace octet::impl
