// A function per format reads a record, another one writes it; the table has both.
// SPDX-License-Identifier: Apache-2.0
#include "common/ggml_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>

#include "common/ggml_fit.hpp"
#include "common/small_floats.hpp"
#include "common/text.hpp"

namespace octet::impl {

namespace {

constexpr int short_block = 32; ///< elements of q8_0 to q4_1

float f16_at(const std::uint8_t *bytes) {
    return from_f16(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}
void set_f16(std::uint8_t *bytes, float x) {
    const std::uint16_t half = to_f16(x);
    bytes[0] = static_cast<std::uint8_t>(half & 0xff);
    bytes[1] = static_cast<std::uint8_t>(half >> 8);
}

std::int8_t as_code(int value) { return static_cast<std::int8_t>(value); }

// ---- q8_0 {f16 d, s8 q[32]} and q8_1 {f16 d, f16 sum, s8 q[32]}

template <int header> void read_8_bits(const std::uint8_t *block, block_values &v) {
    v.scales[0] = f16_at(block);
    std::memcpy(v.codes.data(), block + header, short_block);
}

/// Codes come from the scale before it is rounded to f16, and so does q8_1's sum.
template <int header> void write_8_bits(const float *x, std::uint8_t *block, source_quantizer by) {
    source_parameters p;
    std::array<std::int8_t, short_block> codes;
    quantize_source({by, source_mode::symmetric, data_type::s8}, x, 1, short_block, short_block, codes.data(),
                    &p);
    set_f16(block, p.scale);
    if (header == 4)
        set_f16(block + 2, static_cast<float>(std::accumulate(codes.begin(), codes.end(), 0)) * p.scale);
    std::memcpy(block + header, codes.data(), short_block);
}

// ---- q4_0 {f16 d, u8 q[16]} and q4_1 {f16 d, f16 m, u8 q[16]}: element j in the low bits, j + 16 in the high ones

int nibble_of(const std::uint8_t *q, int i) { return q[i % 16] >> (i < 16 ? 0 : 4) & 0xf; }

template <typename Code> void set_nibbles(std::uint8_t *q, Code code) {
    for (int j = 0; j < 16; j++)
        q[j] = static_cast<std::uint8_t>(code(j) | code(j + 16) << 4);
}

void read_q4_0(const std::uint8_t *block, block_values &v) {
    v.scales[0] = f16_at(block);
    for (int i = 0; i < short_block; i++)
        v.codes[i] = as_code(nibble_of(block + 2, i) - 8);
}
void write_q4_0(const float *x, std::uint8_t *block, source_quantizer) {
    float largest = 0.f; // the first of largest magnitude, with its sign
    for (int i = 0; i < short_block; i++)
        if (std::fabs(x[i]) > std::fabs(largest))
            largest = x[i];
    const float d = largest / -8.f, inverse = d != 0.f ? 1.f / d : 0.f;
    set_f16(block, d);
    set_nibbles(block + 2, [&](int i) { return std::min(15, static_cast<int>(x[i] * inverse + 8.5f)); });
}

void read_q4_1(const std::uint8_t *block, block_values &v) {
    v.scales[0] = f16_at(block);
    v.offsets[0] = f16_at(block + 2);
    for (int i = 0; i < short_block; i++)
        v.codes[i] = as_code(nibble_of(block + 4, i));
}
void write_q4_1(const float *x, std::uint8_t *block, source_quantizer) {
    // The first of equal ones on both sides: zeros of one sign.
    const float low = *std::min_element(x, x + short_block), high = *std::max_element(x, x + short_block);
    const float d = (high - low) / 15.f, inverse = d != 0.f ? 1.f / d : 0.f;
    set_f16(block, d);
    set_f16(block + 2, low);
    set_nibbles(block + 4,
                [&](int i) { return std::min(15, static_cast<int>((x[i] - low) * inverse + 0.5f)); });
}

// ---- q4_K {f16 d, f16 dmin, u8 scales[12], u8 q[128]}: 8 groups of 32, with scales and minima of 6 bits

/// Groups 0 to 3 have whole bytes of `scales`, whose upper two bits belong to groups 4 to 7.
struct scale_and_minimum {
    int scale, minimum;
};
scale_and_minimum six_bits(const std::uint8_t *scales, int group) {
    if (group < 4)
        return {scales[group] & 63, scales[group + 4] & 63};
    const int low = scales[group + 4];
    return {(low & 0xf) | scales[group - 4] >> 6 << 4, low >> 4 | scales[group] >> 6 << 4};
}

void read_q4_k(const std::uint8_t *block, block_values &v) {
    const float d = f16_at(block), minimum = f16_at(block + 2);
    for (int group = 0; group < 8; group++) {
        const scale_and_minimum s = six_bits(block + 4, group);
        v.scales[group] = d * static_cast<float>(s.scale);
        v.offsets[group] = -(minimum * static_cast<float>(s.minimum));
        const std::uint8_t *q = block + 16 + group / 2 * 32; // two groups share 32 bytes
        for (int i = 0; i < 32; i++)
            v.codes[group * 32 + i] = as_code(q[i] >> (group % 2 * 4) & 0xf);
    }
}

/// The six bits of a group's scale and minimum, in the places that `six_bits` reads.
void set_six_bits(std::uint8_t *scales, int group, int scale, int minimum) {
    const auto add = [&](int at, int bits) { scales[at] = static_cast<std::uint8_t>(scales[at] | bits); };
    if (group < 4) {
        add(group, scale);
        add(group + 4, minimum);
    } else {
        add(group + 4, (scale & 0xf) | (minimum & 0xf) << 4);
        add(group - 4, scale >> 4 << 6);
        add(group, minimum >> 4 << 6);
    }
}

/// Groups are fitted on their own; their scales and minima are rounded to 63rds of the largest, and the codes chosen
/// again for the rounded ones.
void write_q4_k(const float *x, std::uint8_t *block, source_quantizer) {
    std::array<fitted_group, 8> groups;
    float largest_scale = 0.f, largest_minimum = 0.f;
    for (int g = 0; g < 8; g++) {
        groups[g] = fit_with_minimum(x + 32 * g);
        largest_scale = std::max(largest_scale, groups[g].scale);
        largest_minimum = std::max(largest_minimum, groups[g].minimum);
    }
    const float inverse_scale = largest_scale > 0.f ? 63.f / largest_scale : 0.f,
                inverse_minimum = largest_minimum > 0.f ? 63.f / largest_minimum : 0.f;
    std::memset(block, 0, 144);
    set_f16(block, largest_scale / 63.f);
    set_f16(block + 2, largest_minimum / 63.f);
    for (int g = 0; g < 8; g++) {
        const auto rounded = [](float v) { return std::min(63, nearest_code(v) & 0xff); };
        const int scale = rounded(inverse_scale * groups[g].scale),
                  minimum = rounded(inverse_minimum * groups[g].minimum);
        set_six_bits(block + 4, g, scale, minimum);
        const float d = f16_at(block) * static_cast<float>(scale),
                    m = f16_at(block + 2) * static_cast<float>(minimum);
        for (int i = 0; i < 32; i++) {
            const int code =
                d != 0.f ? std::clamp(nearest_code((x[32 * g + i] + m) / d), 0, 15) : groups[g].codes[i];
            std::uint8_t &byte = block[16 + g / 2 * 32 + i];
            byte = static_cast<std::uint8_t>(byte | code << (g % 2 * 4));
        }
    }
}

// ---- q6_K {u8 low[128], u8 high[64], s8 scales[16], f16 d}: codes of 6 bits, 16 groups of 16

/// The bytes of an element's lower four and upper two bits, and where they begin there.
struct six_bit_place {
    int low, low_shift, high, high_shift;
};
six_bit_place place_of(int element) {
    const int half = element / 128, quarter = element % 128 / 32, lane = element % 32;
    return {half * 64 + quarter % 2 * 32 + lane, quarter / 2 * 4, 128 + half * 32 + lane, quarter * 2};
}

void read_q6_k(const std::uint8_t *block, block_values &v) {
    const float d = f16_at(block + 208);
    for (int group = 0; group < 16; group++)
        v.scales[group] = d * static_cast<float>(as_code(block[192 + group]));
    for (int i = 0; i < 256; i++) {
        const six_bit_place p = place_of(i);
        v.codes[i] =
            as_code(((block[p.low] >> p.low_shift & 0xf) | (block[p.high] >> p.high_shift & 3) << 4) - 32);
    }
}

/// As q4_K, with scales in 128ths of the one of largest magnitude.
void write_q6_k(const float *x, std::uint8_t *block, source_quantizer) {
    constexpr float least_scale = 1e-15f;
    std::array<fitted_group, 16> groups;
    float largest = 0.f;
    for (int g = 0; g < 16; g++) {
        groups[g] = fit_around_zero(x + 16 * g);
        if (std::fabs(groups[g].scale) > std::fabs(largest))
            largest = groups[g].scale;
    }
    std::memset(block, 0, 210);
    if (std::fabs(largest) < least_scale)
        return;
    const float inverse = -128.f / largest;
    set_f16(block + 208, 1 / inverse);
    for (int i = 0; i < 256; i++) {
        const int g = i / 16;
        const auto scale = as_code(std::min(127, nearest_code(inverse * groups[g].scale)));
        block[192 + g] = static_cast<std::uint8_t>(scale);
        const float d = f16_at(block + 208) * static_cast<float>(scale);
        const int code =
            d != 0.f ? std::clamp(nearest_code(x[i] / d), -32, 31) + 32 : groups[g].codes[i % 16];
        const six_bit_place p = place_of(i);
        block[p.low] = static_cast<std::uint8_t>(block[p.low] | (code & 0xf) << p.low_shift);
        block[p.high] = static_cast<std::uint8_t>(block[p.high] | code >> 4 << p.high_shift);
    }
}

// ---- the table

struct block_form {
    block_facts facts;
    void (*read)(const std::uint8_t *, block_values &);
    void (*write)(const float *, std::uint8_t *, source_quantizer);
};

// clang-format off
constexpr block_form table[] = { // in the order of the enumeration
    //  name  elements bytes group offset
    {{"q8_0", 32,      34,   32,   false}, read_8_bits<2>, write_8_bits<2>},
    {{"q8_1", 32,      36,   32,   false}, read_8_bits<4>, write_8_bits<4>},
    {{"q4_0", 32,      18,   32,   false}, read_q4_0,      write_q4_0},
    {{"q4_1", 32,      20,   32,   true},  read_q4_1,      write_q4_1},
    {{"q4_K", 256,     144,  32,   true},  read_q4_k,      write_q4_k},
    {{"q6_K", 256,     210,  16,   false}, read_q6_k,      write_q6_k},
};
// clang-format on
static_assert(std::size(table) == static_cast<std::size_t>(block_format::q6_k) + 1);

const block_form &form_of(block_format format) { return table[static_cast<std::size_t>(format)]; }

} // namespace

const block_facts &facts_of(block_format format) { return form_of(format).facts; }

block_values read_block(block_format format, const std::uint8_t *block) {
    block_values v;
    form_of(format).read(block, v);
    return v;
}

dim_t bytes_of_row(block_format format, dim_t elements) {
    const block_facts &facts = facts_of(format);
    if (elements < 0 || elements % facts.elements != 0)
        throw_invalid(facts.name, ": a row of ", elements, " elements, allowed: multiples of ",
                      facts.elements);
    return elements / facts.elements * facts.bytes;
}

void dequantize_blocks(block_format format, const std::uint8_t *blocks, dim_t elements, float *x) {
    const block_facts &facts = facts_of(format);
    const std::uint8_t *const end = blocks + bytes_of_row(format, elements);
    for (; blocks < end; blocks += facts.bytes) {
        const block_values v = read_block(format, blocks);
        for (int i = 0; i < facts.elements; i++) {
            const float y = static_cast<float>(v.codes[i]) * v.scales[i / facts.group];
            *x++ = facts.has_offset ? y + v.offsets[i / facts.group] : y;
        }
    }
}

void quantize_blocks(block_format format, const float *x, dim_t elements, std::uint8_t *blocks,
                     source_quantizer by) {
    const block_facts &facts = facts_of(format);
    if (by != source_quantizer::ggml && by != source_quantizer::ggml_avx2)
        throw_invalid(facts.name, ": quantizer ", to_string(by), ", allowed: ggml, ggml_avx2");
    const std::uint8_t *const end = blocks + bytes_of_row(format, elements);
    for (; blocks < end; blocks += facts.bytes, x += facts.elements)
        form_of(format).write(x, blocks, by);
}

} // namespace octet::impl
