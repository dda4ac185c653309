// The form of a loop that runs at a level.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/onnx/ops/instruction_sets.hpp"

namespace octet::tests {
namespace {

TEST(InstructionSets, LevelsWithAvx512LackAvxVnni) {
    for (const cpu_isa level : {cpu_isa::avx512_core, cpu_isa::avx512_vnni, cpu_isa::avx512_amx}) {
        EXPECT_TRUE(model::includes(level, cpu_isa::avx2));
        EXPECT_FALSE(model::includes(level, cpu_isa::avx_vnni));
    }
    EXPECT_TRUE(model::includes(cpu_isa::avx_vnni, cpu_isa::avx2));
    EXPECT_FALSE(model::includes(cpu_isa::avx2, cpu_isa::avx_vnni));
    EXPECT_FALSE(model::includes(cpu_isa::avx512_core, cpu_isa::avx512_vnni));
}

TEST(InstructionSets, ACapHoldsForLoops) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        EXPECT_EQ(model::fastest<cpu_isa>({{cpu_isa::ref, cpu_isa::ref},
                                           {cpu_isa::avx2, cpu_isa::avx2},
                                           {cpu_isa::avx_vnni, cpu_isa::avx_vnni},
                                           {cpu_isa::avx512_core, cpu_isa::avx512_core},
                                           {cpu_isa::avx512_vnni, cpu_isa::avx512_vnni},
                                           {cpu_isa::avx512_amx, cpu_isa::avx512_amx}}),
                  level);
        EXPECT_EQ(model::fastest<int>({{cpu_isa::ref, 1}}), 1);
    }
    set_max_cpu_isa(cpu_isa::all);
}

} // namespace
} // namespace octet::tests
