// A packed row is 16 output channels by 4 of the reduction, 64 bytes. Two blocks of channels are packed side
// by side, one in each half of vectors of 32 bytes. There are two ways, see `packer`:
//
// - The reduction lies contiguous in the source (1x1, inner products, ohwi): 16 bytes of four channels are four rows'
//   words of these channels, a transpose of words.
// - Else rows of 32 channels' bytes are found or made, and interleaved four at a time. Where channels are contiguous
//   (hwio) the source has such rows. Where the bytes of a channel lie close together in any order (oihw) they are
//   transposed into rows, one for each byte. What is left is copied byte by byte.
//
// Machines that can (pack_rows.hpp) write whole rows in both ways, and also for taps that lie side by side
// (oihw).
// SPDX-License-Identifier: Apache-2.0
#include "cpu/weights/pack_blocks.hpp"

#include <algorithm>
#include <cstring>

#include <immintrin.h>

#include "cpu/machine/avx2.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/weights/pack_rows.hpp"

namespace octet::impl {

namespace {

constexpr dim_t half_bytes = 16;
constexpr dim_t pair_channels = 2 * packed_o_block;
constexpr dim_t pairs_together = 2; ///< channels of a cache line of the source, where they are contiguous
constexpr dim_t line_bytes = 64;
/// Bytes of each channel, so that their rows stay in a first-level cache.
constexpr dim_t bytes_transposed = 512;
/// Bytes of each channel, so that the words of a block stay there, too.
constexpr dim_t bytes_gathered = 1024;
constexpr dim_t bytes_per_task = 65536;

OCTET_AVX2_INLINE __m256i load(const void *from) {
    return _mm256_loadu_si256(static_cast<const __m256i *>(from));
}

OCTET_AVX2_INLINE __m256i load_halves(const std::uint8_t *low, const std::uint8_t *high) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i *>(low)),
                  second = _mm_loadu_si128(reinterpret_cast<const __m128i *>(high));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}

/// The places that two blocks of a group go to. An odd last block takes both halves, which write the same.
struct packed_pair {
    std::uint8_t *low, *high;
    std::int32_t *sums; ///< the sums of 32 channels

    OCTET_AVX2_INLINE void store(dim_t offset, __m256i x) const {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(low + offset), _mm256_castsi256_si128(x));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(high + offset), _mm256_extracti128_si256(x, 1));
    }
    /// Words of sums for the four channels from `first` in both halves.
    OCTET_AVX2_INLINE void add(dim_t first, __m256i words) const {
        std::int32_t *of_low = sums + first, *of_high = of_low + packed_o_block;
        const __m256i sum = _mm256_add_epi32(words, load_halves(reinterpret_cast<std::uint8_t *>(of_low),
                                                                reinterpret_cast<std::uint8_t *>(of_high)));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(of_low), _mm256_castsi256_si128(sum));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(of_high), _mm256_extracti128_si256(sum, 1));
    }
};

/// 16-bit sums of neighbours among signed bytes. The ones are the unsigned operand; nothing saturates, because two
/// bytes need nine bits.
OCTET_AVX2_INLINE __m256i sums_of_two(__m256i bytes) {
    return _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
}
OCTET_AVX2_INLINE __m256i words_of(__m256i sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }

/// Channels of a pair in the source, or copied from there.
struct channel_bytes {
    const std::uint8_t *first;
    dim_t stride, second_block; ///< bytes from channel to channel and from block to block
    const std::uint8_t *at(dim_t o) const { return first + o * stride; }
};

