// Loops over rows, lines and images that bring codes into scratch rows. What is copied at once is contiguous
// in the source, or strided by channel; the conversions in between are the innermost loops.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/copy.hpp"

#include <algorithm>
#include <cstring>

#include <immintrin.h>

#include "cpu/machine/avx2.hpp"

namespace octet::impl {

namespace {

OCTET_AVX2 void copy_flipped(const std::uint8_t *from, dim_t count, std::uint8_t *to) {
    constexpr std::uint8_t flip = 0x80;
    const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
    dim_t i = 0;
    for (; i + 32 <= count; i += 32)
        _mm256_storeu_si256(
            reinterpret_cast<__m256i *>(to + i),
            _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i)), flips));
    for (; i < count; i++)
        to[i] = from[i] ^ flip;
}

constexpr dim_t word_bytes = sizeof(std::int16_t), widening_step = 32;

/// 32 codes as words in two vectors; split, of each quad the even ones come first.
template <bool is_signed, bool splits>
OCTET_AVX2 inline void widen(const std::uint8_t *from, std::uint8_t *to) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
    __m256i first, second;
    if (splits) {
        const __m256i order =
            _mm256_permute4x64_epi64(codes, 0xd8); // unpacking works within halves of a vector
        const __m256i high = _mm256_slli_epi16(order, 8);
        const __m256i even = is_signed ? _mm256_srai_epi16(high, 8) : _mm256_srli_epi16(high, 8);
        const __m256i odd = is_signed ? _mm256_srai_epi16(order, 8) : _mm256_srli_epi16(order, 8);
        first = _mm256_unpacklo_epi32(even, odd);
        second = _mm256_unpackhi_epi32(even, odd);
    } else {
        const __m128i low = _mm256_castsi256_si128(codes), high = _mm256_extracti128_si256(codes, 1);
        first = is_signed ? _mm256_cvtepi8_epi16(low) : _mm256_cvtepu8_epi16(low);
        second = is_signed ? _mm256_cvtepi8_epi16(high) : _mm256_cvtepu8_epi16(high);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), first);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to) + 1, second);
}

/// `count` codes as words; split ones fill whole quads, with zeros.
template <bool is_signed, bool splits>
OCTET_AVX2 void copy_words(const std::uint8_t *from, dim_t count, std::uint8_t *to) {
    dim_t i = 0;
    for (; i + widening_step <= count; i += widening_step)
        widen<is_signed, splits>(from + i, to + i * word_bytes);
    if (i == count)
        return;
    // A whole vector would be read and written beyond the row.
    std::uint8_t codes[widening_step] = {}, words[widening_step * word_bytes];
    std::memcpy(codes, from + i, static_cast<std::size_t>(count - i));
    widen<is_signed, splits>(codes, words);
    const dim_t rest = splits ? div_up(count - i, packed_i_block) * packed_i_block : count - i;
    std::memcpy(to + i * word_bytes, words, static_cast<std::size_t>(rest * word_bytes));
}

/// Neighbouring codes, as the kernel takes them.
void copy_codes(const dot_geometry &g, const dot_plan &p, const std::uint8_t *from, dim_t count,
                std::uint8_t *to) {
    const bool is_signed = g.flips_source();
    if (p.products == jit::dot_products::split_words)
        is_signed ? copy_words<true, true>(from, count, to) : copy_words<false, true>(from, count, to);
    else if (jit::are_in_words(p.products))
        is_signed ? copy_words<true, false>(from, count, to) : copy_words<false, false>(from, count, to);
    else if (p.flips_source)
        copy_flipped(from, count, to);
    else
        std::memcpy(to, from, static_cast<std::size_t>(count));
}

/// Codes that are `g.src_channel_stride` apart.
void gather_codes(const dot_geometry &g, const dot_plan &p, const std::uint8_t *from, dim_t count,
                  std::uint8_t *to) {
    constexpr dim_t portion = 256; // whole quads, so that only the last portion is filled up with zeros
    std::uint8_t codes[portion];
    for (dim_t first = 0; first < count; first += portion) {
        const dim_t n = std::min(portion, count - first);
        for (dim_t c = 0; c < n; c++)
            codes[c] = from[(first + c) * g.src_channel_stride];
        copy_codes(g, p, codes, n, to + first * p.widening);
    }
}

