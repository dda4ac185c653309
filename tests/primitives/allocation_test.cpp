// `execute` allocates nothing once a primitive has run: every operator new of this program is counted.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "octet/octet.hpp"
#include "support/allocations.hpp"

namespace {

using namespace octet;

long allocations_of_an_execution(const primitive &p, const std::unordered_map<int, memory> &args) {
    stream s{engine(engine::kind::cpu, 0)};
    p.execute(s, args);
    p.execute(s, args);
    const long before = test::allocation_count();
    p.execute(s, args);
    return test::allocation_count() - before;
}

TEST(allocation, execute_allocates_nothing_once_it_has_run) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    set_num_threads(1);
    const engine cpu(engine::kind::cpu, 0);
    for (const data_type src_type : {data_type::u8, data_type::s8})
        for (const dim_t kernel : {1, 3}) {
            primitive_attr attr;
            attr.set_output_scales(1 << 1, std::vector<float>(32, 0.01f));
            post_ops ops;
            ops.append_sum(0.5f);
            ops.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f);
            attr.set_post_ops(ops);
            const convolution_forward::primitive_desc pd(
                {prop_kind::forward_inference,
                 algorithm::convolution_direct,
                 memory::desc({1, 16, 30, 30}, src_type, format_tag::nhwc),
                 memory::desc({32, 16, kernel, kernel}, data_type::s8, format_tag::any),
                 memory::desc({32}, data_type::f32, format_tag::x),
                 memory::desc({1, 32, 30, 30}, data_type::u8, format_tag::nhwc),
                 {1, 1},
                 {kernel / 2, kernel / 2},
                 {kernel / 2, kernel / 2}},
                attr, cpu);
            const std::unordered_map<int, memory> args = {{OCTET_ARG_SRC, memory(pd.src_desc(), cpu)},
                                                          {OCTET_ARG_WEIGHTS, memory(pd.weights_desc(), cpu)},
                                                          {OCTET_ARG_BIAS, memory(pd.bias_desc(), cpu)},
                                                          {OCTET_ARG_DST, memory(pd.dst_desc(), cpu)}};
            EXPECT_EQ(allocations_of_an_execution(convolution_forward(pd), args), 0)
                << kernel << "x" << kernel << ", " << pd.impl_info_str();
        }
    set_num_threads(0);
}

// Their kernel starts from 0 and is made when they first come.
TEST(allocation, biases_beyond_the_magic_bias_allocate_nothing_once_they_have_been_seen) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    set_num_threads(1);
    const engine cpu(engine::kind::cpu, 0);
    primitive_attr attr;
    attr.set_requantization(requantization_rule::ort_f32);
    attr.set_output_scales(0, {0.01f});
    const matmul::primitive_desc pd(cpu, memory::desc({5, 64}, data_type::u8, format_tag::ab),
                                    memory::desc({64, 48}, data_type::s8, format_tag::any),
                                    memory::desc({1, 48}, data_type::s32, format_tag::ab),
                                    memory::desc({5, 48}, data_type::u8, format_tag::ab), attr);
    std::vector<std::int32_t> bias(48, 1);
    const std::unordered_map<int, memory> args = {{OCTET_ARG_SRC, memory(pd.src_desc(), cpu)},
                                                  {OCTET_ARG_WEIGHTS, memory(pd.weights_desc(), cpu)},
                                                  {OCTET_ARG_BIAS, memory(pd.bias_desc(), cpu, bias.data())},
                                                  {OCTET_ARG_DST, memory(pd.dst_desc(), cpu)}};
    const matmul product(pd);
    EXPECT_EQ(allocations_of_an_execution(product, args), 0);
    bias[7] = 1 << 30;
    EXPECT_EQ(allocations_of_an_execution(product, args), 0);
    set_num_threads(0);
}