/// `count` bytes of the reduction, read in whole halves; fewer rows are written than read where that is more.
OCTET_AVX2 void transpose_words(const channel_bytes &src, dim_t count, std::uint8_t flip,
                                const packed_pair &pair) {
    const packed_pair to = pair; // no store can change it
    const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
    for (dim_t o = 0; o < packed_o_block; o += 4) {
        __m256i sums = _mm256_setzero_si256();
        for (dim_t i = 0; i < count; i += half_bytes) {
            __m256i x[4];
            for (dim_t c = 0; c < 4; c++) {
                const std::uint8_t *from = src.at(o + c) + i;
                x[c] = _mm256_xor_si256(load_halves(from, from + src.second_block), flips);
            }
            const __m256i low01 = _mm256_unpacklo_epi32(x[0], x[1]),
                          high01 = _mm256_unpackhi_epi32(x[0], x[1]),
                          low23 = _mm256_unpacklo_epi32(x[2], x[3]),
                          high23 = _mm256_unpackhi_epi32(x[2], x[3]);
            const __m256i rows[] = {_mm256_unpacklo_epi64(low01, low23), _mm256_unpackhi_epi64(low01, low23),
                                    _mm256_unpacklo_epi64(high01, high23),
                                    _mm256_unpackhi_epi64(high01, high23)};
            const dim_t first = i / packed_i_block, last = div_up(count, packed_i_block);
            for (dim_t r = 0; r < 4; r++)
                if (first + r < last)
                    to.store((first + r) * packed_row_bytes + o * packed_i_block, rows[r]);
            // A word holds the sum of eight bytes, so that all are widened at once.
            const __m256i sums01 = _mm256_add_epi16(sums_of_two(rows[0]), sums_of_two(rows[1])),
                          sums23 = _mm256_add_epi16(sums_of_two(rows[2]), sums_of_two(rows[3]));
            sums = _mm256_add_epi32(sums, words_of(_mm256_add_epi16(sums01, sums23)));
        }
        to.add(o, sums);
    }
}

/// `count` packed rows, each of four rows of 32 channels at these bytes from `base`.
OCTET_AVX2 void interleave(const std::uint8_t *base, const dim_t *rows, dim_t count, std::uint8_t flip,
                           const packed_pair &pair) {
    const packed_pair to = pair; // no store can change it
    const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
    __m256i sums[] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                      _mm256_setzero_si256()};
    for (dim_t row = 0; row < count; row++, rows += packed_i_block) {
        const __m256i x0 = _mm256_xor_si256(load(base + rows[0]), flips),
                      x1 = _mm256_xor_si256(load(base + rows[1]), flips),
                      x2 = _mm256_xor_si256(load(base + rows[2]), flips),
                      x3 = _mm256_xor_si256(load(base + rows[3]), flips);
        const __m256i low01 = _mm256_unpacklo_epi8(x0, x1), high01 = _mm256_unpackhi_epi8(x0, x1),
                      low23 = _mm256_unpacklo_epi8(x2, x3), high23 = _mm256_unpackhi_epi8(x2, x3);
        const __m256i words[] = {_mm256_unpacklo_epi16(low01, low23), _mm256_unpackhi_epi16(low01, low23),
                                 _mm256_unpacklo_epi16(high01, high23),
                                 _mm256_unpackhi_epi16(high01, high23)};
        for (dim_t v = 0; v < 4; v++) {
            to.store(row * packed_row_bytes + v * half_bytes, words[v]);
            sums[v] = _mm256_add_epi32(sums[v], words_of(sums_of_two(words[v])));
        }
    }
    for (dim_t v = 0; v < 4; v++)
        to.add(4 * v, sums[v]);
}

/// 16 bytes of each channel become 16 rows of 32 channels. Four shuffles, each of vectors that are 8 apart, exchange
/// the two halves of an index (vector, byte).
OCTET_AVX2 void transpose_bytes(const channel_bytes &src, std::uint8_t *rows) {
    __m256i x[16], y[16];
#pragma GCC unroll 16
    for (dim_t o = 0; o < 16; o++)
        x[o] = load_halves(src.at(o), src.at(o) + src.second_block);
#pragma GCC unroll 2
    for (int twice = 0; twice < 2; twice++) {
#pragma GCC unroll 8
        for (int v = 0; v < 8; v++) {
            y[2 * v] = _mm256_unpacklo_epi8(x[v], x[v + 8]);
            y[2 * v + 1] = _mm256_unpackhi_epi8(x[v], x[v + 8]);
        }
#pragma GCC unroll 8
        for (int v = 0; v < 8; v++) {
            x[2 * v] = _mm256_unpacklo_epi8(y[v], y[v + 8]);
            x[2 * v + 1] = _mm256_unpackhi_epi8(y[v], y[v + 8]);
        }
    }
#pragma GCC unroll 16
    for (int v = 0; v < 16; v++)
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(rows + v * pair_channels), x[v]);
}

