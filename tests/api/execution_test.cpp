// Execution: wrong arguments are refused before anything is written; a primitive needs nothing of what it was
// made from.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using dims = memory::dims;
using tag = format_tag;
using dt = data_type;
using arguments = std::unordered_map<int, memory>;

namespace {

const engine cpu(engine::kind::cpu, 0);

memory filled(const memory::desc &md, int byte) {
    memory m(md, cpu);
    std::memset(m.get_data_handle(), byte, md.get_size());
    return m;
}

bool holds_only(const memory &m, int byte) {
    const std::string expected(m.get_desc().get_size(), static_cast<char>(byte));
    return std::memcmp(m.get_data_handle(), expected.data(), expected.size()) == 0;
}

/// dst(m, n) = 2 * 3 * 5 + bias, with run-time scales and zero points so that all kinds of arguments are
/// there.
struct product {
    memory::desc src{{4, 5}, dt::u8, tag::ab}, weights{{5, 6}, dt::s8, tag::ab},
        bias{{1, 6}, dt::s32, tag::ab}, dst{{4, 6}, dt::s32, tag::ab}, scales{{6}, dt::f32, tag::a},
        zero_point{{1}, dt::s32, tag::a};
    matmul::primitive_desc pd;
    arguments args;

    product() {
        primitive_attr attr;
        attr.set_output_scales(2, {OCTET_RUNTIME_F32_VAL});
        attr.set_zero_points(OCTET_ARG_SRC, 0, {OCTET_RUNTIME_S32_VAL});
        post_ops ops;
        ops.append_binary(algorithm::binary_add, bias);
        attr.set_post_ops(ops);
        pd = matmul::primitive_desc(matmul::desc(src, weights, bias, dst), attr, cpu);
        args = {{OCTET_ARG_SRC, filled(src, 2)},
                {OCTET_ARG_WEIGHTS, filled(weights, 3)},
                {OCTET_ARG_BIAS, filled(bias, 0)},
                {OCTET_ARG_DST, filled(dst, 0x77)},
                {OCTET_ARG_ATTR_OUTPUT_SCALES, memory(scales, cpu)},
                {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC, filled(zero_point, 0)},
                {OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1, filled(bias, 0)}};
        for (int i = 0; i < 6; i++)
            args.at(OCTET_ARG_ATTR_OUTPUT_SCALES).map_data<float>()[i] = static_cast<float>(i + 1);
    }
};

TEST(execute, computes_with_run_time_values) {
    const product p;
    matmul(p.pd).execute(stream(cpu), p.args);
    const auto *dst = p.args.at(OCTET_ARG_DST).map_data<std::int32_t>();
    for (int i = 0; i < 24; i++)
        EXPECT_EQ(dst[i], 30 * (i % 6 + 1));
}

/// The arguments as bare pointers.
std::vector<primitive::argument> pointers(const arguments &args) {
    std::vector<primitive::argument> list;
    for (const auto &[arg, m] : args)
        list.push_back({arg, m.get_data_handle()});
    return list;
}

TEST(execute_on_pointers, computes_as_with_memories) {
    const product p;
    const std::vector<primitive::argument> args = pointers(p.args);
    matmul(p.pd).execute(stream(cpu), args.data(), args.size());
    const auto *dst = p.args.at(OCTET_ARG_DST).map_data<std::int32_t>();
    for (int i = 0; i < 24; i++)
        EXPECT_EQ(dst[i], 30 * (i % 6 + 1));
}

TEST(execute_on_pointers, refuses_what_is_missing_or_null_or_shares_bytes) {
    const product p;
    const matmul code(p.pd);
    for (std::size_t absent = 0; absent < p.args.size(); absent++) {
        std::vector<primitive::argument> args = pointers(p.args);
        const std::string name = argument_to_string(args[absent].arg);
        args[absent].handle = nullptr;
        expect_invalid([&] { code.execute(stream(cpu), args.data(), args.size()); },
                       {name, "missing or null"});
        args.erase(args.begin() + static_cast<std::ptrdiff_t>(absent));
        expect_invalid([&] { code.execute(stream(cpu), args.data(), args.size()); },
                       {name, "missing or null"});
    }
    std::vector<primitive::argument> args = pointers(p.args);
    for (primitive::argument &argument : args)
        if (argument.arg == OCTET_ARG_BIAS)
            argument.handle = p.args.at(OCTET_ARG_DST).get_data_handle();
    expect_invalid([&] { code.execute(stream(cpu), args.data(), args.size()); },
                   {"OCTET_ARG_BIAS", "share bytes"});
    expect_invalid([&] { code.execute(stream(), args.data(), args.size()); }, {"stream is a null handle"});
    expect_invalid([&] { primitive().execute(stream(cpu), nullptr, 0); }, {"empty primitive"});
    EXPECT_TRUE(holds_only(p.args.at(OCTET_ARG_DST), 0x77)) << "something was written";
}

/// Executes with changed arguments: an error with these words, and not a byte of the destination written.
template <typename Change> void expect_refused(Change change, std::initializer_list<std::string_view> words) {
    product p;
    const memory dst = p.args.at(OCTET_ARG_DST);
    change(p.args);
    expect_invalid([&] { matmul(p.pd).execute(stream(cpu), p.args); }, words);
    EXPECT_TRUE(holds_only(dst, 0x77)) << "something was written";
}

TEST(execute, refuses_a_missing_argument_and_writes_nothing) {
    for (const auto &[arg, unused] : product().args)
        expect_refused([arg = arg](arguments &args) { args.erase(arg); },
                       {"matmul: execute: OCTET_ARG_", argument_to_string(arg), "is missing"});
    for (const auto &[arg, unused] : product().args)
        expect_refused([arg = arg](arguments &args) { args[arg] = memory(); },
                       {argument_to_string(arg), "is missing"});
}

TEST(execute, refuses_memory_of_another_descriptor_and_writes_nothing) {
    const auto give = [](int arg, const memory::desc &md) {
        return [=](arguments &args) { args[arg] = filled(md, 1); };
    };
    expect_refused(give(OCTET_ARG_SRC, memory::desc({4, 5}, dt::s8, tag::ab)),
                   {"OCTET_ARG_SRC is s8 4x5 ab, allowed: u8 4x5 ab"});
    expect_refused(give(OCTET_ARG_SRC, memory::desc({4, 5}, dt::u8, tag::ba)),
                   {"OCTET_ARG_SRC is u8 4x5 ba"});
    expect_refused(give(OCTET_ARG_WEIGHTS, memory::desc({6, 5}, dt::s8, tag::ab)),
                   {"OCTET_ARG_WEIGHTS is s8 6x5 ab"});
    expect_refused(give(OCTET_ARG_BIAS, memory::desc({1, 6}, dt::f32, tag::ab)), {"OCTET_ARG_BIAS is f32"});
    expect_refused(give(OCTET_ARG_ATTR_OUTPUT_SCALES, memory::desc({5}, dt::f32, tag::a)),
                   {"OCTET_ARG_ATTR_OUTPUT_SCALES is f32 5 a, allowed: f32 6 a"});
    expect_refused(give(OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC, memory::desc({1}, dt::s8, tag::a)),
                   {"OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC"});
    product p;
    p.args[OCTET_ARG_DST] = filled(memory::desc({4, 6}, dt::s8, tag::ab), 0x77);
    expect_invalid([&] { matmul(p.pd).execute(stream(cpu), p.args); },
                   {"OCTET_ARG_DST is s8 4x6 ab, allowed: s32 4x6 ab"});
    EXPECT_TRUE(holds_only(p.args[OCTET_ARG_DST], 0x77));
}

TEST(execute, refuses_null_buffers_and_null_streams) {
    expect_refused(
        [](arguments &args) {
            args[OCTET_ARG_SRC] = memory(args[OCTET_ARG_SRC].get_desc(), cpu, OCTET_MEMORY_NONE);
        },
        {"OCTET_ARG_SRC", "null data handle"});
    const product p;
    expect_invalid([&] { matmul(p.pd).execute(stream(), p.args); },
                   {"matmul: execute: stream is a null handle"});
    EXPECT_TRUE(holds_only(p.args.at(OCTET_ARG_DST), 0x77));
}

TEST(execute, ignores_arguments_that_the_primitive_does_not_take) {
    product p;
    p.args[OCTET_ARG_SRC_1] = memory(memory::desc({3}, dt::f32, tag::a), cpu);
    EXPECT_NO_THROW(matmul(p.pd).execute(stream(cpu), p.args));
}

TEST(execute, fetches_ahead_without_a_change) {
    const memory::desc src({96, 256}, dt::u8, tag::ab), weights({256, 64}, dt::s8, tag::ab),
        dst({96, 64}, dt::s32, tag::ab), next({128, 1024}, dt::s8, tag::ab);
    primitive_attr attr;
    attr.set_prefetched_bytes(static_cast<dim_t>(next.get_size()));
    const matmul::primitive_desc pd(cpu, src, weights, dst, attr), plain(cpu, src, weights, dst);
    EXPECT_EQ(pd.arg_desc(OCTET_ARG_ATTR_PREFETCH), memory::desc({128 * 1024}, dt::u8, tag::a));
    EXPECT_TRUE(plain.arg_desc(OCTET_ARG_ATTR_PREFETCH).is_zero());
    arguments args = {{OCTET_ARG_SRC, filled(src, 2)},
                      {OCTET_ARG_WEIGHTS, filled(weights, 3)},
                      {OCTET_ARG_DST, filled(dst, 0x77)}};
    const auto result = [&](const matmul &product, const memory &fetched) {
        args.erase(OCTET_ARG_ATTR_PREFETCH);
        if (fetched)
            args[OCTET_ARG_ATTR_PREFETCH] = fetched;
        product.execute(stream(cpu), args);
        const auto *first = args.at(OCTET_ARG_DST).map_data<std::int32_t>();
        return std::vector<std::int32_t>(first, first + 96 * 64);
    };
    const std::vector<std::int32_t> expected(96 * 64, 256 * 2 * 3);
    EXPECT_EQ(result(plain, {}), expected);
    EXPECT_EQ(result(pd, filled(next, 1)), expected) << "of any descriptor";
    EXPECT_EQ(result(pd, {}), expected) << "it may be missing";
    EXPECT_EQ(result(pd, memory(next, cpu, OCTET_MEMORY_NONE)), expected) << "or null";
    expect_invalid([&] { result(pd, args.at(OCTET_ARG_WEIGHTS)); },
                   {"OCTET_ARG_ATTR_PREFETCH has 16384 bytes, allowed: at least 131072"});
    std::vector<primitive::argument> bare = pointers(args);
    matmul(pd).execute(stream(cpu), bare.data(), bare.size());
    bare.erase(std::remove_if(bare.begin(), bare.end(),
                              [](const auto &a) { return a.arg == OCTET_ARG_ATTR_PREFETCH; }),
               bare.end());
    EXPECT_NO_THROW(matmul(pd).execute(stream(cpu), bare.data(), bare.size()));
}

TEST(execute, accepts_empty_tensors) {
    const memory::desc src({0, 5}, dt::u8, tag::ab), weights({5, 6}, dt::s8, tag::ab),
        dst({0, 6}, dt::s32, tag::ab);
    const matmul::primitive_desc pd(cpu, src, weights, dst);
    const memory none(src, cpu, OCTET_MEMORY_NONE), result(dst, cpu, OCTET_MEMORY_NONE);
    EXPECT_NO_THROW(matmul(pd).execute(
        stream(cpu),
        {{OCTET_ARG_SRC, none}, {OCTET_ARG_WEIGHTS, filled(weights, 1)}, {OCTET_ARG_DST, result}}));

    // No elements to sum: the accumulators are 0.
    const memory::desc no_k_src({2, 0}, dt::u8, tag::ab), no_k_weights({0, 3}, dt::s8, tag::ab),
        sums({2, 3}, dt::s32, tag::ab);
    const memory zeros = filled(sums, 0x77);
    matmul(matmul::primitive_desc(cpu, no_k_src, no_k_weights, sums))
        .execute(stream(cpu), {{OCTET_ARG_SRC, memory(no_k_src, cpu)},
                               {OCTET_ARG_WEIGHTS, memory(no_k_weights, cpu)},
                               {OCTET_ARG_DST, zeros}});
    EXPECT_TRUE(holds_only(zeros, 0));
}

TEST(lifetime, a_primitive_outlives_its_descriptors_attributes_and_engine) {
    matmul alone;
    arguments args;
    {
        const auto p = std::make_unique<product>();
        const auto engine_of_its_own = std::make_unique<engine>(engine::kind::cpu, 0);
        args = p->args; // copies share the buffers
        alone = matmul(p->pd);
    }
    const auto s = std::make_unique<stream>(cpu);
    alone.execute(*s, args);
    EXPECT_EQ(args.at(OCTET_ARG_DST).map_data<std::int32_t>()[1], 60);
    const matmul copy = alone;
    alone = matmul();
    std::memset(args.at(OCTET_ARG_DST).get_data_handle(), 0, 96);
    copy.execute(*s, args);
    EXPECT_EQ(args.at(OCTET_ARG_DST).map_data<std::int32_t>()[5], 180);
}

TEST(lifetime, a_primitive_survives_the_cache_that_made_it) {
    const product p;
    const matmul made(p.pd);
    const std::size_t capacity = get_primitive_cache_capacity();
    set_primitive_cache_capacity(0);
    made.execute(stream(cpu), p.args);
    EXPECT_EQ(p.args.at(OCTET_ARG_DST).map_data<std::int32_t>()[0], 30);
    set_primitive_cache_capacity(capacity);
}

TEST(lifetime, buffers_may_change_between_executions) {
    product p;
    const matmul made(p.pd);
    made.execute(stream(cpu), p.args);
    const memory second = filled(p.dst, 0);
    p.args[OCTET_ARG_DST] = second;
    made.execute(stream(cpu), p.args);
    EXPECT_EQ(second.map_data<std::int32_t>()[3], 120);
    std::vector<std::int32_t> third(24);
    second.set_data_handle(third.data());
    made.execute(stream(cpu), p.args);
    EXPECT_EQ(third[3], 120);
}

} // namespace
