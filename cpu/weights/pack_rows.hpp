#pragma once // SPDX-License-Identifier: Apache-2.0

// Whole packed rows at once, for machines with AVX-512 VNNI (for the sums) and VBMI (for bytes that lie apart). Each
// function also adds to sums of codes, one for each of its output channels.

#include <cstdint>

#include "common/layout/packed.hpp"
#include "common/machine.hpp"

namespace octet::impl {

/// True if the functions below run there.
constexpr bool has_whole_rows(instruction_set isa) { return isa.byte_permutes && isa.has_dot4(); }

constexpr dim_t most_taps_in_row = 16; ///< four of each are what a vector holds
constexpr dim_t gathered_padding = 64; ///< bytes behind the words that gather_taps may write

/// Words of four codes, `count` of each of a block's channels, which are `stride` bytes apart: word w of all
/// channels is the row at dst + rows[w]. Reads in steps of four words. No sums without `sums`.
void transpose_to_rows(const std::uint8_t *src, dim_t stride, dim_t count, const dim_t *rows,
                       std::uint8_t flip, std::uint8_t *dst, std::int32_t *sums);

/// The positions of the bytes of a row's words in four codes of each tap, [k][tap].
struct tap_order {
    explicit tap_order(dim_t taps);
    dim_t taps;
    std::uint8_t bytes[packed_o_block * packed_i_block];
};

/// Codes [i][tap] of one channel, to words [i / 4][tap] of codes of one tap, padded with zeros. The sum of
/// tap t is added to sums[t], of most_taps_in_row.
void gather_taps(const std::uint8_t *src, dim_t count, const tap_order &order, std::uint8_t flip,
                 std::uint8_t *words, std::int32_t *sums);

/// Rows of 64 channels at src + rows[i], i < 4 count, to packed rows: those of block b are at dst + b * block_bytes.
void interleave_to_rows(const std::uint8_t *src, const dim_t *rows, dim_t count, std::uint8_t flip,
                        std::uint8_t *dst, dim_t block_bytes, std::int32_t *sums);

} // namespace octet::impl