TEST(allocation, sizes_at_execution_allocate_nothing_once_they_have_been_seen) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    set_num_threads(1);
    const engine cpu(engine::kind::cpu, 0);
    const matmul::primitive_desc pd(
        cpu, memory::desc({OCTET_RUNTIME_DIM_VAL, 64}, data_type::u8, format_tag::ab),
        memory::desc({64, 48}, data_type::s8, format_tag::any),
        memory::desc({OCTET_RUNTIME_DIM_VAL, 48}, data_type::s32, format_tag::ab));
    const matmul product(pd);
    for (const dim_t rows : {1, 7, 64}) {
        const std::unordered_map<int, memory> args = {
            {OCTET_ARG_SRC, memory({{rows, 64}, data_type::u8, format_tag::ab}, cpu)},
            {OCTET_ARG_WEIGHTS, memory(pd.weights_desc(), cpu)},
            {OCTET_ARG_DST, memory({{rows, 48}, data_type::s32, format_tag::ab}, cpu)}};
        EXPECT_EQ(allocations_of_an_execution(product, args), 0) << rows;
    }
    set_num_threads(0);
}

TEST(allocation, deconvolution_allocates_nothing_once_it_has_run) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    set_num_threads(1);
    const engine cpu(engine::kind::cpu, 0);
    for (const dim_t kernel : {1, 2, 4}) { // 1: most outputs are not reached
        const dim_t out = kernel == 1 ? 59 : 60, pad = kernel == 4 ? 1 : 0;
        const deconvolution_forward::primitive_desc pd(
            {prop_kind::forward_inference,
             algorithm::deconvolution_direct,
             memory::desc({1, 16, 30, 30}, data_type::u8, format_tag::nhwc),
             memory::desc({32, 16, kernel, kernel}, data_type::s8, format_tag::any),
             memory::desc({1, 32, out, out}, data_type::s32, format_tag::nhwc),
             {2, 2},
             {pad, pad},
             {pad, pad}},
            cpu);
        const std::unordered_map<int, memory> args = {{OCTET_ARG_SRC, memory(pd.src_desc(), cpu)},
                                                      {OCTET_ARG_WEIGHTS, memory(pd.weights_desc(), cpu)},
                                                      {OCTET_ARG_DST, memory(pd.dst_desc(), cpu)}};
        EXPECT_EQ(allocations_of_an_execution(deconvolution_forward(pd), args), 0)
            << kernel << "x" << kernel << ", " << pd.impl_info_str();
    }
    set_num_threads(0);
}

TEST(allocation, streams_allocate_nothing_once_they_have_run) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    set_num_threads(1);
    const engine cpu(engine::kind::cpu, 0);
    const memory::desc codes({1, 40, 30, 30}, data_type::u8, format_tag::nhwc),
        reals({1, 40, 30, 30}, data_type::f32, format_tag::nchw);
    const memory zero_point(memory::desc({1}, data_type::s32, format_tag::a), cpu);

    primitive_attr attr;
    attr.set_requantization(requantization_rule::ort_f32);
    attr.set_scales(OCTET_ARG_DST, 0, {0.1f});
    const primitive quantize(reorder::primitive_desc(cpu, reals, cpu, codes, attr)); // in two steps
    EXPECT_EQ(allocations_of_an_execution(
                  quantize, {{OCTET_ARG_SRC, memory(reals, cpu)}, {OCTET_ARG_DST, memory(codes, cpu)}}),
              0);

    attr.set_scales(OCTET_ARG_SRC_0, 0, {0.1f});
    attr.set_scales(OCTET_ARG_SRC_1, 0, {0.2f});
    attr.set_zero_points(OCTET_ARG_SRC_1, 0, {OCTET_RUNTIME_S32_VAL});
    const primitive add(binary::primitive_desc({algorithm::binary_add, codes, codes, codes}, attr, cpu));
    EXPECT_EQ(allocations_of_an_execution(add, {{OCTET_ARG_SRC_0, memory(codes, cpu)},
                                                {OCTET_ARG_SRC_1, memory(codes, cpu)},
                                                {OCTET_ARG_DST, memory(codes, cpu)},
                                                {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC_1, zero_point}}),
              0);
    set_num_threads(0);
}

} // namespace
