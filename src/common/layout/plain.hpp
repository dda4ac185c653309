#pragma once // SPDX-License-Identifier: Apache-2.0

// Plain tensors: an element lies at offset0 + Σ index * stride. And what every layout has: coordinates,
// row-major order, masks over dimensions.

#include <array>
#include <string>

#include "octet/memory.hpp"

namespace octet::impl {

using coordinates = std::array<dim_t, max_ndims>;

constexpr dim_t div_up(dim_t a, dim_t b) { return (a + b - 1) / b; }

/// a * b, or `invalid_arguments` beyond 2^56: more bytes than any address space, so sums can't overflow either.
dim_t checked_product(dim_t a, dim_t b, const memory_desc &md);

/// Number of elements; throws `invalid_arguments` if it does not fit.
dim_t element_count(const memory_desc &md);

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

/// "{1, 64, 56, 56}"; * is a size that comes with the execution.
std::string dims_text(const memory_desc &md);

/// Fills the strides of a dense row-major tensor; those over a size that comes with the execution come with it too.
void set_row_major(memory_desc &md);

/// The tensor with `size` for each dimension that comes with the execution, and strides for those that do: such that
/// no two elements share an address unless the known strides make them.
memory_desc at_size(memory_desc md, dim_t size);

} // namespace octet::impl
