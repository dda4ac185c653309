// A packed row is 16 output channels by 4 of the reduction, 64 bytes. How they are gathered depends on which of both
// lies contiguous in the source: the reduction (4 bytes are read at once), the channels (16 are, and rows are
// interleaved), or neither (oihw with a kernel larger than 1x1). Four blocks of channels are packed together, since a
// cache line of a source with contiguous channels holds as many; taps run innermost, since a line of the others does.

#include "cpu/accumulating/pack_blocks.hpp"

#include <algorithm>
#include <cstring>

#include <emmintrin.h>

#include "cpu/machine/parallel.hpp"

namespace octet::impl {

namespace {

constexpr dim_t row_bytes = packed_o_block * packed_i_block;
constexpr dim_t blocks_together = 4;
constexpr dim_t bytes_per_task = 65536;

/// One packed row: `channels` from `from`, and so many of the reduction at these offsets.
struct row_source {
    const std::uint8_t *from;
    dim_t o_stride;
    const dim_t *offsets;
    dim_t channels, count;
};

std::uint32_t dword_at(const std::uint8_t *p) {
    std::uint32_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

/// Contiguous channels.
void interleave(const row_source &s, std::uint8_t flip, std::uint8_t *to) {
    const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
    __m128i rows[packed_i_block];
    for (dim_t k = 0; k < packed_i_block; k++)
        rows[k] = k < s.count
                      ? _mm_xor_si128(
                            _mm_loadu_si128(reinterpret_cast<const __m128i *>(s.from + s.offsets[k])), flips)
                      : _mm_setzero_si128();
    const __m128i low01 = _mm_unpacklo_epi8(rows[0], rows[1]), high01 = _mm_unpackhi_epi8(rows[0], rows[1]),
                  low23 = _mm_unpacklo_epi8(rows[2], rows[3]), high23 = _mm_unpackhi_epi8(rows[2], rows[3]);
    auto *vectors = reinterpret_cast<__m128i *>(to);
    _mm_storeu_si128(vectors, _mm_unpacklo_epi16(low01, low23));
    _mm_storeu_si128(vectors + 1, _mm_unpackhi_epi16(low01, low23));
    _mm_storeu_si128(vectors + 2, _mm_unpacklo_epi16(high01, high23));
    _mm_storeu_si128(vectors + 3, _mm_unpackhi_epi16(high01, high23));
}

template <bool is_contiguous> void gather_dwords(const row_source &s, std::uint8_t flip, std::uint8_t *to) {
    const std::uint32_t flips = 0x01010101u * flip;
    const dim_t *at = s.offsets;
    for (dim_t o = 0; o < packed_o_block; o++) {
        const std::uint8_t *from = s.from + o * s.o_stride;
        const std::uint32_t bytes =
            is_contiguous ? dword_at(from + at[0])
                          : std::uint32_t{from[at[0]]} | std::uint32_t{from[at[1]]} << 8 |
                                std::uint32_t{from[at[2]]} << 16 | std::uint32_t{from[at[3]]} << 24;
        const std::uint32_t stored = bytes ^ flips;
        std::memcpy(to + o * packed_i_block, &stored, sizeof stored);
    }
}

/// Any part of a row.
void gather_rest(const row_source &s, std::uint8_t flip, std::uint8_t *to) {
    std::memset(to, 0, row_bytes);
    for (dim_t o = 0; o < s.channels; o++)
        for (dim_t k = 0; k < s.count; k++)
            to[o * packed_i_block + k] =
                static_cast<std::uint8_t>(s.from[o * s.o_stride + s.offsets[k]] ^ flip);
}

void pack_row(const row_source &s, std::uint8_t flip, std::uint8_t *to) {
    if (s.channels < packed_o_block)
        return gather_rest(s, flip, to);
    if (s.o_stride == 1)
        return interleave(s, flip, to);
    if (s.count < packed_i_block)
        return gather_rest(s, flip, to);
    if (s.offsets[1] - s.offsets[0] == 1 && s.offsets[2] - s.offsets[1] == 1 &&
        s.offsets[3] - s.offsets[2] == 1)
        return gather_dwords<true>(s, flip, to);
    gather_dwords<false>(s, flip, to);
}

/// sums[o] += the four weights of channel o.
void add_row(const std::uint8_t *row, std::int32_t *sums) {
    const __m128i ones = _mm_set1_epi16(1);
    for (int vector = 0; vector < 4; vector++) {
        const __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i *>(row) + vector);
        const __m128i even = _mm_srai_epi16(_mm_slli_epi16(w, 8), 8), odd = _mm_srai_epi16(w, 8);
        auto *to = reinterpret_cast<__m128i *>(sums) + vector;
        _mm_storeu_si128(to,
                         _mm_add_epi32(_mm_loadu_si128(to), _mm_madd_epi16(_mm_add_epi16(even, odd), ones)));
    }
}

class packer {
public:
    packer(const packed_geometry &p, const block_source &src, std::uint8_t flip, std::int8_t *dst)
        : p_(p), src_(src), flip_(flip), dst_(reinterpret_cast<std::uint8_t *>(dst)),
          sums_(reinterpret_cast<std::int32_t *>(dst + p.sums_offset())) {}

    /// These blocks of output channels of a group.
    void pack(dim_t group, dim_t first_block, dim_t last_block) const {
        std::int32_t *sums = sums_ + group * p_.lines * p_.line_sums();
        for (dim_t line = 0; line < p_.lines; line++)
            std::memset(sums + line * p_.line_sums() + first_block * packed_o_block, 0,
                        static_cast<std::size_t>((last_block - first_block) * packed_o_block) * sizeof *sums);
        const dim_t taps_per_line = p_.taps / p_.lines;
        for (dim_t i_block = 0; i_block < p_.i_blocks(); i_block++)
            for (dim_t tap = 0; tap < p_.taps; tap++)
                for (dim_t block = first_block; block < last_block; block++) {
                    const dim_t o = block * packed_o_block, i = i_block * packed_i_block;
                    std::uint8_t *row =
                        dst_ + (((group * p_.o_blocks() + block) * p_.taps + tap) * p_.i_blocks() + i_block) *
                                   row_bytes;
                    pack_row({src_.data + src_.groups[static_cast<std::size_t>(group)] + o * src_.o_stride,
                              src_.o_stride, src_.reduction.data() + tap * p_.i + i,
                              std::min(packed_o_block, p_.o - o), std::min(packed_i_block, p_.i - i)},
                             flip_, row);
                    add_row(row, sums + tap / taps_per_line * p_.line_sums() + o);
                }
    }

private:
    const packed_geometry &p_;
    const block_source &src_;
    const std::uint8_t flip_;
    std::uint8_t *const dst_;
    std::int32_t *const sums_;
};

} // namespace

void pack_blocks(const packed_geometry &p, const block_source &src, std::uint8_t flip, std::int8_t *dst) {
    const packer all(p, src, flip, dst);
    const dim_t units = div_up(p.o_blocks(), blocks_together);
    const dim_t unit_bytes = std::min(p.o_blocks(), blocks_together) * p.block_bytes();
    parallel_for(p.groups * units, div_up(bytes_per_task, unit_bytes), [&](dim_t begin, dim_t end) {
        for (dim_t unit = begin; unit < end; unit++) {
            const dim_t first = unit % units * blocks_together;
            all.pack(unit / units, first, std::min(first + blocks_together, p.o_blocks()));
        }
    });
}

} // namespace octet::impl