/// `positions` source positions of `bytes` bytes; a position is contiguous at the destination.
void copy_positions(const dot_geometry &g, const dot_plan &p, const std::uint8_t *from, dim_t positions,
                    dim_t position_stride, dim_t bytes, std::uint8_t *to) {
    const bool is_dense = g.has_dense_positions();
    if (is_dense && position_stride == bytes) {
        bytes *= positions;
        positions = 1;
    }
    for (dim_t w = 0; w < positions; w++, from += position_stride, to += bytes * p.widening) {
        if (!is_dense && g.sums_f32())
            for (dim_t c = 0; c * dim_t{sizeof(float)} < bytes; c++)
                std::memcpy(to + c * dim_t{sizeof(float)}, from + c * g.src_channel_stride, sizeof(float));
        else if (!is_dense)
            gather_codes(g, p, from, bytes, to);
        else
            copy_codes(g, p, from, bytes, to);
    }
}

/// Positions outside the image.
void copy_padding(const dot_plan &p, const copy_source &src, dim_t positions, std::uint8_t *to) {
    const dim_t bytes = positions * p.position_bytes;
    if (!jit::are_in_words(p.products))
        std::memset(to, static_cast<std::uint8_t>(src.padding), static_cast<std::size_t>(bytes));
    else
        for (dim_t at = 0; at < bytes; at += word_bytes)
            std::memcpy(to + at, &src.padding, sizeof src.padding);
}

/// Bytes between all rows if rows are contiguous and follow each other in the source, else 0.
dim_t joined_row_bytes(const dot_geometry &g) {
    const bool is_point = g.kernel == extent3{1, 1, 1} && !g.rows_are_images;
    const bool is_dense = g.has_dense_positions() && g.src_row_strides[2] == g.position_bytes;
    const bool is_line =
        g.depth == 1 && (g.height == 1 || g.src_row_strides[1] == g.width * g.position_bytes);
    return is_point && is_dense && is_line ? g.position_bytes : 0;
}

} // namespace

OCTET_AVX2 std::int32_t sum_bytes(const std::uint8_t *from, dim_t count, bool is_signed) {
    // A signed byte with its sign bit flipped is an unsigned one, higher by 128.
    const std::uint8_t flip = is_signed ? 0x80 : 0;
    const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
    __m256i sums = _mm256_setzero_si256(); // 64-bit lanes
    dim_t i = 0;
    for (; i + 32 <= count; i += 32)
        sums = _mm256_add_epi64(
            sums, _mm256_sad_epu8(_mm256_xor_si256(
                                      _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i)), flips),
                                  _mm256_setzero_si256()));
    std::int64_t lanes[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(lanes), sums);
    std::int64_t sum = lanes[0] + lanes[1] + lanes[2] + lanes[3];
    for (; i < count; i++)
        sum += from[i] ^ flip;
    return static_cast<std::int32_t>(sum - flip * count); // modulo 2^32, as accumulators
}

std::int32_t sum_words(const std::uint8_t *from, dim_t count) {
    std::uint32_t sum = 0; // modulo 2^32, as accumulators
    for (dim_t i = 0; i < count; i++) {
        std::int16_t word;
        std::memcpy(&word, from + i * dim_t{sizeof word}, sizeof word);
        sum += static_cast<std::uint32_t>(word);
    }
    return static_cast<std::int32_t>(sum);
}

void copy_rows(const dot_geometry &g, const dot_plan &p, const copy_source &src, dim_t first, dim_t count,
               std::uint8_t *to) {
    if (const dim_t bytes = joined_row_bytes(g); bytes > 0 && bytes * p.widening == p.row_stride) {
        copy_positions(g, p, src.base + first * bytes, count, bytes, bytes, to);
        return;
    }
    for (dim_t r = first; r < first + count; r++, to += p.row_stride) {
        const dim_t ow = r % g.width, oh = r / g.width % g.height, od = r / g.width / g.height;
        const std::uint8_t *row =
            src.base + od * g.src_row_strides[0] + oh * g.src_row_strides[1] + ow * g.src_row_strides[2];
        std::uint8_t *out = to;
        for (dim_t kd = 0; kd < g.kernel[0]; kd++)
            for (dim_t kh = 0; kh < g.kernel[1]; kh++, out += g.kernel[2] * p.position_bytes)
                copy_positions(g, p, row + kd * g.src_tap_strides[0] + kh * g.src_tap_strides[1], g.kernel[2],
                               g.src_tap_strides[2], g.position_bytes, out);
    }
}