/// How the reduction is taken, the same for all channels.
struct reduction_plan {
    /// A part of the reduction at all taps, as rows of channels that are transposed or copied.
    struct step {
        dim_t first, count;
        /// The part of a channel that has the step's bytes. With 0 bytes they are copied one by one, else
        /// they are transposed.
        dim_t span = 0, span_bytes = 0;
        std::vector<dim_t> rows; ///< [tap][i]: bytes from the first row; those behind `count` are padding
        dim_t padded() const { return div_up(count, packed_i_block) * packed_i_block; }
    };

    reduction_plan(const packed_geometry &p, const block_source &src, instruction_set isa)
        : has_whole_rows(impl::has_whole_rows(isa)), is_contiguous(true), order(p.taps) {
        bool taps_are_contiguous = p.taps <= most_taps_in_row;
        for (dim_t tap = 0; tap < p.taps; tap++) {
            const dim_t *offsets = src.reduction.data() + tap * p.i;
            for (dim_t i = 0; i < p.i; i++) {
                is_contiguous &= offsets[i] == offsets[0] + i;
                taps_are_contiguous &= offsets[i] == src.reduction[0] + i * p.taps + tap;
            }
        }
        gathers_taps = has_whole_rows && taps_are_contiguous && !is_contiguous;
        const dim_t bytes = gathers_taps ? bytes_gathered : bytes_transposed;
        const dim_t most = div_up(std::max(bytes / p.taps, dim_t{1}), packed_i_block) * packed_i_block;
        if (is_contiguous)
            place_words(p, 1, line_bytes);
        if (gathers_taps)
            place_words(p, p.taps, most);
        for (dim_t i = 0; i < p.i && !is_contiguous; i += most)
            steps.push_back({i, std::min(most, p.i - i), 0, 0, {}});
        if (!gathers_taps)
            for (step &s : steps) {
                scratch_rows = std::max(scratch_rows, p.taps * s.padded());
                if (src.o_stride != 1)
                    find_span(p, src, s);
            }
        if (!gathers_taps)
            for (step &s : steps)
                place_rows(p, src, s);
    }

    bool has_whole_rows;
    bool is_contiguous;       ///< at each tap
    bool gathers_taps;        ///< codes are [i][tap]
    tap_order order;          ///< if it does
    std::vector<dim_t> words; ///< [i / 4][tap]: bytes from a packed row; of a tap alone if is_contiguous
    std::vector<step> steps;  ///< none if is_contiguous
    dim_t scratch_rows = 0;   ///< and a row of padding behind

    /// Bytes of scratch memory for a channel whose taps are gathered.
    dim_t gathered_bytes() const {
        return static_cast<dim_t>(words.size()) * packed_i_block + gathered_padding;
    }
    /// A line of each channel, their words, or rows.
    dim_t scratch_bytes() const {
        return gathers_taps ? packed_o_block * gathered_bytes()
                            : pair_channels * (is_contiguous ? line_bytes : scratch_rows + 1);
    }

private:
    static std::size_t at(dim_t k) { return static_cast<std::size_t>(k); }

    /// Finds the span that has the bytes of a step, if they lie close together.
    static void find_span(const packed_geometry &p, const block_source &src, step &s) {
        dim_t first = src.reduction[at(s.first)], last = first;
        for (dim_t tap = 0; tap < p.taps; tap++) {
            const auto begin = src.reduction.begin() + tap * p.i + s.first;
            const auto [least, most] = std::minmax_element(begin, begin + s.count);
            first = std::min(first, *least);
            last = std::max(last, *most);
        }
        const dim_t bytes = last - first + 1;
        if (bytes >= half_bytes && bytes <= p.taps * s.padded()) {
            s.span = first;
            s.span_bytes = bytes;
        }
    }

