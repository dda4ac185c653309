// Sizes that come with the execution: one primitive gives, for every size, the bytes of the primitive that is made
// for that size; wrong sizes are refused by name before anything is written.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using octet::test::expect_unimplemented;
using dt = data_type;
using tag = format_tag;

namespace {

const engine cpu(engine::kind::cpu, 0);
constexpr dim_t unknown = OCTET_RUNTIME_DIM_VAL;

/// The text with a number for each unknown size.
std::string at_size(std::string problem, dim_t size) {
    for (std::size_t at = 0; (at = problem.find('*', at)) != std::string::npos;)
        if (problem[at - 1] == ':' && (at + 1 == problem.size() || problem[at + 1] == ' '))
            at++; // values of an attribute, not a size
        else
            problem.replace(at, 1, std::to_string(size));
    return problem;
}

/// Codes and small numbers; scales are positive.
void fill(const memory &m, std::uint32_t seed) {
    std::mt19937 random(seed);
    const memory::desc md = m.get_desc();
    auto *bytes = static_cast<std::uint8_t *>(m.get_data_handle());
    for (std::size_t i = 0; i < md.get_size(); i += memory::data_type_size(md.data_type())) {
        if (md.data_type() == dt::f32) {
            const float x = static_cast<float>(random() % 1000 + 1) / 5000.f;
            std::memcpy(bytes + i, &x, sizeof x);
        } else if (md.data_type() == dt::s32) {
            const auto x = static_cast<std::int32_t>(random() % 200);
            std::memcpy(bytes + i, &x, sizeof x);
        } else {
            bytes[i] = static_cast<std::uint8_t>(random());
        }
    }
}

std::unordered_map<int, memory> arguments_of(const primitive_desc &pd, std::uint32_t seed) {
    std::unordered_map<int, memory> args;
    for (const int arg : pd.args()) {
        args[arg] = memory(pd.arg_desc(arg), cpu);
        fill(args[arg], seed + static_cast<std::uint32_t>(arg));
    }
    return args;
}

std::vector<std::uint8_t> bytes_of(const memory &m) {
    const auto *bytes = static_cast<const std::uint8_t *>(m.get_data_handle());
    return {bytes, bytes + m.get_desc().get_size()};
}

std::vector<std::uint8_t> result_of(const primitive &p, std::unordered_map<int, memory> args) {
    fill(args.at(OCTET_ARG_DST), 1); // some post-ops read it
    p.execute(stream(cpu), args);
    return bytes_of(args.at(OCTET_ARG_DST));
}

/// One primitive for all sizes against one for each.
class runtime_sizes : public testing::TestWithParam<const char *> {};

TEST_P(runtime_sizes, give_the_bytes_of_known_ones) {
    const primitive_desc pd = primitive_desc_from_string(GetParam(), cpu);
    EXPECT_EQ(primitive_desc_from_string(pd.problem_str(), cpu).problem_str(), pd.problem_str());
    EXPECT_NE(pd.problem_str().find('*'), std::string::npos);
    for (const cpu_isa level : get_available_cpu_isas())
        for (const int threads : {1, 2, 3}) {
            set_max_cpu_isa(level);
            set_num_threads(threads);
            const primitive any_size(primitive_desc_from_string(GetParam(), cpu));
            for (const dim_t size : {1, 4 * threads + 5, 1}) { // a tail of rows, and a size again
                const primitive_desc known = primitive_desc_from_string(at_size(GetParam(), size), cpu);
                const bool is_packed = pd.weights_desc().get_format_kind() == format_kind::packed;
                EXPECT_TRUE(!is_packed || pd.weights_desc() == known.weights_desc()) << "one layout for all";
                const auto args = arguments_of(known, static_cast<std::uint32_t>(size));
                EXPECT_EQ(result_of(any_size, args), result_of(primitive(known), args))
                    << to_string(level) << ", size " << size << ", " << threads << " threads";
            }
        }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(0);
}

INSTANTIATE_TEST_SUITE_P(
    matmul, runtime_sizes,
    testing::Values(
        "matmul src:u8:*x70:ab weights:s8:70x35:any bias:f32:1x35:ab dst:u8:*x35:ab output_scales:2:* "
        "zero_points:src:0:* zero_points:dst:0:*",
        "matmul src:s8:*x70:any weights:u8:70x35:ba dst:f32:*x35:any output_scales:0:0.1 "
        "post_op:eltwise_relu:0:0:1",
        "matmul src:u8:*x64:ba weights:s8:64x40:any dst:s8:*x40:ba rule:tflite_2step "
        "multipliers:0:1073741824@-9",
        "matmul src:u8:*x7x64:abc weights:s8:1x64x20:any dst:u8:*x7x20:abc output_scales:0:0.01",
        "matmul src:u8:*x7x64:abc weights:s8:*x64x20:abc dst:s32:*x7x20:abc",
        "matmul src:u8:*x*:ab weights:s8:*x*:ab dst:s32:*x*:ab",
        "matmul src:u8:*x64:strides_*x1 weights:s8:64x40:any dst:u8:*x40:strides_48x1 output_scales:0:0.01",
        "matmul src:u8:*x64:ab weights:s8:64x40:any bias:f32:*x1:ab dst:u8:*x40:ab output_scales:0:0.01",
        "matmul src:u8:*x64:ab weights:s8:64x40:any dst:u8:*x40:ab output_scales:1:* "
        "post_op:binary_add:s8:*x40:ab post_op:sum:0.5:0:undef",
        "matmul src:u8:*x64:ab weights:s8:64x40:any dst:f32:*x40:ab output_scales:0:0.01 post_op:prelu:1"));

INSTANTIATE_TEST_SUITE_P(
    with_batches, runtime_sizes,
    testing::Values(
        "convolution src:u8:*x16x7x7:any weights:s8:24x16x3x3:any bias:f32:24:x dst:u8:*x24x7x7:any "
        "padding_l:1x1 output_scales:2:*",
        "convolution src:u8:*x16x7x7:chwn weights:s8:24x16x3x3:any dst:u8:*x24x7x7:nchw padding_l:1x1 "
        "output_scales:0:0.01",
        "convolution src:s8:*x32x8x8:nhwc weights:s8:32x1x1x3x3:any dst:s8:*x32x4x4:nhwc strides:2x2 "
        "padding_l:1x1 output_scales:0:0.01 post_op:sum:1:0:undef",
        "deconvolution src:u8:*x8x5x5:any weights:s8:12x8x4x4:any dst:s32:*x12x10x10:any strides:2x2 "
        "padding_l:1x1",
        "inner_product src:u8:*x70:nc weights:s8:35x70:any bias:f32:35:x dst:f32:*x35:nc output_scales:0:0.1",
        "inner_product src:u8:*x8x4x4:any weights:s8:35x8x4x4:any dst:u8:*x35:any output_scales:2:* "
        "post_op:eltwise_relu:0:0:1",
        "pooling src:u8:*x20x8x8:nhwc dst:u8:*x20x4x4:any algorithm:pooling_max kernel:2x2 strides:2x2",
        "pooling src:s8:*x20x8x8:nchw dst:s8:*x20x4x4:nchw algorithm:pooling_avg_include_padding kernel:2x2 "
        "strides:2x2",
        "resampling src:u8:*x20x4x4:nhwc dst:u8:*x20x8x8:nhwc algorithm:resampling_linear"));

INSTANTIATE_TEST_SUITE_P(
    element_wise, runtime_sizes,
    testing::Values(
        "eltwise src:u8:*x20x3x*:nhwc dst:u8:*x20x3x*:nhwc algorithm:eltwise_logistic rule:ort_f32 "
        "scales:src:0:0.1 scales:dst:0:0.01",
        "binary src:u8:*x20x6:abc src1:u8:1x20x1:abc dst:u8:*x20x6:abc algorithm:binary_add scales:src:0:0.5",
        "softmax src:f32:*x30:ab dst:f32:*x30:ab axis:1", "softmax src:f32:4x*:ab dst:f32:4x*:ab axis:1",
        "reorder src:f32:*x20x*:abc dst:u8:*x20x*:acb output_scales:0:100",
        "reorder src:u8:*x*:ab dst:u8:*x*:ba", "prelu src:f32:*x20:ab weights:f32:1x20:ab dst:f32:*x20:ab",
        "sum src0:u8:*x20:ab src1:u8:*x20:ab dst:u8:*x20:ab factors:0.5/2",
        "concat src0:u8:*x20:ab src1:u8:*x3:ab src2:u8:*x20:ab dst:u8:*x43:ab axis:1"));

// ---- descriptors

TEST(runtime_dims, descriptors_have_them_in_every_way_of_construction) {
    const memory::desc rows({unknown, 64}, dt::u8, tag::ab), columns({unknown, 64}, dt::u8, tag::ba),
        images({unknown, 3, 5, unknown}, dt::u8, tag::nhwc), any({unknown, 64}, dt::u8, tag::any),
        open_stride({4, 64}, dt::u8, memory::dims{unknown, 1});
    EXPECT_EQ(rows.dims(), (memory::dims{unknown, 64}));
    EXPECT_EQ(rows.get_strides(), (memory::dims{64, 1}));
    EXPECT_EQ(columns.get_strides(), (memory::dims{1, unknown}));
    EXPECT_EQ(images.get_strides(), (memory::dims{unknown, 1, unknown, 3}));
    for (const memory::desc &md : {rows, columns, images, open_stride, any})
        EXPECT_EQ(md.get_size(), OCTET_RUNTIME_SIZE_VAL) << md.to_string();
    EXPECT_EQ(rows.to_string(), "u8 *x64 ab");
    EXPECT_EQ(columns.to_string(), "u8 *x64 ba");
    EXPECT_EQ(open_stride.to_string(), "u8 4x64 strides_*x1");
    EXPECT_TRUE(rows == memory::desc({unknown, 64}, dt::u8, tag::ab));
    EXPECT_FALSE(rows == memory::desc({7, 64}, dt::u8, tag::ab));
    EXPECT_EQ(rows.permute_axes({1, 0}).dims(), (memory::dims{64, unknown}));
}

TEST(runtime_dims, memory_and_views_need_known_sizes) {
    const memory::desc rows({unknown, 64}, dt::u8, tag::ab),
        strided({4, 64}, dt::u8, memory::dims{unknown, 1});
    expect_invalid([&] { memory(rows, cpu); }, {"memory", "dimension 0 is OCTET_RUNTIME_DIM_VAL", "known"});
    expect_invalid([&] { memory(rows, cpu, nullptr); }, {"memory", "dimension 0 is OCTET_RUNTIME_DIM_VAL"});
    expect_invalid([&] { memory(strided, cpu); }, {"memory", "stride 0 is OCTET_RUNTIME_DIM_VAL"});
    expect_invalid(
        [&] {
            rows.submemory_desc({1, 64}, {0, 0});
        },
        {"submemory_desc", "OCTET_RUNTIME_DIM_VAL"});
    expect_invalid([&] { rows.reshape({64}); }, {"reshape", "OCTET_RUNTIME_DIM_VAL"});
}

TEST(runtime_dims, queries_give_them_back) {
    const primitive_desc pd = primitive_desc_from_string(
        "matmul src:u8:*x70:any weights:s8:70x35:any bias:f32:1x35:any dst:u8:*x35:any output_scales:1:*",
        cpu);
    EXPECT_TRUE(pd.src_desc() == memory::desc({unknown, 70}, dt::u8, tag::ab));
    EXPECT_TRUE(pd.dst_desc() == memory::desc({unknown, 35}, dt::u8, tag::ab));
    EXPECT_EQ(pd.weights_desc().get_format_kind(), format_kind::packed);
    EXPECT_TRUE(pd.bias_desc() == memory::desc({1, 35}, dt::f32, tag::ab));
    EXPECT_TRUE(pd.arg_desc(OCTET_ARG_ATTR_OUTPUT_SCALES) == memory::desc({unknown}, dt::f32, tag::a));
    EXPECT_STRNE(pd.impl_info_str(), "");
    EXPECT_EQ(primitive(pd).plan_str(), "");
    EXPECT_EQ(primitive(pd).get_kind(), primitive_kind::matmul);
}

// ---- what is refused

TEST(runtime_dims, refuses_what_no_size_makes_right) {
    const auto make = [](const char *problem) { return [=] { primitive_desc_from_string(problem, cpu); }; };
    expect_invalid(make("matmul src:u8:*x70:ab weights:s8:71x35:ab dst:u8:*x35:ab"),
                   {"K of src is 70, of weights 71", "OCTET_RUNTIME_DIM_VAL stands as 16"});
    expect_invalid(make("matmul src:u8:*x70:ab weights:s8:70x35:ab dst:u8:5x35:ab"),
                   {"M of src is 16, of dst 5"});
    expect_invalid(make("matmul src:u8:*x70:ab weights:s8:70x35:ab dst:u8:*x35:ab output_scales:3:0.1..0.2"),
                   {"mask 3 stands for 0 values"});
    expect_unimplemented(make("convolution src:u8:1x8x*x9:nhwc weights:s8:8x8x3x3:any dst:u8:1x8x*x7:nhwc"),
                         {"convolution: dimension 2 of src is OCTET_RUNTIME_DIM_VAL", "the batch"});
    expect_unimplemented(make("inner_product src:u8:4x*:nc weights:s8:8x*:oi dst:u8:4x8:nc"),
                         {"inner_product: dimension 1 of src"});
    EXPECT_FALSE(primitive_desc_from_string(
        "convolution src:u8:1x8x*x9:nhwc weights:s8:8x8x3x3:any dst:u8:1x8x*x7:nhwc", cpu, true));
}

TEST(runtime_dims, executions_with_wrong_sizes_write_nothing) {
    const primitive any_size(primitive_desc_from_string(
        "matmul src:u8:*x8:ab weights:s8:8x4:ab dst:u8:*x4:ab output_scales:0:1", cpu));
    const memory weights(memory::desc({8, 4}, dt::s8, tag::ab), cpu);
    const auto run = [&](const memory::desc &src, const memory::desc &dst) {
        const memory m(dst, cpu);
        std::memset(m.get_data_handle(), 77, dst.get_size());
        try {
            any_size.execute(
                stream(cpu),
                {{OCTET_ARG_SRC, memory(src, cpu)}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, m}});
        } catch (...) {
            EXPECT_EQ(bytes_of(m), std::vector<std::uint8_t>(dst.get_size(), 77));
            throw;
        }
    };
    const auto md = [](dim_t rows, dim_t columns) { return memory::desc({rows, columns}, dt::u8, tag::ab); };
    expect_invalid([&] { run(md(5, 8), md(6, 4)); }, {"matmul", "M of src is 5, of dst 6"});
    expect_invalid([&] { run(md(5, 7), md(5, 4)); },
                   {"matmul: execute: OCTET_ARG_SRC is u8 5x7", "allowed: u8 5x8"});
    expect_invalid([&] { run(md(5, 8), md(5, 3)); }, {"matmul: execute: OCTET_ARG_DST is u8 5x3"});
    expect_invalid([&] { run(memory::desc({5}, dt::u8, tag::a), md(5, 4)); },
                   {"matmul: execute: OCTET_ARG_SRC is u8 5 a", "allowed: u8 *x8 ab"});
    expect_invalid(
        [&] {
            run(memory::desc({5, 8}, dt::s8, tag::ab), md(5, 4));
        },
        {"OCTET_ARG_SRC is s8 5x8"});
    expect_invalid(
        [&] {
            any_size.execute(stream(cpu), {{OCTET_ARG_WEIGHTS, weights}});
        },
        {"OCTET_ARG_SRC (u8 *x8 ab) is missing"});
    run(md(5, 8), md(5, 4)); // and the next one runs
    run(md(0, 8), md(0, 4));
}

