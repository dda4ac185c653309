// The counted registers of an epilogue are enough for it wherever it is emitted, and none of them is spare.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jit/epilogue/epilogue.hpp"
#include "support/levels.hpp"

namespace octet::impl::jit {
namespace {

constexpr dim_t channels = 32;

epilogue make_epilogue(requantization_rule rule, data_type dst, std::vector<post_op_entry> post_ops) {
    epilogue e;
    e.rule = rule;
    e.dst = memory::desc({4, channels}, dst, format_tag::ab).data;
    e.multipliers.values = {{0x60000000, -3, 0}};
    e.real_scales.values = {0.01};
    e.post_ops = std::move(post_ops);
    return e;
}

std::vector<epilogue> all_epilogues() {
    using rule = requantization_rule;
    std::vector<epilogue> all;
    const std::vector<std::vector<post_op_entry>> of_integers{
        {},
        {post_op::clip{0, 100}},
        {post_op::add{3}, post_op::clip{0, 100}, post_op::add{4}},
        {post_op::table{}},
        {post_op::rescaled_sum{{0x50000000, -1, 0}, 3, data_type::undef, rule::tflite_1step}},
        {post_op::leaky_relu{{0x40000000, 1, 0}, {-0x50000000, -2, 0}, rule::tflite_2step}}};
    const std::vector<std::vector<post_op_entry>> of_floats{
        {},
        {post_op::sum{0.5f, 3, data_type::u8}},
        {post_op::prelu{}},
        {post_op::eltwise{algorithm::eltwise_tanh, 0.f, 0.f, 1.f}},
        {post_op::eltwise{algorithm::eltwise_swish, 1.f, 0.f, 1.f}, post_op::clip{-3, 3}}};
    for (const data_type dst : {data_type::u8, data_type::s8, data_type::s16, data_type::s32})
        for (const rule r : {rule::tflite_2step, rule::tflite_1step, rule::rounded_shift, rule::f64_scale,
                             rule::caffe_double_round, rule::ort_f32, rule::f32_v3})
            for (const auto &post_ops : r == rule::ort_f32 || r == rule::f32_v3 ? of_floats : of_integers)
                all.push_back(make_epilogue(r, dst, post_ops));
    all.push_back(make_epilogue(rule::f32, data_type::f32, {post_op::prelu{}}));
    return all;
}

/// Tiles of one to five vectors, in one line of dst or apart, whole or with a tail, with so many registers
/// besides the accumulators.
void emit_tiles(instruction_set isa, const epilogue_plan &plan, int registers) {
    for (int count = 1; count <= 5; count++)
        for (const bool is_apart : {false, true})
            for (const int tail : {1, 7, 0}) {
                emitter e(isa);
                std::deque<emitter::temp> accs, others;
                std::vector<epilogue_result> results;
                for (int i = 0; i < count; i++)
                    results.push_back({accs.emplace_back(e), 0, i, is_apart ? 1000 * i : e.lanes() * i,
                                       tail == 0 || (!is_apart && i != count - 1) ? e.lanes() : tail});
                while (e.free_vecs() > registers)
                    others.emplace_back(e);
                epilogue_emitter(e, plan, {e.rcx, e.r8, e.r14, e.rbp, e.r10, e.r15}).emit(results);
                EXPECT_EQ(e.free_vecs(), registers) << "not all registers were given back";
            }
}

TEST(EpilogueRegisters, AreEnoughAndNoneIsSpare) {
    for (const bool subtracts_row_sums : {false, true})
        for (const epilogue &e : all_epilogues()) {
            const epilogue_plan plan(e, {1, channels, 0x1p31}, subtracts_row_sums);
            for (const instruction_set isa : all_instruction_sets()) {
                SCOPED_TRACE(plan.name() + " " + isa.name());
                const int registers = plan.temps(isa);
                EXPECT_NO_THROW(emit_tiles(isa, plan, registers));
                if (registers > 0) {
                    EXPECT_THROW(emit_tiles(isa, plan, registers - 1), std::logic_error);
                }
            }
        }
}

/// A tile that leaves few registers has fewer vectors go through a long function side by side.
TEST(EpilogueRegisters, OfSideBySideVectorsMayBeFewer) {
    const epilogue_plan plan(
        make_epilogue(requantization_rule::ort_f32, data_type::f32,
                      {post_op::eltwise{algorithm::eltwise_ort_gelu_erf, 0.f, 0.f, 1.f}}),
        {1, channels, 0x1p31}, false);
    EXPECT_EQ(plan.temps({cpu_isa::avx512_core}), 16); // five for each of three, and a constant
    for (int registers = 5; registers <= 16; registers++)
        EXPECT_NO_THROW(emit_tiles({cpu_isa::avx512_core}, plan, registers)) << registers;
}

TEST(EpilogueRegisters, AreCountedWhereTheyExceedTheLevel) {
    const epilogue_plan plan(
        make_epilogue(requantization_rule::f32, data_type::u8,
                      {post_op::eltwise{algorithm::eltwise_gelu_tanh, 0.f, 0.f, 1.f}, post_op::prelu{}}),
        {1, channels, 0x1p31}, false);
    EXPECT_EQ(plan.temps({cpu_isa::avx2}), 9); // tanh's 7, its input, the order of packed codes
    EXPECT_EQ(plan.temps({cpu_isa::avx512_core}), 6);
}

} // namespace
} // namespace octet::impl::jit