    void place_words(const packed_geometry &p, dim_t taps, dim_t count) {
        for (dim_t i = 0; i < count / packed_i_block; i++)
            for (dim_t tap = 0; tap < taps; tap++)
                words.push_back((tap * p.i_blocks() + i) * packed_row_bytes);
    }

    void place_rows(const packed_geometry &p, const block_source &src, step &s) const {
        s.rows.reserve(at(p.taps * s.padded()));
        for (dim_t tap = 0; tap < p.taps; tap++)
            for (dim_t k = 0; k < s.padded(); k++) {
                const dim_t row = k >= s.count        ? scratch_rows
                                  : s.span_bytes != 0 ? src.reduction[at(tap * p.i + s.first + k)] - s.span
                                                      : tap * s.padded() + k;
                s.rows.push_back(row * pair_channels);
            }
    }
};

/// Packs one unit after the other. Each thread has one.
class packer {
public:
    packer(const packed_geometry &p, const block_source &src, const reduction_plan &plan, std::uint8_t flip,
           std::int8_t *dst)
        : p_(p), src_(src), plan_(plan), flip_(flip), dst_(reinterpret_cast<std::uint8_t *>(dst)),
          sums_(reinterpret_cast<std::int32_t *>(dst + p.sums_offset())),
          line_sums_(static_cast<std::size_t>(pairs_together * p.lines * pair_channels)),
          tap_sums_(plan.gathers_taps ? pairs_together * pair_channels * most_taps_in_row : 0),
          scratch_(static_cast<std::size_t>(plan.scratch_bytes()), flip) {}

    /// Packs these blocks of output channels of a group, not more than are worked on together.
    void pack(dim_t group, dim_t first_block, dim_t end_block) {
        std::fill(line_sums_.begin(), line_sums_.end(), 0);
        std::fill(tap_sums_.begin(), tap_sums_.end(), 0);
        const auto for_each_pair = [&](const auto &body) {
            for (dim_t block = first_block, pair = 0; block < end_block; block += 2, pair++)
                body(block_pair{group, {block, std::min(block + 1, end_block - 1)}, pair});
        };
        if (plan_.is_contiguous)
            for (dim_t tap = 0; tap < p_.taps; tap++)
                for (dim_t i = 0; i < p_.i; i += line_bytes)
                    for_each_pair([&](const block_pair &at) { pack_line(at, tap, i); });
        const bool are_all_there = src_.o_stride == 1 && (end_block - first_block) == 2 * pairs_together &&
                                   end_block * packed_o_block <= p_.o;
        for (const reduction_plan::step &step : plan_.steps)
            if (plan_.has_whole_rows && are_all_there && step.count == step.padded())
                interleave_step({group, {first_block, first_block + 1}, 0}, step);
            else
                for_each_pair([&](const block_pair &at) { pack_step(at, step); });
        if (plan_.gathers_taps)
            add_tap_sums();
        for (dim_t block = first_block; block < end_block; block++)
            for (dim_t line = 0; line < p_.lines; line++)
                std::copy_n(sums_of((block - first_block) / 2, line) +
                                (block - first_block) % 2 * packed_o_block,
                            packed_o_block,
                            sums_ + (group * p_.lines + line) * p_.line_sums() + block * packed_o_block);
    }

private:
    /// A pair of blocks; an odd last one is both.
    struct block_pair {
        dim_t group, blocks[2], pair;
        bool is_odd() const { return blocks[0] == blocks[1]; }
    };

