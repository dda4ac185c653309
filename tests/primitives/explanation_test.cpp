// Explanations of a primitive: its plan, with those of its parts and what is left to the reference, and each
// reason of implementations that refused it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "octet/octet.hpp"

namespace octet::test {
namespace {

const engine cpu(engine::kind::cpu, 0);

std::string plan_of(const std::string &problem) {
    return primitive(primitive_desc_from_string(problem, cpu)).plan_str();
}

TEST(explanation, has_the_plans_of_parts) {
    const std::string plan = plan_of("deconvolution src:u8:1x16x8x8:nhwc weights:s8:16x16x3x3:any"
                                     " dst:u8:1x16x17x17:nhwc strides:2x2");
    EXPECT_FALSE(plan.empty());
    if (get_effective_cpu_isa() != cpu_isa::ref) {
        EXPECT_NE(plan.find("bytes of packed weights"), std::string::npos) << plan;
    }
}

TEST(explanation, tells_what_is_left_to_the_reference) {
    const std::string plan = plan_of("matmul src:u8:64x256:ab weights:s8:256x64:any dst:u8:64x64:ab"
                                     " zero_points:dst:0:*");
    if (get_effective_cpu_isa() != cpu_isa::ref) {
        EXPECT_NE(plan.find("ref for destination zero points"), std::string::npos) << plan;
    }
}

TEST(explanation, has_each_reason_once) {
    const auto pd = primitive_desc_from_string("convolution src:u8:0x64x14x14:nhwc weights:s8:64x64x1x1:any"
                                               " dst:u8:0x64x14x14:nhwc",
                                               cpu);
    std::set<std::string> reasons;
    for (const std::string &refusal : pd.refusals()) {
        EXPECT_TRUE(reasons.insert(refusal.substr(refusal.find(": "))).second) << refusal;
    }
}

} // namespace
} // namespace octet::test
