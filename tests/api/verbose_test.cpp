// Lines of verbose mode: one per execution, fields by commas, in an order that scripts may rely on.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "octet/octet.hpp"

using namespace octet;
using dt = data_type;
using tag = format_tag;

namespace {

const engine cpu(engine::kind::cpu, 0);

std::vector<std::string> split(const std::string &text, char at) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);)
        parts.push_back(part);
    return parts;
}

/// Rows that a call prints on stdout at this level, without the table's head.
template <typename Call> std::vector<std::string> lines_of(int level, const Call &call) {
    set_log({}); // the head comes again
    testing::internal::CaptureStdout();
    set_verbose(level);
    call();
    set_verbose(0);
    std::vector<std::string> lines = split(testing::internal::GetCapturedStdout(), '\n');
    if (lines.size() >= 2) {
        EXPECT_EQ(lines[0], "octet_verbose,event,engine,implementation,problem,milliseconds");
        EXPECT_EQ(lines[1].rfind("octet_verbose,info,cpu,,octet " + std::string(version()) + " isa:", 0), 0u)
            << lines[1];
        lines.erase(lines.begin(), lines.begin() + 2);
    }
    return lines;
}

struct convolution {
    memory::desc src{{1, 4, 6, 6}, dt::u8, tag::nhwc}, weights{{2, 4, 3, 3}, dt::s8, tag::oihw},
        bias{{2}, dt::s32, tag::x}, dst{{1, 2, 4, 4}, dt::s8, tag::nhwc};
    primitive_attr attr;

    convolution() {
        attr.set_output_scales(2, {0.5f, 0.25f});
        attr.set_zero_points(OCTET_ARG_SRC, 0, {3});
        attr.set_zero_points(OCTET_ARG_DST, 0, {OCTET_RUNTIME_S32_VAL});
        post_ops ops;
        ops.append_sum(1.f);
        ops.append_eltwise(algorithm::eltwise_relu, 0.f, 0.f);
        attr.set_post_ops(ops);
    }
    convolution_forward::primitive_desc pd() const {
        return {convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, src,
                                          weights, bias, dst, {1, 1}, {0, 0}, {0, 0}),
                attr, cpu};
    }
    void run() const {
        const memory zero_point(memory::desc({1}, dt::s32, tag::x), cpu);
        convolution_forward(pd()).execute(stream(cpu),
                                          {{OCTET_ARG_SRC, memory(src, cpu)},
                                           {OCTET_ARG_WEIGHTS, memory(weights, cpu)},
                                           {OCTET_ARG_BIAS, memory(bias, cpu)},
                                           {OCTET_ARG_DST, memory(dst, cpu)},
                                           {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST, zero_point}});
    }
};

TEST(verbose, level_0_is_silent) {
    EXPECT_TRUE(lines_of(0, [] { convolution().run(); }).empty());
}

TEST(verbose, level_1_prints_one_line_per_execution) {
    const std::vector<std::string> lines = lines_of(1, [] { convolution().run(); });
    ASSERT_EQ(lines.size(), 1u);
    const std::vector<std::string> fields = split(lines[0], ',');
    ASSERT_EQ(fields.size(), 6u) << lines[0];
    EXPECT_EQ(fields[0], "octet_verbose");
    EXPECT_EQ(fields[1], "exec");
    EXPECT_EQ(fields[2], "cpu");
    EXPECT_EQ(fields[3], convolution().pd().impl_info_str());
    EXPECT_EQ(fields[4],
              "convolution src:u8:1x4x6x6:nhwc weights:s8:2x4x3x3:oihw bias:s32:2:x dst:s8:1x2x4x4:nhwc "
              "strides:1x1 dilates:0x0 padding_l:0x0 output_scales:2:0.5/0.25 zero_points:src:0:3 "
              "zero_points:dst:0:* post_op:sum:1:0:undef post_op:eltwise_relu:0:0:1");
    char *end = nullptr;
    EXPECT_GT(std::strtod(fields[5].c_str(), &end), 0) << "a time in milliseconds";
    EXPECT_EQ(*end, '\0') << fields[5];
}

TEST(verbose, the_line_holds_the_problem_string) {
    const std::vector<std::string> lines = lines_of(1, [] { convolution().run(); });
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("," + convolution().pd().problem_str() + ","), std::string::npos) << lines[0];
}

TEST(verbose, level_2_prints_creation_and_refusals) {
    const std::vector<std::string> lines = lines_of(2, [] { convolution().run(); });
    const convolution_forward::primitive_desc pd = convolution().pd();
    ASSERT_EQ(lines.size(), 2 + pd.refusals().size());
    EXPECT_EQ(lines[0],
              std::string("octet_verbose,create,cpu,") + pd.impl_info_str() + "," + pd.problem_str());
    for (std::size_t i = 0; i < pd.refusals().size(); i++) {
        std::string refusal = pd.refusals()[i]; // "name: reason"
        refusal.replace(refusal.find(": "), 2, ",");
        EXPECT_EQ(lines[1 + i], "octet_verbose,refused,cpu," + refusal);
    }
    EXPECT_EQ(lines.back().rfind("octet_verbose,exec,", 0), 0u);
}

TEST(verbose, every_operation_prints_its_name) {
    const memory a(memory::desc({1, 4, 4, 4}, dt::s8, tag::nhwc), cpu), b(a.get_desc(), cpu);
    const auto name = [&](const auto &execute) {
        const std::vector<std::string> lines = lines_of(1, execute);
        return lines.size() == 1 ? split(split(lines[0], ',')[4], ' ')[0]
                                 : std::to_string(lines.size()) + " lines";
    };
    EXPECT_EQ(name([&] { reorder(a, b).execute(stream(cpu), a, b); }), "reorder");
    EXPECT_EQ(
        name([&] {
            const binary::primitive_desc pd(
                binary::desc(algorithm::binary_add, a.get_desc(), a.get_desc(), b.get_desc()), cpu);
            binary(pd).execute(stream(cpu), {{OCTET_ARG_SRC_0, a}, {OCTET_ARG_SRC_1, a}, {OCTET_ARG_DST, b}});
        }),
        "binary");
    EXPECT_EQ(name([&] {
                  const pooling_forward::desc d(prop_kind::forward_inference, algorithm::pooling_max,
                                                a.get_desc(), b.get_desc(), {1, 1}, {1, 1}, {0, 0}, {0, 0});
                  pooling_forward(pooling_forward::primitive_desc(d, cpu))
                      .execute(stream(cpu), {{OCTET_ARG_SRC, a}, {OCTET_ARG_DST, b}});
              }),
              "pooling");
}

TEST(verbose, a_log_function_replaces_standard_output) {
    std::vector<std::string> rows;
    set_log([&](const std::string &row) { rows.push_back(row); });
    testing::internal::CaptureStdout();
    set_verbose(1);
    convolution().run();
    convolution().run();
    set_verbose(0);
    set_log({});
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    ASSERT_EQ(rows.size(), 4u) << "the head once, then a row per execution";
    EXPECT_EQ(rows[0], "octet_verbose,event,engine,implementation,problem,milliseconds");
    EXPECT_EQ(rows[3].rfind("octet_verbose,exec,cpu,", 0), 0u);
    EXPECT_EQ(rows[3].find('\n'), std::string::npos);
}

TEST(verbose, a_row_can_be_run_again) {
    const std::vector<std::string> lines = lines_of(1, [] { convolution().run(); });
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(primitive_desc_from_string(lines[0], cpu).problem_str(), convolution().pd().problem_str());
}

} // namespace
