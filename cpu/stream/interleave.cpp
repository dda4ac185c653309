// 16 columns at a time: each vector of the result is put together from those of all rows, by a shuffle each.
// Every level that has generated code has this instruction.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/interleave.hpp"

#include <immintrin.h>

#include <type_traits>

namespace octet::impl::stream {
namespace {

constexpr dim_t block = 16;
constexpr std::uint8_t none = 0x80; // a shuffle makes it 0

/// Vectors of 16 bytes, their distance, and how far the next block of 16 columns is.
template <typename Byte> struct vectors {
    Byte *first;
    dim_t stride, step;
};

/// Makes `n` vectors of each block of `n`, each of shuffled bytes of all of them.
template <typename Count>
__attribute__((target("ssse3"), always_inline)) inline void
shuffle_blocks(Count n, vectors<const std::uint8_t> from, vectors<std::uint8_t> to,
               const std::uint8_t *__restrict masks, dim_t blocks) {
    std::uint8_t *__restrict out = to.first;
    for (const std::uint8_t *in = from.first; blocks > 0; blocks--, in += from.step, out += to.step)
        for (dim_t v = 0; v < n; v++) {
            __m128i result = _mm_setzero_si128();
            for (dim_t i = 0; i < n; i++) {
                const auto *source = reinterpret_cast<const __m128i *>(in + i * from.stride),
                           *mask = reinterpret_cast<const __m128i *>(masks + (v * n + i) * block);
                result =
                    _mm_or_si128(result, _mm_shuffle_epi8(_mm_loadu_si128(source), _mm_loadu_si128(mask)));
            }
            _mm_storeu_si128(reinterpret_cast<__m128i *>(out + v * to.stride), result);
        }
}

/// Unrolled for pairs, colours, and colours with a fourth.
__attribute__((target("ssse3"))) void shuffle(dim_t rows, vectors<const std::uint8_t> from,
                                              vectors<std::uint8_t> to, const std::uint8_t *masks,
                                              dim_t blocks) {
    if (rows == 2)
        shuffle_blocks(std::integral_constant<dim_t, 2>(), from, to, masks, blocks);
    else if (rows == 3)
        shuffle_blocks(std::integral_constant<dim_t, 3>(), from, to, masks, blocks);
    else if (rows == 4)
        shuffle_blocks(std::integral_constant<dim_t, 4>(), from, to, masks, blocks);
    else
        shuffle_blocks(rows, from, to, masks, blocks);
}

} // namespace

byte_interleaver::byte_interleaver(dim_t rows)
    : rows_(rows), interleaved_(static_cast<std::size_t>(rows * rows * block), none),
      separated_(interleaved_) {
    for (dim_t i = 0; i < rows * block; i++) { // the i-th interleaved byte is of this row and column
        const dim_t row = i % rows, column = i / rows, vector = i / block;
        interleaved_[static_cast<std::size_t>((vector * rows + row) * block + i % block)] =
            static_cast<std::uint8_t>(column);
        separated_[static_cast<std::size_t>((row * rows + vector) * block + column)] =
            static_cast<std::uint8_t>(i % block);
    }
}

void byte_interleaver::interleave(const std::uint8_t *src, dim_t stride, std::uint8_t *dst,
                                  dim_t columns) const {
    const dim_t whole = columns / block * block;
    shuffle(rows_, {src, stride, block}, {dst, block, block * rows_}, interleaved_.data(), whole / block);
    for (dim_t c = whole; c < columns; c++)
        for (dim_t r = 0; r < rows_; r++)
            dst[c * rows_ + r] = src[r * stride + c];
}

void byte_interleaver::separate(const std::uint8_t *src, std::uint8_t *dst, dim_t stride,
                                dim_t columns) const {
    const dim_t whole = columns / block * block;
    shuffle(rows_, {src, block, block * rows_}, {dst, stride, block}, separated_.data(), whole / block);
    for (dim_t c = whole; c < columns; c++)
        for (dim_t r = 0; r < rows_; r++)
            dst[r * stride + c] = src[c * rows_ + r];
}

} // namespace octet::impl::stream
