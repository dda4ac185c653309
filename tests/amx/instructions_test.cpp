// The emulator's view of instructions against the assembler's, and its arithmetic against a formula.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include <xbyak/xbyak.h>

#include "amx/emulator.hpp"
#include "amx/instructions.hpp"
#include "cpu/machine/isa.hpp"

using namespace octet;
using namespace octet::test;
using namespace octet::test::amx;

namespace {

/// Decodes what the assembler emits; the length has to be its.
instruction decoded(const std::function<void(Xbyak::CodeGenerator &)> &emit) {
    Xbyak::CodeGenerator code;
    emit(code);
    const std::size_t length = code.getSize();
    code.nop(16);
    const auto found = decode(code.getCode());
    EXPECT_TRUE(found.has_value());
    if (!found)
        return {};
    EXPECT_EQ(found->length, length);
    return *found;
}

TEST(amx_instructions, products_are_decoded) {
    using Xbyak::Tmm;
    for (int t = 0; t < tile_count; t++) {
        const Tmm sums(t), a((t + 3) % tile_count), b((t + 5) % tile_count);
        const auto expect = [&](operation what, const instruction &i) {
            EXPECT_EQ(i.what, what);
            EXPECT_EQ(i.tile, sums.getIdx());
            EXPECT_EQ(i.source1, a.getIdx());
            EXPECT_EQ(i.source2, b.getIdx());
        };
        expect(operation::tdpbssd, decoded([&](auto &c) { c.tdpbssd(sums, a, b); }));
        expect(operation::tdpbsud, decoded([&](auto &c) { c.tdpbsud(sums, a, b); }));
        expect(operation::tdpbusd, decoded([&](auto &c) { c.tdpbusd(sums, a, b); }));
        expect(operation::tdpbuud, decoded([&](auto &c) { c.tdpbuud(sums, a, b); }));
        const instruction zero = decoded([&](auto &c) { c.tilezero(sums); });
        EXPECT_EQ(zero.what, operation::tilezero);
        EXPECT_EQ(zero.tile, t);
    }
    EXPECT_EQ(decoded([](auto &c) { c.tilerelease(); }).what, operation::tilerelease);
}

TEST(amx_instructions, every_form_of_address_is_decoded) {
    constexpr int rsp = 4;
    for (int base = 0; base < 16; base++)
        for (int index = 0; index < 16; index++)
            for (const int scale : {1, 2, 4, 8})
                for (const std::int32_t displacement : {0, 1, -128, 127, 128, -129, 1 << 30}) {
                    if (index == rsp)
                        continue;
                    const auto memory = [&](Xbyak::CodeGenerator &c) {
                        return c.ptr[Xbyak::Reg64(base) + Xbyak::Reg64(index) * scale + displacement];
                    };
                    const int tile = (base + index) % tile_count;
                    const auto expect = [&](operation what, const instruction &i) {
                        EXPECT_EQ(i.what, what);
                        EXPECT_EQ(i.tile, tile);
                        EXPECT_EQ(i.memory.displacement, displacement);
                        EXPECT_EQ(i.memory.base, base);
                        EXPECT_EQ(i.memory.index, index);
                        EXPECT_EQ(i.memory.scale, scale);
                    };
                    const Xbyak::Tmm t(tile);
                    expect(operation::tileloadd, decoded([&](auto &c) { c.tileloadd(t, memory(c)); }));
                    expect(operation::tileloaddt1, decoded([&](auto &c) { c.tileloaddt1(t, memory(c)); }));
                    expect(operation::tilestored, decoded([&](auto &c) { c.tilestored(memory(c), t); }));
                }
}

TEST(amx_instructions, configurations_may_lie_behind_the_code) {
    for (int base = 0; base < 16; base++) {
        const instruction i = decoded([&](auto &c) { c.ldtilecfg(c.ptr[Xbyak::Reg64(base) + 64]); });
        EXPECT_EQ(i.what, operation::ldtilecfg);
        EXPECT_EQ(i.memory.base, base);
        EXPECT_EQ(i.memory.displacement, 64);
    }
    const instruction i = decoded([](auto &c) { c.sttilecfg(c.ptr[c.rip + 100]); });
    EXPECT_EQ(i.what, operation::sttilecfg);
    EXPECT_EQ(i.memory.base, address::rip);
    EXPECT_EQ(i.memory.displacement, 100);
}

TEST(amx_instructions, others_are_not_taken) {
    const auto is_taken = [](const std::function<void(Xbyak::CodeGenerator &)> &emit) {
        Xbyak::CodeGenerator code;
        emit(code);
        code.nop(16);
        return decode(code.getCode()).has_value();
    };
    EXPECT_FALSE(is_taken([](auto &c) { c.ud2(); }));
    EXPECT_FALSE(is_taken([](auto &c) { c.nop(); }));
    EXPECT_FALSE(is_taken([](auto &c) { c.vpdpbusd(c.ymm0, c.ymm1, c.ymm2, Xbyak::VexEncoding); }));
    EXPECT_FALSE(is_taken([](auto &c) { c.tdpbf16ps(c.tmm0, c.tmm1, c.tmm2); }));
    EXPECT_FALSE(is_taken([](auto &c) { c.vpbroadcastd(c.ymm0, c.ptr[c.rax]); }));
}

// ---- execution

struct alignas(64) configuration_bytes {
    std::uint8_t bytes[64] = {1};
    configuration_bytes &tile(int t, int rows, int row_bytes) {
        bytes[16 + 2 * t] = static_cast<std::uint8_t>(row_bytes);
        bytes[48 + t] = static_cast<std::uint8_t>(rows);
        return *this;
    }
    std::string load(tile_state &state) { return execute({operation::ldtilecfg}, state, bytes, 0); }
};

TEST(amx_instructions, products_are_those_of_the_formula) {
    std::mt19937 random(1);
    const auto draw = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    for (int problem = 0; problem < 200; problem++) {
        const int m = draw(1, 16), n = draw(1, 16), quads = draw(1, 16), stride = draw(64, 200);
        tile_state state;
        ASSERT_EQ(
            configuration_bytes().tile(0, m, 4 * n).tile(1, m, 4 * quads).tile(2, quads, 4 * n).load(state),
            "");
        std::vector<std::uint8_t> a(static_cast<std::size_t>(16 * stride)), b(a.size());
        for (std::uint8_t &byte : a)
            byte = static_cast<std::uint8_t>(draw(0, 255));
        for (std::uint8_t &byte : b)
            byte = static_cast<std::uint8_t>(draw(0, 255));
        const auto kind = static_cast<operation>(static_cast<int>(operation::tdpbssd) + problem % 4);
        const bool a_is_signed = kind == operation::tdpbssd || kind == operation::tdpbsud;
        const bool b_is_signed = kind == operation::tdpbssd || kind == operation::tdpbusd;
        std::int32_t start[16];
        for (std::int32_t &x : start)
            x = draw(-1000, 1000);
        const auto run = [&](operation what, int tile, void *at, std::int64_t distance) {
            ASSERT_EQ(execute({what, 0, tile, 1, 2}, state, static_cast<std::uint8_t *>(at), distance), "");
        };
        run(operation::tileloadd, 0, start, 0); // the same row sixteen times
        run(operation::tileloadd, 1, a.data(), stride);
        run(operation::tileloaddt1, 2, b.data(), stride);
        run(kind, 0, nullptr, 0);
        std::int32_t sums[16][20] = {};
        run(operation::tilestored, 0, sums, sizeof sums[0]);
        for (int r = 0; r < 16; r++)
            for (int c = 0; c < 20; c++) {
                std::int32_t expected = r < m && c < n ? start[c] : 0;
                for (int k = 0; k < 4 * quads && r < m && c < n; k++) {
                    const std::uint8_t x = a[static_cast<std::size_t>(r * stride + k)],
                                       y = b[static_cast<std::size_t>(k / 4 * stride + 4 * c + k % 4)];
                    expected += (a_is_signed ? static_cast<std::int8_t>(x) : x) *
                                (b_is_signed ? static_cast<std::int8_t>(y) : y);
                }
                ASSERT_EQ(sums[r][c], expected) << "row " << r << ", column " << c;
            }
    }
}

TEST(amx_instructions, what_a_cpu_refuses_is_reported) {
    tile_state state;
    const auto run = [&](operation what, int tile, int source1, int source2) {
        std::uint8_t memory[16 * 64] = {};
        return execute({what, 0, tile, source1, source2}, state, memory, 64);
    };
    EXPECT_NE(run(operation::tileloadd, 0, 0, 0), ""); // nothing is configured
    configuration_bytes wrong;
    wrong.bytes[0] = 2;
    EXPECT_NE(wrong.load(state), "");
    EXPECT_NE(configuration_bytes().tile(0, 17, 64).load(state), "");
    EXPECT_NE(configuration_bytes().tile(0, 16, 65).load(state), "");
    EXPECT_NE(configuration_bytes().tile(0, 16, 0).load(state), "");
    EXPECT_NE(configuration_bytes().tile(8, 16, 64).load(state), "");
    ASSERT_EQ(configuration_bytes().tile(0, 5, 64).tile(1, 5, 12).tile(2, 3, 64).tile(3, 4, 64).load(state),
              "");
    EXPECT_EQ(run(operation::tdpbusd, 0, 1, 2), "");
    EXPECT_NE(run(operation::tdpbusd, 0, 1, 3), ""); // 3 quads against 4
    EXPECT_NE(run(operation::tdpbusd, 3, 1, 2), ""); // 4 rows against 5
    EXPECT_NE(run(operation::tdpbusd, 0, 1, 1), "");
    EXPECT_NE(run(operation::tdpbusd, 0, 1, 7), "");
    EXPECT_EQ(run(operation::tilerelease, 0, 0, 0), "");
    EXPECT_NE(run(operation::tdpbusd, 0, 1, 2), "");
}

// ---- the handler, or the machine

TEST(amx_instructions, run_in_generated_code) {
    const auto levels = get_available_cpu_isas();
    if (levels.back() != cpu_isa::avx512_amx)
        GTEST_SKIP() << "neither tile registers nor AVX512-VNNI to stand under their emulation";
    std::printf("  tile registers: %s\n", emulates_amx() ? "emulated" : "the machine's");
    alignas(64) configuration_bytes shapes, seen;
    shapes.tile(0, 3, 64).tile(6, 3, 8).tile(7, 2, 64);
    seen.bytes[0] = 0;
    std::uint8_t a[3][8], b[2][64];
    for (int k = 0; k < 8; k++)
        for (int r = 0; r < 3; r++)
            a[r][k] = static_cast<std::uint8_t>(200 + 8 * r + k);
    for (int q = 0; q < 2; q++)
        for (int c = 0; c < 64; c++)
            b[q][c] = static_cast<std::uint8_t>(c * 3 - q * 50);
    std::int32_t sums[3][16] = {};
    struct {
        void *shapes, *seen, *a, *b, *sums;
    } args{&shapes, &seen, a, b, sums};
    Xbyak::CodeGenerator code;
    code.mov(code.rax, code.ptr[code.rdi]);
    code.ldtilecfg(code.ptr[code.rax]);
    code.mov(code.rax, code.ptr[code.rdi + 8]);
    code.sttilecfg(code.ptr[code.rax]);
    code.mov(code.rax, code.ptr[code.rdi + 16]);
    code.mov(code.r9, 8);
    code.tileloadd(code.tmm6, code.ptr[code.rax + code.r9]);
    code.mov(code.r10, code.ptr[code.rdi + 24]);
    code.mov(code.r9, 16);
    code.tileloadd(code.tmm7, code.ptr[code.r10 + code.r9 * 4]);
    code.tilezero(code.tmm0);
    code.tdpbsud(code.tmm0, code.tmm6, code.tmm7);
    code.mov(code.rax, code.ptr[code.rdi + 32]);
    code.tilestored(code.ptr[code.rax + code.r9 * 4], code.tmm0);
    code.tilerelease();
    code.ret();
    code.getCode<void (*)(void *)>()(&args);
    EXPECT_EQ(std::memcmp(&shapes, &seen, sizeof shapes), 0);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 16; c++) {
            std::int32_t expected = 0;
            for (int k = 0; k < 8; k++)
                expected += static_cast<std::int8_t>(a[r][k]) * b[k / 4][4 * c + k % 4];
            EXPECT_EQ(sums[r][c], expected);
        }
}

} // namespace
