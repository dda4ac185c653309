// The table of rules is complete, and says what the rules do.
// SPDX-License-Identifier: Apache-2.0
#include "common/rules.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "common/requantize.hpp"
#include "octet/error.hpp"

namespace octet::impl {
namespace {

/// The compiler writes the name of an enumerator, and a number or a cast where there is none.
template <requantization_rule rule> constexpr bool is_enumerator() {
    constexpr std::string_view name = __PRETTY_FUNCTION__;
    constexpr std::size_t value = name.find("rule = ") + 7;
    return name[value] != '(' && (name[value] < '0' || name[value] > '9');
}
constexpr auto last = static_cast<requantization_rule>(std::size(rule_table) - 1),
               behind_last = static_cast<requantization_rule>(std::size(rule_table));
static_assert(is_enumerator<last>(), "a row too many in src/common/rules.hpp");
static_assert(!is_enumerator<behind_last>(), "a rule has no row in src/common/rules.hpp");

TEST(Rules, HaveNamesOfTheirOwn) {
    std::set<std::string> names;
    for (const requantization_rule rule : all_requantization_rules()) {
        EXPECT_TRUE(names.insert(to_string(rule)).second) << to_string(rule);
        EXPECT_EQ(requantization_rule_from_string(to_string(rule)), rule);
    }
    EXPECT_EQ(names.size(), std::size(rule_table));
    EXPECT_STREQ(to_string(behind_last), "unknown");
    EXPECT_EQ(parameters_of(behind_last), rule_parameters::none);
}

TEST(Rules, HaveTheFactsOfTheirParameters) {
    for (const rule_facts &row : rule_table) {
        const bool has_multipliers = row.fixed_point.highest > row.fixed_point.lowest;
        EXPECT_EQ(has_multipliers, row.parameters == rule_parameters::multipliers) << row.name;
        EXPECT_EQ(row.real.end > 0, row.parameters == rule_parameters::real_scales) << row.name;
        EXPECT_EQ(row.f32.takes_output_scales || row.f32.takes_argument_scales,
                  row.parameters == rule_parameters::scales)
            << row.name;
        EXPECT_TRUE(row.of != operators::tflite || has_multipliers) << row.name;
    }
}

/// Rules that take the bits of a float give a double and the float next to it one multiplier; all others tell
/// them apart or have fewer bits.
TEST(Rules, DeriveFromF32WhereTheFactorIsRoundedFirst) {
    std::set<std::string> names;
    for (const requantization_rule rule : all_requantization_rules()) {
        if (!derives_from_f32(rule))
            continue;
        names.insert(to_string(rule));
        EXPECT_EQ(from_double(rule, 0.1), from_float(rule, 0.1f)) << to_string(rule);
        EXPECT_EQ(from_double(rule, 0.1), from_double(rule, 0.1 + 0x1p-40)) << to_string(rule);
    }
    EXPECT_EQ(names, (std::set<std::string>{"caffe2_2step", "qnnpack_avgpool", "xnnpack_rndnu"}));
    EXPECT_FALSE(derives_from_f32(behind_last));
}

/// One quarter as a multiplier, by the meaning that the table gives its shift: so far from ties that every
/// rounding agrees, but the product in 32 bits would wrap with 24-bit multipliers.
TEST(Rules, ShiftMeansWhatTheTableSays) {
    for (const rule_facts &row : rule_table) {
        if (row.parameters != rule_parameters::multipliers)
            continue;
        const fixed_point_facts &facts = row.fixed_point;
        const int bits = facts.highest >= 1 << 30 ? 30 : facts.highest >= 1 << 23 ? 23 : 14;
        fixed_point_multiplier m{1 << bits, 0, 0};
        m.shift = facts.shift == shift_form::left_of_q31    ? 29 - bits
                  : facts.shift == shift_form::right_of_q31 ? bits - 29
                                                            : bits + 2;
        if (facts.steps == rounding_steps::dwords)
            m = {1, 2, 0};
        for (const std::int32_t acc : {4, 404, -404, 4000})
            EXPECT_EQ(requantize(row.rule, acc, m), acc / 4) << row.name << " of " << acc;
    }
}

/// The factors of each derivation differ from those of the others in form; here what they have in common is true.
TEST(Rules, DeriveTheMultipliersThatTheTableSays) {
    for (const rule_facts &row : rule_table) {
        const multiplier_derivation how = row.fixed_point.derivation;
        EXPECT_EQ(how != multiplier_derivation::none,
                  row.parameters == rule_parameters::multipliers && !row.fixed_point.has_offset)
            << row.name;
        if (how == multiplier_derivation::none) {
            EXPECT_THROW(from_double(row.rule, 0.25), error) << row.name;
            continue;
        }
        const fixed_point_multiplier m = from_double(row.rule, 0.25);
        for (const std::int32_t acc : {4, 404, -404, 4000})
            EXPECT_EQ(requantize(row.rule, acc, m), acc / 4) << row.name << " of " << acc;
    }
}

/// No framework has two element-wise arithmetics of floats; those in fixed point may differ by their roundings.
TEST(Rules, StandForOperators) {
    for (const rule_facts &row : rule_table) {
        EXPECT_TRUE(!row.is_of_products_alone || row.of == operators::tflite) << row.name;
        EXPECT_EQ(unchanged(is_float(row.rule)) == row.rule,
                  row.of == operators::integers || row.of == operators::reals)
            << row.name;
    }
}

} // namespace
} // namespace octet::impl
