// The table of facts about post-ops against what they do: each alternative of post_op_entry is applied with another
// destination and another operand, and what it depends on is what its row says.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "common/bound_epilogue.hpp"
#include "common/element.hpp"

namespace {

using namespace octet;
using namespace octet::impl;

constexpr fixed_point_multiplier half{1 << 30, 0};

memory::desc codes() { return {{1, 1}, data_type::s8, format_tag::ab}; }

/// A post-op of each kind whose result depends on all that it reads; one without an example does not compile.
post_op_entry example(const post_op::sum *) { return post_op::sum{2.f}; }
post_op_entry example(const post_op::eltwise *) {
    return post_op::eltwise{algorithm::eltwise_linear, 0.25f, 0.f, 1.f};
}
post_op_entry example(const post_op::binary *) {
    return post_op::binary{algorithm::binary_add, {{1, 1}, data_type::f32, format_tag::ab}};
}
post_op_entry example(const post_op::prelu *) { return post_op::prelu{0}; }
post_op_entry example(const post_op::clip *) { return post_op::clip{-100, 100}; }
post_op_entry example(const post_op::add *) { return post_op::add{3}; }
post_op_entry example(const post_op::rescaled_sum *) { return post_op::rescaled_sum{half}; }
post_op_entry example(const post_op::leaky_relu *) { return post_op::leaky_relu{half, half}; }
post_op_entry example(const post_op::table *) {
    post_op::table op;
    for (std::size_t i = 0; i < op.entries.size(); i++)
        op.entries[i] = static_cast<std::uint8_t>(i / 2);
    return op;
}
post_op_entry example(const post_op::qlinear_add *) { return post_op::qlinear_add{0.5f, 0.5f}; }
post_op_entry example(const post_op::scaled_add *) {
    const fixed_point_multiplier back{1 << 30, -18}; // for sums at 2^20
    return post_op::scaled_add{{half, half, back}};
}

/// None: it is computed of windows, and single results never see it.
std::nullopt_t example(const post_op::depthwise *) { return std::nullopt; }

template <typename... Ops> std::vector<post_op_entry> examples(const std::variant<Ops...> *) {
    std::vector<post_op_entry> all;
    for (const std::optional<post_op_entry> &each :
         {std::optional<post_op_entry>(example(static_cast<const Ops *>(nullptr)))...})
        if (each)
            all.push_back(*each);
    return all;
}
std::vector<post_op_entry> all_examples() { return examples(static_cast<const post_op_entry *>(nullptr)); }

/// Returns the code that x becomes in an s8 destination that held `before`, with this operand.
int result_of(const post_op_entry &entry, std::int32_t x, std::int8_t before, float operand) {
    epilogue e;
    e.dst = codes().data;
    e.post_ops = {entry};
    std::int8_t dst = before;
    std::vector<primitive::argument> buffers{{OCTET_ARG_DST, &dst}};
    if (const int arg = operand_of(entry, 0))
        buffers.push_back({arg, &operand});
    bound_epilogue(e, arguments(buffers.data(), buffers.size())).apply(x, {});
    return dst;
}

TEST(post_ops, rows_say_what_is_read) {
    for (const post_op_entry &entry : all_examples()) {
        const post_op_facts &facts = facts_of(entry);
        const bool by_dst = result_of(entry, -20, 10, 2.f) != result_of(entry, -20, 40, 2.f);
        EXPECT_EQ(facts.reads_dst, by_dst) << facts.name;
        if (facts.operand != 0) {
            EXPECT_NE(result_of(entry, -20, 10, 2.f), result_of(entry, -20, 10, 4.f)) << facts.name;
        }
        EXPECT_NE(result_of(entry, -20, 10, 2.f), result_of(entry, 60, 10, 2.f)) << facts.name;
    }
}

/// 2^24 + 1 is no f32.
TEST(post_ops, rows_say_what_becomes_of_s32) {
    constexpr std::int32_t x = (1 << 24) + 1;
    for (const post_op_entry &entry :
         {post_op_entry(post_op::clip{0, int32_max}), post_op_entry(post_op::add{0}),
          post_op_entry(post_op::eltwise{algorithm::eltwise_relu}), post_op_entry(post_op::sum{0.f})}) {
        epilogue e;
        e.dst = memory::desc({1, 1}, data_type::s32, format_tag::ab).data;
        e.post_ops = {entry};
        std::int32_t dst = 0;
        const primitive::argument buffer{OCTET_ARG_DST, &dst};
        bound_epilogue(e, arguments(&buffer, 1)).apply(x, {});
        EXPECT_EQ(facts_of(entry).gives_f32, dst != x) << facts_of(entry).name;
    }
}

TEST(post_ops, that_read_tensors_say_so) {
    for (const post_op_entry &entry : all_examples()) {
        const post_op_facts &facts = facts_of(entry);
        EXPECT_EQ(facts.reads_tensors(), facts.reads_dst || operand_of(entry, 3) != 0) << facts.name;
        EXPECT_TRUE(facts.reads_dst || !facts.adds_codes) << facts.name;
        EXPECT_EQ(src1_of(entry) != nullptr, facts.operand == OCTET_ARG_SRC_1) << facts.name;
    }
}

} // namespace
