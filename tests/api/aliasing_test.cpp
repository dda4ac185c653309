// Inputs in the destination's memory (octet/primitive.hpp): in place gives the bytes of separate buffers at
// every level and with several threads; an execution whose bytes would depend on blocking is refused before a
// byte is written.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using dt = data_type;
using tag = format_tag;

namespace {

const engine cpu(engine::kind::cpu, 0);
constexpr prop_kind forward = prop_kind::forward_inference;
using arguments = std::unordered_map<int, memory>;

memory::desc md(const memory::dims &dims, dt type, tag layout) { return {dims, type, layout}; }

memory filled(const memory::desc &d) {
    memory m(d, cpu);
    auto *bytes = m.map_data<std::uint8_t>();
    for (std::size_t i = 0; i < d.get_size(); i++)
        bytes[i] = static_cast<std::uint8_t>(i * 37 + i / 97);
    if (d.data_type() == dt::f32)
        for (std::size_t i = 0; i < d.get_size() / 4; i++)
            m.map_data<float>()[i] = static_cast<float>(static_cast<int>(i * 37 % 201) - 100) * 0.37f;
    return m;
}

/// Runs with separate buffers, then with `in_place` as the destination.
void expect_same_in_place(const primitive_desc &pd, int in_place) {
    SCOPED_TRACE(pd.problem_str() + " on " + pd.impl_info_str());
    arguments args;
    for (const int arg : pd.args())
        args[arg] = filled(pd.query_md(query::exec_arg_md, arg));
    primitive(pd).execute(stream(cpu), args);
    const memory expected = args[OCTET_ARG_DST];
    const memory::desc dst = pd.dst_desc();
    args[OCTET_ARG_DST] = memory(dst, cpu, args[in_place].get_data_handle());
    primitive(pd).execute(stream(cpu), args);
    EXPECT_EQ(std::memcmp(args[OCTET_ARG_DST].get_data_handle(), expected.get_data_handle(), dst.get_size()),
              0);
}

class in_place : public testing::Test {
protected:
    void TearDown() override { set_max_cpu_isa(cpu_isa::all); }

    template <typename Test> void at_every_level(const Test &test) {
        for (const cpu_isa level : get_available_cpu_isas()) {
            set_max_cpu_isa(level);
            for (const tag layout : {tag::nhwc, tag::nchw})
                for (const dt type : {dt::s8, dt::f32})
                    test(md({2, 67, 9, 11}, type, layout));
        }
    }
};

TEST_F(in_place, element_wise_operations) {
    at_every_level([](const memory::desc &d) {
        for (const algorithm alg : {algorithm::eltwise_relu, algorithm::eltwise_tanh})
            expect_same_in_place(
                eltwise_forward::primitive_desc(eltwise_forward::desc(forward, alg, d, d, 0.1f), cpu),
                OCTET_ARG_SRC);
        const binary::primitive_desc add(binary::desc(algorithm::binary_add, d, d, d), cpu);
        expect_same_in_place(add, OCTET_ARG_SRC_0);
        expect_same_in_place(add, OCTET_ARG_SRC_1);
        const memory::desc row = md({1, 67, 1, 1}, d.data_type(), tag::nchw);
        expect_same_in_place(binary::primitive_desc(binary::desc(algorithm::binary_mul, d, row, d), cpu),
                             OCTET_ARG_SRC_0);
        expect_same_in_place(prelu_forward::primitive_desc(prelu_forward::desc(forward, d, row, d), cpu),
                             OCTET_ARG_SRC);
        const sum::primitive_desc three(d, {0.5f, 1.f, 0.25f}, {d, d, d}, cpu);
        for (int i = 0; i < 3; i++)
            expect_same_in_place(three, OCTET_ARG_MULTIPLE_SRC + i);
        primitive_attr half;
        half.set_output_scales(0, {0.5f});
        expect_same_in_place(reorder::primitive_desc(cpu, d, cpu, d, half), OCTET_ARG_SRC);
    });
}

TEST_F(in_place, softmax_along_every_axis) {
    at_every_level([](const memory::desc &d) {
        for (const algorithm alg : {algorithm::softmax_accurate, algorithm::softmax_log})
            for (int axis = 0; axis < 4; axis++)
                expect_same_in_place(
                    softmax_forward::primitive_desc(softmax_forward::desc(forward, alg, d, d, axis), cpu),
                    OCTET_ARG_SRC);
    });
}

TEST_F(in_place, codes_of_frameworks) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        const memory::desc d = md({3, 200}, dt::s8, tag::nc);
        primitive_attr ort;
        ort.set_requantization(requantization_rule::ort_f32);
        ort.set_scales(OCTET_ARG_SRC, 0, {0.1f});
        ort.set_scales(OCTET_ARG_DST, 0, {1.f / 256});
        expect_same_in_place(
            softmax_forward::primitive_desc(softmax_forward::desc(forward, d, d, 1), ort, cpu),
            OCTET_ARG_SRC);
        primitive_attr tflite;
        tflite.set_requantization(requantization_rule::tflite_2step);
        tflite.set_input_multiplier(OCTET_ARG_SRC, {1 << 30, 22, 0});
        expect_same_in_place(
            softmax_forward::primitive_desc(softmax_forward::desc(forward, d, d, 1), tflite, cpu),
            OCTET_ARG_SRC);
        primitive_attr logistic;
        logistic.set_requantization(requantization_rule::tflite_2step);
        logistic.set_scales(OCTET_ARG_SRC, 0, {0.1f});
        expect_same_in_place(
            eltwise_forward::primitive_desc(
                eltwise_forward::desc(forward, algorithm::eltwise_logistic, d, d, 0.f), logistic, cpu),
            OCTET_ARG_SRC);
    }
}

