#pragma once // SPDX-License-Identifier: Apache-2.0

// What the program reads next (`primitive_attr::set_prefetched_bytes`), fetched while products are computed: each
// thread has a part of it, and each call of the kernel takes the next bytes of this part.

#include <algorithm>
#include <cstdint>

#include "octet/types.hpp"

namespace octet::impl {

/// Where the tiles of a call fetch: the first one, and the distance from a tile to the next.
struct tile_fetches {
    const std::uint8_t *first;
    dim_t step;
};

/// A thread's part, and its first byte that is not fetched yet. Null pointers: it is not known what is read next.
struct next_bytes {
    const std::uint8_t *begin = nullptr, *end = nullptr, *at = nullptr;

    /// `tiles` tiles fetch `of_tile` bytes each, at most as many as the part has. Where nothing is left they fetch what
    /// `there` points to. If less is left than they fetch, they overlap each other, or what is fetched already, so that
    /// all of it lies in the part.
    tile_fetches of_call(dim_t tiles, dim_t of_tile, const void *there) {
        if (at == end)
            return {static_cast<const std::uint8_t *>(there), 0};
        const std::uint8_t *const first = end - std::min(tiles * of_tile, end - begin);
        if (first > at) {
            at += tiles * of_tile;
            return {at - tiles * of_tile, of_tile};
        }
        at = end;
        return {first, tiles > 1 ? (end - first - of_tile) / (tiles - 1) : 0};
    }
};

/// Part `i` of `parts` equal ones of so many cache lines.
inline next_bytes part_of_next(const std::uint8_t *first, dim_t lines, dim_t i, dim_t parts) {
    constexpr dim_t line = 64;
    const std::uint8_t *const begin = first + lines * i / parts * line;
    return {begin, first + lines * (i + 1) / parts * line, begin};
}

} // namespace octet::impl
