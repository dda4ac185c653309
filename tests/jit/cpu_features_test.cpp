// The CPU's features, by which instruction sets are chosen, against Xbyak's reading of the same processor.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <xbyak/xbyak_util.h>

#include "common/machine.hpp"
#include "jit/base/cpu_features.hpp"

namespace octet::impl::jit {
namespace {

TEST(CpuFeatures, AreThoseThatXbyakFinds) {
    using cpu = Xbyak::util::Cpu;
    const cpu here;
    const unsigned found = detect_cpu_features();
    const auto expect = [&](unsigned feature, const cpu::Type &needs, const char *name) {
        EXPECT_EQ((found & feature) != 0, here.has(needs)) << name;
    };
    expect(cpu_feature::avx2, cpu::tAVX2 | cpu::tFMA | cpu::tF16C, "avx2");
    expect(cpu_feature::avx_vnni, cpu::tAVX_VNNI, "avx_vnni");
    expect(cpu_feature::avx512_core, cpu::tAVX512F | cpu::tAVX512DQ | cpu::tAVX512BW | cpu::tAVX512VL,
           "avx512_core");
    expect(cpu_feature::avx512_vnni, cpu::tAVX512_VNNI, "avx512_vnni");
    expect(cpu_feature::avx512_vbmi, cpu::tAVX512_VBMI, "avx512_vbmi");
    expect(cpu_feature::avx_vnni_int8, cpu::tAVX_VNNI_INT8, "avx_vnni_int8");
    if (!here.has(cpu::tAMX_TILE | cpu::tAMX_INT8)) {
        EXPECT_EQ(found & cpu_feature::amx_int8, 0u); // the system may refuse what the processor has
    }
}

} // namespace
} // namespace octet::impl::jit