// ---- use

TEST(runtime_dims, at_sizes_is_the_primitive_that_execute_takes) {
    const char *problem = "matmul src:u8:*x70:ab weights:s8:70x35:any dst:s32:*x35:ab";
    const primitive any_size(primitive_desc_from_string(problem, cpu));
    const primitive_desc known = primitive_desc_from_string(at_size(problem, 9), cpu);
    const auto args = arguments_of(known, 3);
    const primitive nine =
        any_size.at_sizes({{OCTET_ARG_SRC, known.src_desc()}, {OCTET_ARG_DST, known.dst_desc()}});
    EXPECT_EQ(result_of(nine, args), result_of(primitive(known), args));
    EXPECT_EQ(nine.plan_str(), primitive(known).plan_str());
    EXPECT_EQ(nine.at_sizes({}).plan_str(), nine.plan_str()) << "itself";
    const primitive::argument buffer{OCTET_ARG_SRC, nullptr};
    expect_invalid([&] { any_size.execute(stream(cpu), &buffer, 1); }, {"matmul: execute", "at_sizes"});
    expect_invalid(
        [&] {
            any_size.at_sizes({{OCTET_ARG_SRC, known.src_desc()}});
        },
        {"at_sizes", "OCTET_ARG_DST (s32 *x35 ab) is missing"});
}

