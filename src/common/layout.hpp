#pragma once

// Where an element lies. Plain tensors: offset0 + Σ index * stride. Packed weights: one opaque order, defined here and
// read and written only through these functions.
//
// Packed weights, innermost last; o counts output channels, i the reduction, t the kernel taps in row-major order:
//   [group or batch][o / 16][t][i / 4][o % 16][i % 4]
// One row [o % 16][i % 4] is the 64-byte operand of one dot-product instruction. Both channel counts are padded with zeros.

#include <array>
#include <cstddef>

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
    for (int d = 0; d < md.ndims; d++) offset += at[d] * md.strides[d];
    return offset;
}

/// As plain_offset, with dimensions of size 1 broadcast.
inline dim_t broadcast_offset(const memory_desc &md, const coordinates &at) {
    dim_t offset = md.offset0;
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] != 1) offset += at[d] * md.strides[d];
    return offset;
}

/// Dimensions of weights by role. `group` is the batch of matmul weights, flattened.
struct weights_shape {
    dim_t group, o, i, taps;
};
weights_shape weights_shape_of(const memory_desc &md);

inline dim_t packed_offset(const weights_shape &w, dim_t group, dim_t o, dim_t i, dim_t tap) {
    const dim_t o_blocks = div_up(w.o, packed_o_block), i_blocks = div_up(w.i, packed_i_block);
    const dim_t row = ((group * o_blocks + o / packed_o_block) * w.taps + tap) * i_blocks + i / packed_i_block;
    return (row * packed_o_block + o % packed_o_block) * packed_i_block + i % packed_i_block;
}

/// Offset for any layout, from logical coordinates in the descriptor's own rank.
dim_t element_offset(const memory_desc &md, const coordinates &at);

/// Index into values with the given mask over `dims`, row-major over the masked dimensions.
inline dim_t masked_index(int mask, const dim_t *dims, int ndims, const coordinates &at) {
    dim_t index = 0;
    for (int d = 0; d < ndims; d++)
        if (mask & (1 << d)) index = index * dims[d] + at[d];
    return index;
}
dim_t masked_count(int mask, const memory_desc &md);

/// Coordinates of the element with this row-major index.
coordinates coordinates_of(dim_t index, const memory_desc &md);

/// True if `a` and `b` describe the same shape.
bool same_dims(const memory_desc &a, const memory_desc &b);

/// "{1, 64, 56, 56}"
std::string dims_text(const memory_desc &md);

/// Fills the strides of a dense row-major tensor.
void set_row_major(memory_desc &md);

} // namespace octet::impl
