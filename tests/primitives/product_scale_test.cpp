// The scaling of products of codes by floats: every product of every pair of codes against exact arithmetic, for
// all rules with multipliers, and MUL of two tensors with all pairs of codes at every level.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/product_scale.hpp"

#include <gtest/gtest.h>

#include "common/element.hpp"
#include "cpu/stream/plan.hpp"
#include "cpu/stream/programs.hpp"
#include "support/exact_rules.hpp"
#include "support/inputs.hpp"
#include "support/levels.hpp"

namespace octet::impl::stream {
namespace {

using octet::test::inputs;
using rule = requantization_rule;

/// Bound of a code less its zero point.
constexpr std::int32_t beyond_codes = 512;

/// As MUL has it: scales of products around 1 / 128, sometimes powers of 2, which make ties.
double random_real(inputs &in) {
    return in.one_in(4) ? std::ldexp(1., -static_cast<int>(in.between(1, 12)))
                        : static_cast<double>(in.between(1 << 10, 1 << 20)) * 0x1p-24;
}

TEST(product_scale, is_exact_for_all_products) {
    inputs in(31);
    int found = 0, tried = 0;
    for (const rule_facts &row : rule_table) {
        if (row.parameters != rule_parameters::multipliers ||
            row.fixed_point.steps == rounding_steps::dwords) // the low 32 bits of these products wrap
            continue;
        for (int i = 0; i < 24; i++) {
            const fixed_point_multiplier m = from_double(row.rule, random_real(in));
            const std::int32_t greatest = 255 * 255, least = in.one_in(3) ? 0 : -greatest;
            const auto s = make_product_scale(row.rule, m, least, greatest);
            tried++;
            if (!s)
                continue;
            found++;
            const auto clamped = [](std::int32_t x) { return std::clamp(x, -beyond_codes, beyond_codes); };
            for (std::int32_t p = least; p <= greatest; p++)
                ASSERT_EQ(clamped(apply(*s, p)), clamped(octet::test::exact::requantize(row.rule, p, m)))
                    << to_string(row.rule) << ", multiplier " << m.multiplier << ", shift " << m.shift
                    << ", product " << p;
        }
    }
    EXPECT_GE(found, tried / 2) << tried;
}

TEST(product_scale, is_refused_where_floats_are_too_few) {
    const rule r = rule::tflite_2step;
    EXPECT_TRUE(make_product_scale(r, from_double(r, 0.01), -65025, 65025));
    EXPECT_FALSE(make_product_scale(r, from_double(r, 3.), -65025, 65025));
    EXPECT_FALSE(make_product_scale(r, from_double(r, 1e-7), -65025, 65025));
    EXPECT_FALSE(make_product_scale(r, {0, 0, 0}, -65025, 65025));
    EXPECT_FALSE(make_product_scale(rule::none, from_double(r, 0.01), -65025, 65025));
}

/// All pairs of codes at every level.
void expect_product(const binary_problem &p) {
    constexpr std::size_t pairs = 256 * 256;
    std::vector<std::uint8_t> x(pairs), y(pairs), dst(pairs);
    const auto code = [](const memory_desc &md, std::uint8_t byte) {
        return md.data_type == data_type::s8 ? std::int32_t{static_cast<std::int8_t>(byte)} : byte;
    };
    for (std::size_t i = 0; i < pairs; i++) {
        x[i] = static_cast<std::uint8_t>(i / 256);
        y[i] = static_cast<std::uint8_t>(i % 256);
    }
    const engine cpu(engine::kind::cpu, 0);
    for (const instruction_set isa : usable_instruction_sets()) {
        plan_task(isa, make_task(p))
            .make()
            ->execute(arguments({{OCTET_ARG_SRC_0, memory(memory::desc(p.src0), cpu, x.data())},
                                 {OCTET_ARG_SRC_1, memory(memory::desc(p.src1), cpu, y.data())},
                                 {OCTET_ARG_DST, memory(memory::desc(p.dst), cpu, dst.data())}}));
        const type_range range = range_of(p.dst.data_type);
        for (std::size_t i = 0; i < pairs; i++) {
            const std::int32_t product = (code(p.src0, x[i]) - p.zero_points0.values.values[0]) *
                                         (code(p.src1, y[i]) - p.zero_points1.values.values[0]);
            const std::int64_t scaled =
                octet::test::exact::requantize(p.out_stage.rule, product, p.out_stage.multipliers.values[0]);
            const auto expected = std::clamp<std::int64_t>(scaled + p.out_stage.dst_zero_points.values[0],
                                                           range.low, range.high);
            ASSERT_EQ(code(p.dst, dst[i]), expected)
                << isa.name() << ", " << to_string(p.out_stage.rule) << ", multiplier "
                << p.out_stage.multipliers.values[0].multiplier << ", bytes " << i / 256 << " and "
                << i % 256;
        }
    }
}

TEST(product_scale, multiplies_all_pairs_of_codes_as_tflite_does) {
    inputs in(37);
    for (const rule r : {rule::tflite_2step, rule::tflite_single_rounding})
        for (int i = 0; i < 12; i++) {
            binary_problem p;
            for (memory_desc *md : {&p.src0, &p.src1, &p.dst})
                *md = memory::desc({256 * 256}, in.one_in(2) ? data_type::u8 : data_type::s8, format_tag::a)
                          .data;
            const auto zero_point = [&](const memory_desc &md) {
                const type_range range = range_of(md.data_type);
                return masked_values<std::int32_t>{
                    0,
                    {static_cast<std::int32_t>(in.between(static_cast<std::int64_t>(range.low),
                                                          static_cast<std::int64_t>(range.high)))},
                    false};
            };
            p.alg = algorithm::binary_mul;
            p.form = binary_form::product;
            p.zero_points0.values = zero_point(p.src0);
            p.zero_points1.values = zero_point(p.src1);
            p.out_stage.rule = r;
            p.out_stage.dst = p.dst;
            p.out_stage.dst_zero_points = zero_point(p.dst);
            p.out_stage.multipliers = {0, {from_double(r, random_real(in))}, false};
            expect_product(p);
        }
}

} // namespace
} // namespace octet::impl::stream
