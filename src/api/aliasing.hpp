#pragma once // SPDX-License-Identifier: Apache-2.0

// The rule by which inputs may share bytes with the destination (octet/primitive.hpp). An operation that
// reads each element once, where it then writes, can run in place. One that reads windows, rows of a product
// or other elements can not: its bytes would depend on blocking and threads.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "octet/memory.hpp"

namespace octet::impl {

/// The bytes that the elements of a tensor take, from its data handle. Without allocations at execution.
struct extent {
    bool is_plain = false;
    int ndims = 0;                          ///< dimensions with more than one element
    std::array<dim_t, max_ndims> counts{};  ///< their sizes,
    std::array<dim_t, max_ndims> strides{}; ///< and their steps in bytes
    dim_t element = 0;                      ///< bytes of the innermost piece, 0 for an empty tensor
    dim_t first = 0;                        ///< the first element
    dim_t size = 0; ///< from the first byte of the first to the last byte of the last one
};
extent extent_of(const memory_desc &md);

/// The bytes of an argument from its first to its last element, without its gaps.
struct byte_range {
    int arg;
    dim_t first, size; ///< from the data handle; size 0 for an empty tensor
};
std::vector<byte_range> ranges_of(const std::map<int, extent> &extents); ///< OCTET_ARG_DST comes first

enum class sharing { nothing, every_element, some_bytes };

/// `every_element`: both are the same elements. Interleaved tensors, such as channels 0 … 31 and 32 … 63 of one
/// buffer, share nothing; where that is not easily proved, the answer is `some_bytes`.
sharing share_bytes(const extent &a, const void *a_handle, const extent &b, const void *b_handle);

} // namespace octet::impl
