// ggml's blocks: records written out by hand, values that ggml's library computed from a pattern of bytes,
// refusals. `octet check` compares whole rows with ggml.
// SPDX-License-Identifier: Apache-2.0
#include "common/ggml_blocks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "common/bits.hpp"
#include "common/small_floats.hpp"
#include "support/expect_error.hpp"

namespace octet::impl {
namespace {

using bytes = std::vector<std::uint8_t>;

bytes written(block_format format, const std::vector<float> &x,
              source_quantizer by = source_quantizer::ggml) {
    const auto count = static_cast<dim_t>(x.size());
    bytes blocks(static_cast<std::size_t>(bytes_of_row(format, count)));
    quantize_blocks(format, x.data(), count, blocks.data(), by);
    return blocks;
}
std::vector<float> read(block_format format, const bytes &blocks) {
    const block_facts &facts = facts_of(format);
    std::vector<float> x(blocks.size() / static_cast<std::size_t>(facts.bytes) *
                         static_cast<std::size_t>(facts.elements));
    dequantize_blocks(format, blocks.data(), static_cast<dim_t>(x.size()), x.data());
    return x;
}
std::uint16_t word(const bytes &b, std::size_t at) {
    return static_cast<std::uint16_t>(b[at] | b[at + 1] << 8);
}
void set_f16(bytes &b, std::size_t at, float x) {
    b[at] = static_cast<std::uint8_t>(to_f16(x) & 0xff);
    b[at + 1] = static_cast<std::uint8_t>(to_f16(x) >> 8);
}
/// Bytes 11, 48, 85, …
bytes pattern(block_format format) {
    bytes b(static_cast<std::size_t>(facts_of(format).bytes));
    for (std::size_t i = 0; i < b.size(); i++)
        b[i] = static_cast<std::uint8_t>(i * 37 + 11);
    return b;
}
constexpr std::uint64_t first_hash = 0xcbf29ce484222325;
std::uint64_t hashed(std::uint64_t h, std::uint32_t value) { return (h ^ value) * 0x100000001b3; }
std::uint64_t hash(const std::vector<float> &x) {
    std::uint64_t h = first_hash;
    for (const float v : x)
        h = hashed(h, bits(v));
    return h;
}
std::uint64_t hash(const bytes &b) {
    std::uint64_t h = first_hash;
    for (const std::uint8_t v : b)
        h = hashed(h, v);
    return h;
}

TEST(GgmlBlocks, RecordsOf8Bits) {
    std::vector<float> x(32, 1.5f);
    x[0] = 127.f;
    x[1] = -0.5f;
    const bytes c = written(block_format::q8_0, x),
                avx2 = written(block_format::q8_0, x, source_quantizer::ggml_avx2);
    ASSERT_EQ(c.size(), 34U);
    EXPECT_EQ(word(c, 0), to_f16(1.f));
    EXPECT_EQ(c[2], 127);
    EXPECT_EQ(c[3], 0xff); // -0.5 away from zero
    EXPECT_EQ(c[4], 2);
    EXPECT_EQ(avx2[3], 0); // and to even
    const bytes summed = written(block_format::q8_1, x);
    ASSERT_EQ(summed.size(), 36U);
    EXPECT_EQ(word(summed, 2), to_f16(127.f - 1.f + 30 * 2.f));
    EXPECT_EQ(bytes(summed.begin() + 4, summed.end()), bytes(c.begin() + 2, c.end()));
    EXPECT_EQ(read(block_format::q8_0, c)[1], -1.f);
}

/// Element j lies in the low bits of byte j, element j + 16 in the high ones.
TEST(GgmlBlocks, RecordsOf4Bits) {
    std::vector<float> x(32);
    for (int i = 0; i < 32; i++)
        x[static_cast<std::size_t>(i)] = static_cast<float>(i % 16 - 8);
    const bytes signed_codes = written(block_format::q4_0, x);
    ASSERT_EQ(signed_codes.size(), 18U);
    EXPECT_EQ(word(signed_codes, 0), to_f16(1.f));
    for (std::size_t j = 0; j < 16; j++)
        EXPECT_EQ(signed_codes[2 + j], j | j << 4);
    EXPECT_EQ(read(block_format::q4_0, signed_codes), x);

    for (std::size_t i = 0; i < 32; i++)
        x[i] = static_cast<float>(i < 16 ? i : 15 - i % 16) * 2.f - 3.f;
    const bytes offset_codes = written(block_format::q4_1, x);
    ASSERT_EQ(offset_codes.size(), 20U);
    EXPECT_EQ(word(offset_codes, 0), to_f16(2.f));
    EXPECT_EQ(word(offset_codes, 2), to_f16(-3.f));
    EXPECT_EQ(offset_codes[4 + 3], 3 | 12 << 4);
    EXPECT_EQ(read(block_format::q4_1, offset_codes), x);
}

/// The scale of q4_0 takes the sign of the first element of largest magnitude; a block of zeros has the scale -0.
TEST(GgmlBlocks, SignsAndZeros) {
    std::vector<float> x(32, 0.f);
    x[5] = 8.f;
    x[6] = -8.f;
    const bytes b = written(block_format::q4_0, x);
    EXPECT_EQ(word(b, 0), to_f16(-1.f));
    EXPECT_EQ(b[2 + 5] & 0xf, 0);
    EXPECT_EQ(b[2 + 6] & 0xf, 15); // 16 does not fit
    x.assign(32, -0.f);
    bytes zero(18, 0x88);
    zero[0] = 0;
    zero[1] = 0x80;
    EXPECT_EQ(written(block_format::q4_0, x), zero);
    x[31] = 0.f; // zeros of both signs: the first is the smallest and the largest
    EXPECT_EQ(word(written(block_format::q4_1, x), 0), 0);
    EXPECT_EQ(word(written(block_format::q4_1, x), 2), 0x8000);
    EXPECT_EQ(written(block_format::q8_0, x), bytes(34));
}

/// Amplitudes that f16 rounds to zero, or keeps as a subnormal number, leave the codes as they are.
TEST(GgmlBlocks, SmallBlocksKeepTheirCodes) {
    for (const float amplitude : {1e-5f, 1e-7f}) {
        std::vector<float> x(32, amplitude);
        x[1] = -amplitude;
        const bytes b = written(block_format::q8_0, x);
        EXPECT_EQ(word(b, 0), to_f16(amplitude / 127));
        EXPECT_EQ(b[2], 127);
        EXPECT_EQ(b[3], 129);
    }
    EXPECT_EQ(to_f16(1e-7f / 127), 0);
}

TEST(GgmlBlocks, SuperblocksAsLlamaCppReadsThem) {
    bytes b = pattern(block_format::q4_k);
    set_f16(b, 0, 0.03125f);
    set_f16(b, 2, 0.3f);
    std::vector<float> x = read(block_format::q4_k, b);
    EXPECT_EQ(x[0], -0x1.295cp+2f);
    EXPECT_EQ(x[100], -0x1.ace8p+2f);
    EXPECT_EQ(x[255], -0x1.0e0ep+3f);
    EXPECT_EQ(hash(x), 0x50749087d8167b25U);

    b = pattern(block_format::q6_k);
    set_f16(b, 208, -0.0123f);
    x = read(block_format::q6_k, b);
    EXPECT_EQ(x[0], 0x1.1996ap+4f);
    EXPECT_EQ(x[100], -0x1.f078200p+4f);
    EXPECT_EQ(x[255], 0x1.79dp-1f);
    EXPECT_EQ(hash(x), 0xca8997d715a38c5dU);
}

TEST(GgmlBlocks, SuperblocksAsLlamaCppWritesThem) {
    std::vector<float> x(256);
    for (int i = 0; i < 256; i++)
        x[static_cast<std::size_t>(i)] =
            static_cast<float>((i * 7919 + 13) % 1009 - 504) / 64.f * static_cast<float>(1 + i / 32);
    EXPECT_EQ(hash(written(block_format::q4_k, x)), 0xf8c3aff6590d37b5U);
    EXPECT_EQ(hash(written(block_format::q6_k, x)), 0x4b4d274f268c1028U);
    x.assign(256, 0.f);
    EXPECT_EQ(written(block_format::q4_k, x), bytes(144));
    EXPECT_EQ(written(block_format::q6_k, x), bytes(210));
}

/// What is read and written again reads as nearly the same: the last step of the scales is a 63rd or a 128th.
TEST(GgmlBlocks, SuperblocksComeBack) {
    std::vector<float> x(512);
    for (std::size_t i = 0; i < x.size(); i++)
        x[i] = std::sin(static_cast<float>(i) * 0.7f) * static_cast<float>(1 + i % 3);
    for (const auto &[format, most] :
         {std::pair(block_format::q4_k, 0.25f), std::pair(block_format::q6_k, 0.06f)}) {
        const std::vector<float> y = read(format, written(format, x));
        for (std::size_t i = 0; i < x.size(); i++)
            EXPECT_NEAR(y[i], x[i], most) << facts_of(format).name << ' ' << i;
    }
}

/// Every code of q6_K reads as that code: its six bits come from two places.
TEST(GgmlBlocks, SixBitsOfEveryElement) {
    for (int element = 0; element < 256; element++) {
        const int half = element / 128, quarter = element % 128 / 32, lane = element % 32;
        bytes b(210);
        for (std::size_t i = 192; i < 208; i++)
            b[i] = 1;
        set_f16(b, 208, 1.f);
        b[static_cast<std::size_t>(half * 64 + quarter % 2 * 32 + lane)] = quarter < 2 ? 0x0d : 0xd0;
        b[static_cast<std::size_t>(128 + half * 32 + lane)] = static_cast<std::uint8_t>(2 << (2 * quarter));
        const std::vector<float> x = read(block_format::q6_k, b);
        for (int i = 0; i < 256; i++)
            ASSERT_EQ(x[static_cast<std::size_t>(i)], i == element ? 13.f : -32.f) << element << ' ' << i;
    }
}

TEST(GgmlBlocks, Refusals) {
    std::vector<float> x(256);
    bytes b(256);
    test::expect_invalid([&] { dequantize_blocks(block_format::q4_0, b.data(), 33, x.data()); },
                         {"q4_0: a row of 33 elements, allowed: multiples of 32"});
    test::expect_invalid([&] { quantize_blocks(block_format::q8_0, x.data(), 16, b.data()); },
                         {"q8_0: a row of 16 elements, allowed: multiples of 32"});
    test::expect_invalid([] { bytes_of_row(block_format::q6_k, -256); }, {"q6_K: a row of -256 elements"});
    test::expect_invalid(
        [&] { quantize_blocks(block_format::q8_0, x.data(), 32, b.data(), source_quantizer::litert); },
        {"q8_0: quantizer litert, allowed: ggml, ggml_avx2"});
}

} // namespace
} // namespace octet::impl
