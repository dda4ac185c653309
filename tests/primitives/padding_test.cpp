// Padding is bytes with the source's zero point. A zero point that is no code can't be one: nobody computes
// such a convolution in generated code unless told, and the result is that of the formula.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "octet/octet.hpp"

using namespace octet;

namespace {

const engine cpu(engine::kind::cpu, 0);

struct convolution {
    dim_t groups; ///< 1, or as many as channels
    bool is_padded;
};
constexpr dim_t channels = 64, size = 6;

struct outcome {
    std::vector<std::uint8_t> dst;
    std::string implementation, plan, refusals;
};

/// The zero point at creation, or with the execution.
outcome run(const convolution &c, std::int32_t zero_point, bool at_run_time) {
    const dim_t pad = c.is_padded ? 1 : 0, out = size - 2 + 2 * pad;
    const memory::desc x({1, channels, size, size}, data_type::u8, format_tag::nhwc),
        y({1, channels, out, out}, data_type::s32, format_tag::nhwc);
    const memory::desc w = c.groups == 1
                               ? memory::desc({channels, channels, 3, 3}, data_type::s8, format_tag::oihw)
                               : memory::desc({channels, 1, 1, 3, 3}, data_type::s8, format_tag::goihw);
    primitive_attr attr;
    attr.set_requantization(requantization_rule::none);
    attr.set_zero_points(OCTET_ARG_SRC, 0, {at_run_time ? OCTET_RUNTIME_S32_VAL : zero_point});
    const convolution_forward::primitive_desc pd(cpu, prop_kind::forward_inference,
                                                 algorithm::convolution_direct, x, w, y, {1, 1}, {pad, pad},
                                                 {pad, pad}, attr);
    std::vector<std::uint8_t> src(x.get_size()), weights(w.get_size());
    for (std::size_t i = 0; i < src.size(); i++)
        src[i] = static_cast<std::uint8_t>(i * 37 + i / 7);
    for (std::size_t i = 0; i < weights.size(); i++)
        weights[i] = static_cast<std::uint8_t>(i * 91 + i / 5);
    outcome result;
    result.dst.resize(y.get_size());
    const convolution_forward p(pd);
    p.execute(stream(cpu), {{OCTET_ARG_SRC, memory(x, cpu, src.data())},
                            {OCTET_ARG_WEIGHTS, memory(w, cpu, weights.data())},
                            {OCTET_ARG_DST, memory(y, cpu, result.dst.data())},
                            {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC,
                             memory(memory::desc({1}, data_type::s32, format_tag::a), cpu, &zero_point)}});
    result.implementation = pd.impl_info_str();
    result.plan = p.plan_str();
    for (const std::string &refusal : pd.refusals())
        result.refusals += refusal + "\n";
    return result;
}

std::vector<std::uint8_t> by_reference(const convolution &c, std::int32_t zero_point) {
    set_max_cpu_isa(cpu_isa::ref);
    const outcome result = run(c, zero_point, false);
    set_max_cpu_isa(cpu_isa::all);
    return result.dst;
}

class padding : public testing::TestWithParam<dim_t> {};

TEST_P(padding, with_a_code_is_generated) {
    if (get_effective_cpu_isa() == cpu_isa::ref)
        GTEST_SKIP() << "no generated code here";
    for (const bool at_run_time : {false, true}) {
        const outcome result = run({GetParam(), true}, 255, at_run_time);
        EXPECT_EQ(result.implementation.rfind("jit:", 0), 0u) << result.refusals;
        EXPECT_TRUE(result.dst == by_reference({GetParam(), true}, 255));
    }
}

TEST_P(padding, with_no_code_known_at_creation_is_refused) {
    if (get_effective_cpu_isa() == cpu_isa::ref)
        GTEST_SKIP() << "no generated code here";
    for (const std::int32_t zero_point : {-1, 256, 70000}) {
        const outcome result = run({GetParam(), true}, zero_point, false);
        EXPECT_EQ(result.implementation, "ref");
        EXPECT_NE(result.refusals.find("padding with the source zero point " + std::to_string(zero_point) +
                                       ", which is no code of the source"),
                  std::string::npos)
            << result.refusals;
    }
}

TEST_P(padding, with_no_code_at_run_time_is_computed_by_the_reference_and_told) {
    if (get_effective_cpu_isa() == cpu_isa::ref)
        GTEST_SKIP() << "no generated code here";
    for (const std::int32_t zero_point : {-1, 256, 70000}) {
        const outcome result = run({GetParam(), true}, zero_point, true);
        EXPECT_NE(result.plan.find("ref for source zero points that are no codes"), std::string::npos)
            << result.plan;
        EXPECT_TRUE(result.dst == by_reference({GetParam(), true}, zero_point)) << zero_point;
    }
}

TEST_P(padding, absent_takes_any_zero_point) {
    for (const std::int32_t zero_point : {-1, 256, 70000}) {
        const outcome result = run({GetParam(), false}, zero_point, false);
        EXPECT_TRUE(result.dst == by_reference({GetParam(), false}, zero_point)) << zero_point;
    }
}

INSTANTIATE_TEST_SUITE_P(groups, padding, testing::Values(dim_t{1}, channels));

} // namespace
