#pragma once // SPDX-License-Identifier: Apache-2.0

// The place of an element in any tensor: plain ones (plain.hpp), packed weights (packed.hpp), and those that are
// several packed kernels: of a deconvolution (parts.hpp), of a recurrent network (recurrent.hpp). Nothing else
// knows these orders.

#include <cstddef>

#include "common/layout/packed.hpp"
#include "common/layout/parts.hpp"
#include "common/layout/plain.hpp"
#include "common/layout/recurrent.hpp"

namespace octet::impl {

/// Bytes of a buffer for the tensor, padding of packed layouts and gaps of strides included.
std::size_t size_in_bytes(const memory_desc &md);

/// Offset for any layout, from logical coordinates in the descriptor's own rank.
dim_t element_offset(const memory_desc &md, const coordinates &at);

/// One weight at an offset from element_offset.
inline std::int32_t load_weight(const void *base, const memory_desc &md, dim_t offset) {
    if (md.format_kind == format_kind::packed)
        return static_cast<const std::int8_t *>(base)[offset] + (md.data_type == data_type::u8 ? 128 : 0);
    return md.data_type == data_type::u8 ? static_cast<const std::uint8_t *>(base)[offset]
                                         : static_cast<const std::int8_t *>(base)[offset];
}

} // namespace octet::impl