namespace {

/// The positions of line `ih` of depth slice `id` from column `origin` on, of which those outside the image
/// are padding.
void copy_line(const dot_geometry &g, const dot_plan &p, const copy_source &src, dim_t id, dim_t ih,
               dim_t origin, std::uint8_t *to) {
    // Columns of the copy that lie inside the image: [left, right).
    const dim_t left = std::clamp<dim_t>(-origin, 0, p.copy[2]);
    const dim_t right = std::clamp<dim_t>(g.in[2] - origin, left, p.copy[2]);
    if (id < 0 || id >= g.in[0] || ih < 0 || ih >= g.in[1] || right == left) {
        copy_padding(p, src, p.copy[2], to);
        return;
    }
    copy_padding(p, src, left, to);
    copy_padding(p, src, p.copy[2] - right, to + right * p.position_bytes);
    copy_positions(
        g, p, src.base + id * g.src_strides[0] + ih * g.src_strides[1] + (left + origin) * g.src_strides[2],
        right - left, g.src_strides[2], g.position_bytes, to + left * p.position_bytes);
}

/// Words of a line's positions, `words` of each, as the parts of a tap's rows (jit/kernels/dot_words.cpp):
/// [part][row][words]. Words hold them, because a part is at most ten times a code and codes have nine bits.
OCTET_AVX2 void filter_line(const std::int16_t *__restrict from, dim_t rows, dim_t words,
                            std::int16_t *__restrict to) {
    const auto word = [](int value) { return static_cast<std::int16_t>(value); };
    const dim_t part = rows * words, step = jit::rows_together(jit::dot_products::winograd_f43) * words;
    for (dim_t r = 0; r < rows; r++, from += step, to += words)
        for (dim_t c = 0; c < words; c++) {
            const std::int16_t d0 = from[c], d1 = from[words + c], d2 = from[2 * words + c],
                               d3 = from[3 * words + c], d4 = from[4 * words + c], d5 = from[5 * words + c];
            to[c] = word(d4 + d3 - 4 * (d2 + d1));
            to[part + c] = word(d4 - d3 - 4 * (d2 - d1));
            to[2 * part + c] = word(d4 - d2 + 2 * (d3 - d1));
            to[3 * part + c] = word(d4 - d2 - 2 * (d3 - d1));
            to[4 * part + c] = word(d4 - 5 * d2 + 4 * d0);
            to[5 * part + c] = word(d5 - 5 * d3 + 4 * d1);
        }
}

} // namespace

void copy_image(const dot_geometry &g, const dot_plan &p, const copy_source &src, const image_part &part,
                std::uint8_t *to) {
    const dim_t lines = (part.count - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
    const bool filters = p.products == jit::dot_products::winograd_f43;
    std::uint8_t *unfiltered = to + p.copy[0] * p.copy[1] * p.copied_line_bytes;
    for (dim_t kd = 0; kd < g.kernel[0]; kd++) {
        const dim_t id = part.od * g.stride[0] + kd * g.dilation[0] - g.pad[0];
        for (dim_t r = 0; r < lines; r++) {
            std::uint8_t *line = to + (kd * p.copy[1] + r) * p.copied_line_bytes;
            copy_line(g, p, src, id, part.first * g.stride[1] + r - g.pad[1], part.column - g.pad[2],
                      filters ? unfiltered : line);
            for (dim_t tap = 0; filters && tap < p.tap_counts[2]; tap++)
                filter_line(reinterpret_cast<const std::int16_t *>(unfiltered + tap * jit::winograd_taps *
                                                                                    p.position_bytes),
                            p.part_stride / p.row_stride, p.position_bytes / word_bytes,
                            reinterpret_cast<std::int16_t *>(line + tap * p.tap_strides[2]));
        }
    }
}

} // namespace octet::impl
