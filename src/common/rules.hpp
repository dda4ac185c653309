#pragma once // SPDX-License-Identifier: Apache-2.0

// Every fact about a requantization rule that other code asks for, one row per rule, in the order of the
// enumeration. Nobody else lists rules: a list of exceptions ("all but this one") is right until the next rule
// comes. What a rule computes is in requantize.hpp (fixed point, real scales) and bound_epilogue.cpp (f32); how
// generated code computes it follows from the facts here, in jit/epilogue/rules.cpp. Adding a rule: CONTRIBUTING.md.
//
// Start reading at rule_table.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

#include "octet/requantization.hpp"

namespace octet::impl {

/// Rules whose results are f32: the table's other facts about how they scale.
struct f32_facts {
    bool takes_output_scales = false;
    bool takes_argument_scales = false; ///< scales of src, weights and dst
    bool adds_bias_in_f32 = false;      ///< a bias of any type; else s32, added to the accumulator
    bool adds_bias_after_scale = false;
    bool divides_after_post_ops = false; ///< by the destination's scale
    bool rounds_before_zero_point = false;

    constexpr bool factor_has_dst_scale() const { return takes_argument_scales && !divides_after_post_ops; }
};

/// The meaning of a multiplier's shift.
enum class shift_form {
    left_of_q31,  ///< factor = multiplier * 2^(shift - 31)
    right_of_q31, ///< multiplier * 2^(-shift - 31)
    right,        ///< multiplier * 2^-shift
};

/// How the product of accumulator and multiplier loses its low bits.
enum class rounding_steps {
    one_shift, ///< the exact product is rounded once
    two_steps, ///< SRDHM, then RDP
    dwords,    ///< the low 32 bits of the product, then RDP
};

enum class ties_go { up, away, even }; ///< in the last step
enum class overflow { none, wraps, saturates };

/// How a framework derives a multiplier and its shift from a real factor (derivation.cpp).
enum class multiplier_derivation {
    none,
    q31,           ///< 31 bits of a double, below 2^30
    clipped_q31,   ///< the same, the largest one from 2^30 on
    fraction_q31,  ///< the same below 1, with a right shift
    f32_times_128, ///< the 24 bits of a float below 1, at the top of a Q31
    f32_bits,      ///< the 24 bits of a float
    q32,           ///< 31 bits with any right shift
    q15,
};

struct fixed_point_facts {
    shift_form shift = shift_form::left_of_q31;
    rounding_steps steps = rounding_steps::one_shift;
    ties_go last = ties_go::up;
    overflow left_shift = overflow::none; ///< treatment of bits that a left shift loses
    overflow result = overflow::wraps;    ///< treatment of a result that does not fit
    std::int32_t lowest = 0, highest = 0; ///< multiplier
    int lowest_shift = 0, highest_shift = 0;
    bool has_offset = false;     ///< added to the accumulator before the product
    bool has_f32_factor = false; ///< derived from the product of scales and a quotient in f32; else in f64
    multiplier_derivation derivation = multiplier_derivation::none;
};

/// How a real factor is applied.
enum class real_steps {
    f64_product,  ///< rounded once, ties as `ties` says
    double_round, ///< times the mantissa, rounded, times the power of two, rounded; ties away from zero
};

/// Rules with one real factor: lowest <= factor < end.
struct real_facts {
    real_steps steps = real_steps::f64_product;
    double lowest = 0, end = 0;
    const char *allowed = "";
    bool takes_tensor_scales = false; ///< element by element: instead of the factor
    ties_go ties = ties_go::even;     ///< f64_product: even or away
    bool adds_zero_point = false;     ///< the destination's, before rounding; the result is without it
    bool has_f32_factor = false;      ///< as of fixed_point_facts
};

/// The framework whose operators besides products a rule stands for: how codes are added, averaged,
/// interpolated, looked up.
enum class operators {
    none,         ///< the rule finishes sums of products, no more
    integers,     ///< integers as they are
    reals,        ///< oneDNN 2: f32; a scale multiplies a source or the output
    scaled_reals, ///< oneDNN 3: f32; each argument has a scale
    onnxruntime,
    tflite,
    xnnpack,
    qnnpack,
    snps_caffe,
    litert_neon, ///< LiteRT's own kernels for AArch64, where they are not `tflite`
};

struct rule_facts {
    requantization_rule rule;
    const char *name;
    rule_parameters parameters;
    operators of{};
    f32_facts f32{};
    fixed_point_facts fixed_point{};
    real_facts real{};
    bool is_of_products_alone = false; ///< `of` holds for no softmax and no interpolation
    /// `of` was compiled by Clang for AArch64, where a * b + c of floats is rounded once.
    bool is_of_aarch64 = false;
};

namespace rule_rows {

using rules = requantization_rule;
constexpr std::int32_t low = std::numeric_limits<std::int32_t>::min(),
                       high = std::numeric_limits<std::int32_t>::max();
constexpr double least = std::numeric_limits<double>::denorm_min(),
                 infinity = std::numeric_limits<double>::infinity();

constexpr rule_facts plain(rules rule, const char *name) { return {rule, name, rule_parameters::none}; }
constexpr rule_facts in_f32(rules rule, const char *name, const f32_facts &facts) {
    return {rule, name, rule_parameters::scales, operators::none, facts};
}
constexpr rule_facts in_fixed_point(rules rule, const char *name, const fixed_point_facts &facts) {
    return {rule, name, rule_parameters::multipliers, operators::none, {}, facts};
}
constexpr rule_facts with_real_scale(rules rule, const char *name, const real_facts &facts) {
    return {rule, name, rule_parameters::real_scales, operators::none, {}, {}, facts};
}

/// A row that also stands for operators.
constexpr rule_facts with(operators of, rule_facts row, bool is_of_products_alone = false) {
    row.of = of;
    row.is_of_products_alone = is_of_products_alone;
    return row;
}
constexpr rule_facts with_aarch64(operators of, rule_facts row) {
    row.is_of_aarch64 = true;
    return with(of, row);
}

constexpr auto left_of_q31 = shift_form::left_of_q31;
constexpr auto right_of_q31 = shift_form::right_of_q31;
constexpr auto right = shift_form::right;
constexpr auto one_shift = rounding_steps::one_shift;
constexpr auto two_steps = rounding_steps::two_steps;
constexpr auto dwords = rounding_steps::dwords;
constexpr auto up = ties_go::up, away = ties_go::away, even = ties_go::even;
constexpr auto none = overflow::none, wraps = overflow::wraps, saturates = overflow::saturates;
using ops = operators;
using from = multiplier_derivation;

// clang-format off
inline constexpr rule_facts table[] = {
    plain(rules::automatic, "automatic"),
    with(ops::integers, plain(rules::none, "none")),
    //                                            scales of     bias in      divides by dst's  rounds before
    //                                       output arguments   f32   after  scale at the end  the zero point
    with(ops::reals,
         in_f32(rules::f32,               "f32",     {true,  false, true,  false, false,            false})),
    with(ops::scaled_reals,
         in_f32(rules::f32_v3,            "f32_v3",  {false, true,  true,  true,  true,             false})),
    with(ops::onnxruntime,
         in_f32(rules::ort_f32,           "ort_f32", {true,  true,  false, false, false,            true})),
    //   shift form    steps      ties  left shift result     multiplier shift  offset, f32 factor, derivation
    with(ops::tflite, in_fixed_point(rules::tflite_2step, "tflite_2step",
        {left_of_q31,  two_steps, away, wraps,     wraps,     0, high,   -31, 30, false, false, from::q31})),
    with(ops::tflite, in_fixed_point(rules::tflite_single_rounding, "tflite_single_rounding",
        {left_of_q31,  one_shift, up,   none,      wraps,     0, high,   -31, 30, false, false, from::clipped_q31})),
    with(ops::tflite, in_fixed_point(rules::tflite_1step, "tflite_1step",
        {left_of_q31,  one_shift, up,   none,      wraps,     0, high,   -31, 30, false, false, from::q31}), true),
    with(ops::qnnpack, in_fixed_point(rules::caffe2_2step, "caffe2_2step",
        {right_of_q31, two_steps, away, none,      wraps,     low, high, 0, 31,   false, true, from::f32_times_128})),
    in_fixed_point(rules::gemmlowp_fixedpoint, "gemmlowp_fixedpoint",
        {right_of_q31, two_steps, away, none,      wraps,     low, high, 0, 31,   false, true, from::fraction_q31}),
    in_fixed_point(rules::gemmlowp_fixedpoint_exponent, "gemmlowp_fixedpoint_exponent",
        {left_of_q31,  two_steps, away, saturates, wraps,     low, high, -31, 31, false, true, from::q31}),
    in_fixed_point(rules::gemmlowp_legacy_scale, "gemmlowp_legacy_scale",
        {right,        dwords,    away, none,      wraps,     low, high, 0, 31,   true}),
    in_fixed_point(rules::rounded_shift, "rounded_shift",
        {right,        one_shift, up,   saturates, saturates, low, high, -31, 62, false, false, from::q32}),
    with(ops::snps_caffe, with_real_scale(rules::caffe_double_round, "caffe_double_round",
        {real_steps::double_round, 0x1p-30, 1., "2^-30 <= scale < 1", true})),
    in_fixed_point(rules::qnnpack_avgpool, "qnnpack_avgpool",
        {right,        one_shift, away, none,      wraps,     1 << 23, (1 << 24) - 1,
         16, 55, false, true, from::f32_bits}),
    in_fixed_point(rules::ev_rte15, "ev_rte15",
        {right,        one_shift, even, none,      saturates, 0, 32767,  1, 62,   false, false, from::q15}),
    with_real_scale(rules::f64_scale, "f64_scale",
        {real_steps::f64_product, least, infinity, "positive and finite", false}),
    with(ops::xnnpack,
         in_f32(rules::xnnpack_f32,       "xnnpack_f32", {true, true, false, false, false,          true})),
    with_aarch64(ops::xnnpack, in_fixed_point(rules::xnnpack_rndnu, "xnnpack_rndnu",
        {right,        one_shift, up,   none,      saturates, 1 << 23, (1 << 24) - 1,
         16, 55, false, true, from::f32_bits})),
    with_aarch64(ops::litert_neon, in_fixed_point(rules::ruy_2step, "ruy_2step",
        {left_of_q31,  two_steps, up,   wraps,     wraps,     0, high,   -31, 30, false, false, from::q31})),
    in_fixed_point(rules::half_away_1step, "half_away_1step",
        {left_of_q31,  one_shift, away, none,      wraps,     0, high,   -31, 30, false, false, from::q31}),
    with_real_scale(rules::f64_half_away, "f64_half_away",
        {real_steps::f64_product, least, infinity, "positive and finite", false, away}),
    in_f32(rules::fbgemm_f32, "fbgemm_f32", {true,  false, true,  false, false,          true}),
    with_real_scale(rules::onnx_f64, "onnx_f64",
        {real_steps::f64_product, least, infinity, "positive and finite", false, even, true, true}),
};
// clang-format on

constexpr bool are_in_order() {
    for (std::size_t i = 0; i < std::size(table); i++)
        if (table[i].rule != static_cast<requantization_rule>(i))
            return false;
    return true;
}
static_assert(are_in_order(), "rows are found by the number of their rule");

} // namespace rule_rows

inline constexpr auto &rule_table = rule_rows::table;

/// False for a number that is no rule.
constexpr bool is_rule(requantization_rule rule) {
    return static_cast<int>(rule) >= 0 && static_cast<std::size_t>(rule) < std::size(rule_table);
}
/// The row of a rule; a number that is none has the facts of `automatic`, which takes nothing.
constexpr const rule_facts &facts_of(requantization_rule rule) {
    return rule_table[is_rule(rule) ? static_cast<std::size_t>(rule) : 0];
}

/// Rules that take fixed-point multipliers.
constexpr bool is_fixed_point(requantization_rule rule) {
    return facts_of(rule).parameters == rule_parameters::multipliers;
}
/// Rules that take a real scale in floating point.
constexpr bool takes_real_scales(requantization_rule rule) {
    return facts_of(rule).parameters == rule_parameters::real_scales;
}
/// Rules after which the value is f32.
constexpr bool is_float(requantization_rule rule) {
    return facts_of(rule).parameters == rule_parameters::scales;
}
/// The framework whose operators, besides products, a rule stands for.
constexpr operators operators_of(requantization_rule rule) { return facts_of(rule).of; }
constexpr bool is_ort(requantization_rule rule) { return operators_of(rule) == operators::onnxruntime; }
constexpr bool is_tflite(requantization_rule rule) { return operators_of(rule) == operators::tflite; }
constexpr bool is_xnnpack(requantization_rule rule) { return operators_of(rule) == operators::xnnpack; }
constexpr bool is_snps_caffe(requantization_rule rule) { return operators_of(rule) == operators::snps_caffe; }
constexpr bool is_litert_neon(requantization_rule rule) {
    return operators_of(rule) == operators::litert_neon;
}
/// f32 without scales of the arguments.
constexpr bool is_plain_f32(requantization_rule rule) { return operators_of(rule) == operators::reals; }

/// The rule that leaves values as they are, floats or integers.
constexpr requantization_rule unchanged(bool is_f32) {
    return is_f32 ? requantization_rule::f32 : requantization_rule::none;
}

/// "f32, ort_f32": the rules of which a fact is true, for messages.
template <typename Fact> std::string names_of_rules(const Fact &fact) {
    std::string names;
    for (const rule_facts &row : rule_table)
        if (fact(row))
            names += (names.empty() ? "" : ", ") + std::string(row.name);
    return names;
}

} // namespace octet::impl