    const dim_t *offsets(dim_t tap, dim_t i) const { return src_.reduction.data() + tap * p_.i + i; }
    std::int32_t *sums_of(dim_t pair, dim_t line) {
        return line_sums_.data() + (line * pairs_together + pair) * pair_channels;
    }
    channel_bytes channels_of(const block_pair &at) const {
        return {src_.data + src_.groups[static_cast<std::size_t>(at.group)] +
                    at.blocks[0] * packed_o_block * src_.o_stride,
                src_.o_stride, (at.blocks[1] - at.blocks[0]) * packed_o_block * src_.o_stride};
    }
    /// No channels of padding.
    bool is_whole(const block_pair &at) const { return (at.blocks[1] + 1) * packed_o_block <= p_.o; }
    /// Channels of a half that are none of padding.
    dim_t channels(const block_pair &at, int half) const {
        return std::min(packed_o_block, p_.o - at.blocks[half] * packed_o_block);
    }
    packed_pair packed(const block_pair &at, dim_t tap, dim_t i) {
        const auto row = [&](dim_t block) {
            return dst_ + (((at.group * p_.o_blocks() + block) * p_.taps + tap) * p_.i_blocks() +
                           i / packed_i_block) *
                              packed_row_bytes;
        };
        return {row(at.blocks[0]), row(at.blocks[1]), sums_of(at.pair, line_of(tap))};
    }
    dim_t line_of(dim_t tap) const { return tap / (p_.taps / p_.lines); }

    /// A cache line of each channel, of a contiguous reduction.
    void pack_line(const block_pair &at, dim_t tap, dim_t i) {
        const dim_t count = std::min(line_bytes, p_.i - i);
        channel_bytes from = channels_of(at);
        from.first += *offsets(tap, i);
        if (!is_whole(at) || count % half_bytes != 0)
            from = padded_copy(at, from, count);
        const packed_pair to = packed(at, tap, i);
        if (!plan_.has_whole_rows)
            return transpose_words(from, count, flip_, to);
        for (int half = 0; half < (at.is_odd() ? 1 : 2); half++)
            transpose_to_rows(from.first + half * from.second_block, from.stride,
                              div_up(count, packed_i_block), plan_.words.data(), flip_,
                              half ? to.high : to.low, to.sums + half * packed_o_block);
    }

    channel_bytes padded_copy(const block_pair &at, const channel_bytes &from, dim_t count) {
        std::fill(scratch_.begin(), scratch_.end(), flip_); // so that flipped padding is 0 and adds nothing
        for (int half = 0; half < 2; half++)
            for (dim_t o = 0; o < channels(at, half); o++)
                std::memcpy(scratch_.data() + (half * packed_o_block + o) * line_bytes,
                            from.at(o) + half * from.second_block, static_cast<std::size_t>(count));
        return {scratch_.data(), line_bytes, packed_o_block * line_bytes};
    }

    std::int32_t *tap_sums_of(dim_t pair, dim_t channel) {
        return tap_sums_.data() + (pair * pair_channels + channel) * most_taps_in_row;
    }
    void add_tap_sums() {
        for (dim_t tap = 0; tap < p_.taps; tap++)
            for (dim_t pair = 0; pair < pairs_together; pair++)
                for (dim_t o = 0; o < pair_channels; o++)
                    sums_of(pair, line_of(tap))[o] += tap_sums_of(pair, o)[tap];
    }

    /// Codes of several taps side by side, of one channel after the other.
    void gather_step(const block_pair &at, const reduction_plan::step &step) {
        const channel_bytes from = channels_of(at);
        const dim_t words = step.padded() / packed_i_block * p_.taps, stride = plan_.gathered_bytes();
        for (int half = 0; half < (at.is_odd() ? 1 : 2); half++) {
            const dim_t there = channels(at, half);
            for (dim_t o = 0; o < packed_o_block; o++) {
                std::uint8_t *to = scratch_.data() + o * stride;
                if (o >= there) {
                    std::fill_n(to, words * packed_i_block, 0);
                    continue;
                }
                gather_taps(from.at(o) + half * from.second_block + *offsets(0, step.first), step.count,
                            plan_.order, flip_, to, tap_sums_of(at.pair, half * packed_o_block + o));
            }
            const packed_pair rows = packed(at, 0, step.first);
            // What was gathered has been flipped and summed up, so that neither is done here.
            transpose_to_rows(scratch_.data(), stride, words, plan_.words.data(), 0,
                              half ? rows.high : rows.low, nullptr);
        }
    }