TEST(aliasing, windows_and_products_refuse_it) {
    const memory::desc d = md({1, 8, 6, 6}, dt::u8, tag::nhwc), weights = md({8, 8, 1, 1}, dt::s8, tag::oihw);
    const convolution_forward::primitive_desc pd(
        convolution_forward::desc(forward, algorithm::convolution_direct, d, weights, d, {1, 1}, {0, 0},
                                  {0, 0}),
        cpu);
    const memory src = filled(d);
    expect_invalid(
        [&] {
            primitive(pd).execute(
                stream(cpu),
                {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, filled(weights)}, {OCTET_ARG_DST, src}});
        },
        {"convolution: execute: OCTET_ARG_SRC (u8 1x8x6x6 nhwc) and OCTET_ARG_DST", "share bytes",
         "separate buffers"});
    const pooling_forward::primitive_desc pool(
        pooling_forward::desc(forward, algorithm::pooling_max, d, d, {1, 1}, {3, 3}, {1, 1}, {1, 1}), cpu);
    expect_invalid(
        [&] {
            primitive(pool).execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, src}});
        },
        {"pooling: execute", "share bytes"});
}

TEST(aliasing, other_elements_of_the_same_buffer_are_refused) {
    std::vector<std::uint8_t> buffer(1000);
    const memory::desc d = md({10, 10}, dt::u8, tag::nc);
    const eltwise_forward::primitive_desc pd(
        eltwise_forward::desc(forward, algorithm::eltwise_relu, d, d, 0.f), cpu);
    const auto run = [&](std::size_t src, std::size_t dst) {
        primitive(pd).execute(stream(cpu), {{OCTET_ARG_SRC, memory(d, cpu, &buffer[src])},
                                            {OCTET_ARG_DST, memory(d, cpu, &buffer[dst])}});
    };
    expect_invalid([&] { run(0, 1); }, {"eltwise: execute", "share bytes", "or the same elements"});
    expect_invalid([&] { run(99, 0); }, {"share bytes"});
    run(0, 100);
    run(100, 0);
    run(5, 5);
    const memory::desc t = md({10, 10}, dt::u8, tag::cn);
    const reorder::primitive_desc transpose(cpu, d, cpu, t);
    const memory m(d, cpu, buffer.data());
    expect_invalid([&] { reorder(transpose).execute(stream(cpu), m, memory(t, cpu, buffer.data())); },
                   {"reorder: execute", "share bytes"});
}

TEST(aliasing, parts_of_one_buffer_that_share_nothing_are_fine) {
    for (const tag layout : {tag::nhwc, tag::nchw}) {
        const memory::desc whole = md({2, 64, 5, 5}, dt::u8, layout);
        const memory buffer = filled(whole);
        const memory::desc first = whole.submemory_desc({2, 32, 5, 5}, {0, 0, 0, 0}),
                           second = whole.submemory_desc({2, 32, 5, 5}, {0, 32, 0, 0}),
                           shifted = whole.submemory_desc({2, 32, 5, 5}, {0, 31, 0, 0});
        const auto run = [&](const memory::desc &src, const memory::desc &dst) {
            const pooling_forward::primitive_desc pd(pooling_forward::desc(forward, algorithm::pooling_max,
                                                                           src, dst, {1, 1}, {3, 3}, {1, 1},
                                                                           {1, 1}),
                                                     cpu);
            primitive(pd).execute(stream(cpu), {{OCTET_ARG_SRC, memory(src, cpu, buffer.get_data_handle())},
                                                {OCTET_ARG_DST, memory(dst, cpu, buffer.get_data_handle())}});
        };
        run(first, second);
        run(second, first);
        expect_invalid([&] { run(first, shifted); }, {"share bytes"});
    }
}

} // namespace
