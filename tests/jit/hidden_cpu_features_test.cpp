// CPUID as a program sees it when features are hidden from it (network/onnx/tests/onnxruntime/levels.cjs):
// its words, and the instruction as a signal's handler executes it. No signal comes here.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include <xbyak/xbyak_util.h>

#include "support/hidden_cpu_features.h"

namespace octet::impl::jit {
namespace {

struct words {
    std::uint32_t at[cpuid_registers];
    bool operator==(const words &other) const { return std::equal(at, at + cpuid_registers, other.at); }
};

/// The answer of a CPU that has everything.
words without(const char *hidden, std::uint32_t leaf, std::uint32_t subleaf) {
    words answer{{~0u, ~0u, ~0u, ~0u}};
    cpuid_hide(hidden, leaf, subleaf, answer.at);
    return answer;
}

words all_but(std::uint32_t eax, std::uint32_t ebx, std::uint32_t ecx, std::uint32_t edx) {
    return {{~eax, ~ebx, ~ecx, ~edx}};
}

TEST(HiddenCpuFeatures, LoseTheirBitsAndNoOthers) {
    EXPECT_EQ(without("amx", 7, 0), all_but(0, 0, 0, 0x03400000));
    EXPECT_EQ(without("amx", 7, 1), all_but(0x00200000, 0, 0, 0x00000100));
    EXPECT_EQ(without("vnni", 7, 0), all_but(0, 0, 0x00000800, 0));
    EXPECT_EQ(without("vnni", 7, 1), all_but(0x00000010, 0, 0, 0x00080410));
    EXPECT_EQ(without("avx512", 7, 0), all_but(0, 0xdc230000, 0x00005842, 0x0080010c));
    EXPECT_EQ(without("avx512", 7, 1), all_but(0x00000020, 0, 0, 0x00080000));
    EXPECT_EQ(without("avx2", 7, 0), all_but(0, 0x00000020, 0, 0));
    EXPECT_EQ(without("avx2", 1, 0), all_but(0, 0, 0x00001000, 0));
    EXPECT_EQ(without("avx2,amx", 7, 0), all_but(0, 0x00000020, 0, 0x03400000));
}

TEST(HiddenCpuFeatures, LeaveOtherLeavesAlone) {
    const words all = all_but(0, 0, 0, 0);
    for (const std::uint32_t leaf : {0u, 2u, 4u, 0xdu, 0x14u, 0x1du, 0x80000001u})
        EXPECT_EQ(without("avx2,avx512,vnni,amx", leaf, 0), all) << leaf;
    EXPECT_EQ(without("avx2,avx512,vnni,amx", 7, 2), all);
    EXPECT_EQ(without("", 7, 0), all);
    EXPECT_EQ(without("avx", 7, 0), all); // no name begins another one
    EXPECT_EQ(without("avx2", 1, 5), without("avx2", 1, 0)) << "leaf 1 has no subleaves: ecx holds anything";
}

TEST(HiddenCpuFeatures, KnowTheirNames) {
    for (const std::string name : {"avx2", "avx512", "vnni", "amx"})
        EXPECT_TRUE(cpuid_feature_is_known(name.data(), name.size())) << name;
    for (const std::string name : {"", "avx", "avx2,amx", "sse"})
        EXPECT_FALSE(cpuid_feature_is_known(name.data(), name.size())) << name;
}

/// A thread that was interrupted at these bytes.
ucontext_t interrupted_at(const unsigned char *code, std::uint32_t leaf, std::uint32_t subleaf) {
    ucontext_t context{};
    greg_t *r = context.uc_mcontext.gregs;
    r[REG_RIP] = reinterpret_cast<greg_t>(code);
    r[REG_RAX] = leaf;
    r[REG_RCX] = subleaf;
    return context;
}

TEST(HiddenCpuFeatures, AreMissingFromTheInstructionsAnswer) {
    constexpr unsigned char cpuid[] = {0x0f, 0xa2};
    constexpr const char *hidden = "avx2,avx512,vnni,amx";
    for (const std::uint32_t leaf : {0u, 7u}) { // they do not tell which core has answered
        ucontext_t context = interrupted_at(cpuid, leaf, 0);
        const int is_executed = cpuid_execute(&context, hidden);
        cpuid_let_work(1); // on CPUs that can let it fault, it does by now
        ASSERT_TRUE(is_executed);
        unsigned expected[cpuid_registers];
        Xbyak::util::Cpu::getCpuidEx(leaf, 0, expected);
        cpuid_hide(hidden, leaf, 0, expected);
        const greg_t *r = context.uc_mcontext.gregs;
        EXPECT_EQ(r[REG_RAX], static_cast<greg_t>(expected[cpuid_eax]));
        EXPECT_EQ(r[REG_RBX], static_cast<greg_t>(expected[cpuid_ebx]));
        EXPECT_EQ(r[REG_RCX], static_cast<greg_t>(expected[cpuid_ecx]));
        EXPECT_EQ(r[REG_RDX], static_cast<greg_t>(expected[cpuid_edx]));
        EXPECT_EQ(r[REG_RIP], reinterpret_cast<greg_t>(cpuid + sizeof cpuid));
        if (leaf == 7) {
            EXPECT_EQ(r[REG_RBX] & 0x20, 0) << "avx2";
        }
    }
}

TEST(HiddenCpuFeatures, LeaveOtherInstructionsToOthers) {
    constexpr unsigned char load[] = {0x8b, 0x00};
    ucontext_t context = interrupted_at(load, 7, 0);
    EXPECT_FALSE(cpuid_execute(&context, "avx2"));
    EXPECT_EQ(context.uc_mcontext.gregs[REG_RIP], reinterpret_cast<greg_t>(load));
    EXPECT_EQ(context.uc_mcontext.gregs[REG_RAX], 7);
}

} // namespace
} // namespace octet::impl::jit
