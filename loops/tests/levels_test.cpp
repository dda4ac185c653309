// The form of a loop that runs at a level.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loops/levels.hpp"

namespace octet::tests {
namespace {

TEST(Levels, LevelsWithAvx512LackAvxVnni) {
    for (const cpu_isa level : {cpu_isa::avx512_core, cpu_isa::avx512_vnni, cpu_isa::avx512_amx}) {
        EXPECT_TRUE(loops::includes(level, cpu_isa::avx2));
        EXPECT_FALSE(loops::includes(level, cpu_isa::avx_vnni));
    }
    EXPECT_TRUE(loops::includes(cpu_isa::avx_vnni, cpu_isa::avx2));
    EXPECT_FALSE(loops::includes(cpu_isa::avx2, cpu_isa::avx_vnni));
    EXPECT_FALSE(loops::includes(cpu_isa::avx512_core, cpu_isa::avx512_vnni));
}

TEST(Levels, ACapHoldsForLoops) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        EXPECT_EQ(loops::fastest<cpu_isa>({{cpu_isa::ref, cpu_isa::ref},
                                           {cpu_isa::avx2, cpu_isa::avx2},
                                           {cpu_isa::avx_vnni, cpu_isa::avx_vnni},
                                           {cpu_isa::avx512_core, cpu_isa::avx512_core},
                                           {cpu_isa::avx512_vnni, cpu_isa::avx512_vnni},
                                           {cpu_isa::avx512_amx, cpu_isa::avx512_amx}}),
                  level);
        EXPECT_EQ(loops::fastest<int>({{cpu_isa::ref, 1}}), 1);
    }
    set_max_cpu_isa(cpu_isa::all);
}

} // namespace
} // namespace octet::tests