TEST(runtime_dims, of_one_tensor_may_differ) {
    const memory::desc open({unknown, unknown}, dt::u8, tag::ab),
        weights({unknown, unknown}, dt::s8, tag::ab), sums({unknown, unknown}, dt::s32, tag::ab);
    const matmul any_size(matmul::primitive_desc(cpu, open, weights, sums));
    for (const dim_t m : {1, 7})
        for (const dim_t k : {3, 64})
            for (const dim_t n : {5, 40}) {
                const matmul::primitive_desc known(cpu, memory::desc({m, k}, dt::u8, tag::ab),
                                                   memory::desc({k, n}, dt::s8, tag::ab),
                                                   memory::desc({m, n}, dt::s32, tag::ab));
                const auto args = arguments_of(known, static_cast<std::uint32_t>(m + k + n));
                EXPECT_EQ(result_of(any_size, args), result_of(primitive(known), args)) << m << k << n;
            }
}

TEST(runtime_dims, more_sizes_than_are_kept) {
    const char *problem = "reorder src:u8:*x3:ab dst:s32:*x3:ba";
    const primitive any_size(primitive_desc_from_string(problem, cpu));
    for (int round = 0; round < 2; round++)
        for (dim_t size = 1; size < 100; size++) {
            const primitive_desc known = primitive_desc_from_string(at_size(problem, size), cpu);
            const auto args = arguments_of(known, static_cast<std::uint32_t>(size));
            ASSERT_EQ(result_of(any_size, args), result_of(primitive(known), args)) << size;
        }
}

TEST(runtime_dims, threads_share_a_primitive) {
    const char *problem = "matmul src:u8:*x40:ab weights:s8:40x35:any dst:s32:*x35:ab";
    const primitive any_size(primitive_desc_from_string(problem, cpu));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 200; i++) {
                const dim_t size = (i * 7 + t * 3) % 80;
                const primitive_desc known = primitive_desc_from_string(at_size(problem, size), cpu);
                const auto args = arguments_of(known, static_cast<std::uint32_t>(size));
                EXPECT_EQ(result_of(any_size, args), result_of(primitive(known), args)) << size;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

} // namespace
