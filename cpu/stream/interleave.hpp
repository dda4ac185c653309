#pragma once // SPDX-License-Identifier: Apache-2.0

// Bytes of a few rows side by side: images of a few channels from channels-first to channels-last, and back. Fewer rows
// than the vectors of the transpose kernel have parts.

#include <cstdint>
#include <vector>

#include "octet/types.hpp"

namespace octet::impl::stream {

class byte_interleaver {
public:
    static constexpr dim_t most_rows = 15;

    explicit byte_interleaver(dim_t rows);

    /// dst[i * rows + r] = src[r * stride + i]
    void interleave(const std::uint8_t *src, dim_t stride, std::uint8_t *dst, dim_t columns) const;
    /// dst[r * stride + i] = src[i * rows + r]
    void separate(const std::uint8_t *src, std::uint8_t *dst, dim_t stride, dim_t columns) const;

private:
    const dim_t rows_;
    /// By vector of interleaved bytes and row: where each byte of the one is in the other's next 16, or none.
    std::vector<std::uint8_t> interleaved_, separated_;
};

} // namespace octet::impl::stream