    /// Four blocks whose rows of channels are in the source.
    void interleave_step(const block_pair &at, const reduction_plan::step &step) {
        for (dim_t tap = 0; tap < p_.taps; tap++) {
            const packed_pair to = packed(at, tap, step.first);
            interleave_to_rows(channels_of(at).first, offsets(tap, step.first),
                               step.padded() / packed_i_block, flip_, to.low, p_.block_bytes(), to.sums);
        }
    }

    /// Rows of channels, where they are or from the scratch.
    void pack_step(const block_pair &at, const reduction_plan::step &step) {
        if (plan_.gathers_taps)
            return gather_step(at, step);
        const channel_bytes from = channels_of(at);
        const bool are_there =
            src_.o_stride == 1 && is_whole(at) && !at.is_odd() && step.count == step.padded();
        if (!are_there && is_whole(at) && step.span_bytes != 0)
            transpose_span(from, step);
        else if (!are_there)
            copy_rows(at, from, step);
        for (dim_t tap = 0; tap < p_.taps; tap++)
            interleave(are_there ? from.first : scratch_.data(),
                       are_there ? offsets(tap, step.first) : step.rows.data() + tap * step.padded(),
                       step.padded() / packed_i_block, flip_, packed(at, tap, step.first));
    }

    /// The last 16 bytes may overlap those before, so that none beyond the span is read.
    void transpose_span(const channel_bytes &from, const reduction_plan::step &step) {
        for (dim_t byte = 0; byte < step.span_bytes; byte += half_bytes) {
            const dim_t first = std::min(byte, step.span_bytes - half_bytes);
            transpose_bytes({from.first + step.span + first, from.stride, from.second_block},
                            scratch_.data() + first * pair_channels);
        }
    }

    void copy_rows(const block_pair &at, const channel_bytes &from, const reduction_plan::step &step) {
        for (dim_t tap = 0; tap < p_.taps; tap++)
            for (dim_t k = 0; k < step.count; k++) {
                std::uint8_t *to =
                    scratch_.data() + step.rows[static_cast<std::size_t>(tap * step.padded() + k)];
                std::fill_n(to, pair_channels, flip_);
                for (int half = 0; half < 2; half++)
                    copy_channels(from.first + half * from.second_block + *offsets(tap, step.first + k),
                                  channels(at, half), to + half * packed_o_block);
            }
    }

    void copy_channels(const std::uint8_t *from, dim_t count, std::uint8_t *to) const {
        if (src_.o_stride == 1)
            std::copy_n(from, count, to);
        else
            for (dim_t o = 0; o < count; o++)
                to[o] = from[o * src_.o_stride];
    }

    const packed_geometry &p_;
    const block_source &src_;
    const reduction_plan &plan_;
    const std::uint8_t flip_;
    std::uint8_t *const dst_;
    std::int32_t *const sums_;
    std::vector<std::int32_t> line_sums_; ///< [line][pair][channel]
    std::vector<std::int32_t> tap_sums_;  ///< [pair][channel][tap], where taps are gathered
    std::vector<std::uint8_t> scratch_;
};

} // namespace

bool packs_in_blocks(const packed_geometry &p, instruction_set isa) {
    return p.merged == 1 && !p.has_patches && p.element_bytes == 1 && isa.has_vectors();
}

void pack_blocks(const packed_geometry &p, const block_source &src, std::uint8_t flip, std::int8_t *dst,
                 instruction_set isa) {
    constexpr dim_t blocks_together = 2 * pairs_together;
    const dim_t units = div_up(p.o_blocks(), blocks_together);
    const dim_t unit_bytes = std::min(p.o_blocks(), blocks_together) * p.block_bytes();
    const reduction_plan plan(p, src, isa);
    parallel_for(p.groups * units, div_up(bytes_per_task, unit_bytes), [&](dim_t begin, dim_t end) {
        packer all(p, src, plan, flip, dst);
        for (dim_t unit = begin; unit < end; unit++) {
            const dim_t first = unit % units * blocks_together;
            all.pack(unit / units, first, std::min(first + blocks_together, p.o_blocks()));
        }
    });
}

} // namespace octet::impl
