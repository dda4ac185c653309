// s4, u4, s2 and u2, whose elements share bytes: sizes, layouts that would split bytes, and a refusal by
// every operation but reorder.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "octet/example_problems.hpp"
#include "octet/octet.hpp"
#include "support/expect_error.hpp"

namespace octet::test {
namespace {

const engine &cpu() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

constexpr data_type types[] = {data_type::s4, data_type::u4, data_type::s2, data_type::u2};

std::size_t size_of(const memory::dims &dims, data_type type, const memory::dims &strides = {}) {
    return memory::desc(dims, type, strides).get_size();
}

TEST(SharedBytes, NumbersAreThoseOfTheInterface) {
    EXPECT_EQ(static_cast<int>(data_type::s4), 11); // oneDNN 3's
    EXPECT_EQ(static_cast<int>(data_type::u4), 12);
    EXPECT_EQ(static_cast<int>(data_type::u2), 65);
    EXPECT_EQ(static_cast<int>(data_type::s2), 66);
    EXPECT_EQ(memory::data_type_size(data_type::u2), 1U);
}

TEST(SharedBytes, SizesAreWholeBytes) {
    EXPECT_EQ(size_of({0}, data_type::s4), 0U);
    EXPECT_EQ(size_of({1}, data_type::s4), 1U);
    EXPECT_EQ(size_of({2}, data_type::u4), 1U);
    EXPECT_EQ(size_of({7}, data_type::u4), 4U);
    EXPECT_EQ(size_of({4}, data_type::u2), 1U);
    EXPECT_EQ(size_of({5}, data_type::u2), 2U);
    EXPECT_EQ(size_of({3, 6}, data_type::s4), 9U);
    EXPECT_EQ(size_of({1, 5}, data_type::s4), 3U);
    EXPECT_EQ(size_of({3, 5}, data_type::s4, {8, 1}), 11U); // 21 elements
    EXPECT_EQ(size_of({3, 8}, data_type::u2, {12, 1}), 8U);
    EXPECT_EQ(memory::desc({6, 4}, data_type::s4, format_tag::ba).get_size(), 12U);
    EXPECT_EQ(memory::desc({3, 5}, data_type::s4, format_tag::any).get_size(), 0U);
    EXPECT_EQ(memory::desc({OCTET_RUNTIME_DIM_VAL, 4}, data_type::s4, format_tag::ab).get_size(),
              OCTET_RUNTIME_SIZE_VAL);
}

TEST(SharedBytes, LayoutsThatSplitBytesAreRefused) {
    expect_invalid(
        [] {
            memory::desc({3, 5}, data_type::s4, format_tag::ab);
        },
        {"stride 0 is 5 with dims {3, 5}, which splits bytes of s4, allowed: 1 and multiples of 2"});
    expect_invalid(
        [] {
            memory::desc({5, 4}, data_type::u4, format_tag::ba);
        },
        {"stride 1 is 5 with dims {5, 4}, which splits bytes of u4"});
    expect_invalid(
        [] {
            memory::desc({3, 6}, data_type::u2, memory::dims{});
        },
        {"stride 0 is 6 with dims {3, 6}, which splits bytes of u2, allowed: 1 and multiples of 4"});
    expect_invalid(
        [] {
            memory::desc({OCTET_RUNTIME_DIM_VAL, 5}, data_type::s4, format_tag::ab);
        },
        {"stride 0 is 5"});
    const memory::desc rows({4, 8}, data_type::s4, format_tag::ab);
    EXPECT_EQ(rows.submemory_desc({2, 3}, {1, 2}).get_size(), 11U); // 21 elements from the start
    expect_invalid(
        [&] {
            (void)rows.submemory_desc({2, 3}, {1, 1});
        },
        {"offset0 is 9, which splits a byte of s4, allowed: multiples of 2"});
    expect_invalid(
        [] {
            (void)memory::desc({6}, data_type::s4, format_tag::a).reshape({2, 3});
        },
        {"reshape: result: stride 0 is 3"});
    memory::desc forged = rows;
    forged.data.strides[0] = 7;
    expect_invalid([&] { (void)forged.get_size(); }, {"stride 0 is 7"});
    forged = rows;
    forged.data.offset0 = 1;
    expect_invalid([&] { memory(forged, cpu()); }, {"offset0 is 1"});
}

/// The tensors of every example, one after the other, in every such type.
TEST(SharedBytes, OnlyReorderTakesThem) {
    int refused = 0;
    for (const example_problem &example : example_problems()) {
        const std::string &problem = example.problem;
        const bool is_reorder = problem.rfind("reorder", 0) == 0;
        for (const char *old : {":u8:", ":s8:", ":s32:", ":f32:", ":bf16:", ":f16:", ":s16:"})
            for (std::size_t at = problem.find(old); at != std::string::npos; at = problem.find(old, at + 1))
                for (const data_type type : types) {
                    const std::string text = std::string(problem).replace(
                        at, std::string(old).size(), std::string(":") + to_string(type) + ":");
                    SCOPED_TRACE(text);
                    try {
                        const std::string name = primitive_desc_from_string(text, cpu()).impl_info_str();
                        EXPECT_TRUE(is_reorder) << "is taken by " << name;
                        EXPECT_EQ(name, "ref");
                    } catch (const error &e) {
                        const std::string sentence = e.what();
                        EXPECT_NE(sentence.find(to_string(type)), std::string::npos) << sentence;
                        EXPECT_TRUE(sentence.find("allowed: ") != std::string::npos ||
                                    sentence.find("implemented: ") != std::string::npos)
                            << sentence;
                        refused++;
                    }
                }
    }
    EXPECT_GT(refused, 60);
}

TEST(SharedBytes, PostOpsRefuseThem) {
    post_ops ops;
    expect_invalid(
        [&] {
            ops.append_binary(algorithm::binary_add, {{1, 4}, data_type::s4, format_tag::ab});
        },
        {"append_binary: src1 has type s4, allowed: f32, bf16, f16, s32, s16, s8, u8"});
    ops.append_sum(1.f, data_type::s4);
    primitive_attr attr;
    attr.set_post_ops(ops);
    const memory::desc bytes({2, 4}, data_type::u8, format_tag::ab);
    expect_invalid([&] { reorder::primitive_desc(cpu(), bytes, cpu(), bytes, attr); },
                   {"sum reads the destination as a type of another size"});
}

} // namespace
} // namespace octet::test
