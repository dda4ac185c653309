// The facts of a row become lines of a formula; samples of all rules become the matrices. Start reading at registry_page.
// SPDX-License-Identifier: Apache-2.0
#include "match/registry.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "common/rules.hpp"
#include "common/text.hpp"
#include "match/accumulators.hpp"
#include "octet/profile.hpp"

namespace octet::match {
namespace {

using impl::fixed_point_facts;
using impl::overflow;
using impl::rounding_steps;
using impl::rule_facts;
using impl::shift_form;
using impl::text;
using impl::ties_go;

// ---- what a rule's facts say, as formulas

const char *ties_text(ties_go ties) {
    return ties == ties_go::up ? "up" : ties == ties_go::away ? "away from zero" : "to even";
}

std::string scales_lines(const impl::f32_facts &f) {
    const char *scale = f.divides_after_post_ops ? "f32(s_src * s_weights)" : "s";
    std::string lines;
    if (!f.divides_after_post_ops)
        lines += "s = f32(f32(s_src * s_weights) / s_dst)\n";
    if (f.adds_bias_in_f32 && !f.adds_bias_after_scale)
        lines += text("x = f32(f32(f32(acc) + bias) * ", scale, ")\n");
    else
        lines += text("x = f32(f32(acc", f.adds_bias_in_f32 ? "" : " + bias", ") * ", scale, ")\n");
    if (f.adds_bias_after_scale)
        lines += "x = f32(x + bias)                                   bias in real units\n";
    if (f.divides_after_post_ops)
        lines += "x = f32(x * f32(1 / s_dst))\n";
    return lines + (f.rounds_before_zero_point ? "y = rne(clamp(x, lo - zp, hi - zp)) + zp"
                                               : "y = rne(clamp(f32(x + zp), lo, hi))");
}

std::string last_rounding(const std::string &numerator, const std::string &bits, ties_go ties) {
    if (ties == ties_go::up)
        return text("(", numerator, " + 2^(", bits, " - 1)) >> ", bits, "      ", bits, " = 0: no rounding");
    return text(ties == ties_go::away ? "rha(" : "rne(", numerator, " / 2^", bits, ")");
}

std::string multiplier_lines(const fixed_point_facts &f) {
    const bool is_left = f.shift == shift_form::left_of_q31;
    std::string lines;
    switch (f.steps) {
    case rounding_steps::one_shift: {
        const std::string bits = f.shift == shift_form::right ? "shift" : is_left ? "t" : "(31 + shift)";
        if (is_left)
            lines += "t = 31 - shift\n";
        lines += "v = " + last_rounding("acc * q", bits, f.last) + "\n";
        if (f.left_shift == overflow::saturates)
            lines += "shift < 0: v = acc * q * 2^-shift, saturated\n";
        break;
    }
    case rounding_steps::two_steps:
        if (is_left)
            lines +=
                text("x = acc * 2^max(shift, 0)                           ",
                     f.left_shift == overflow::saturates ? "saturates to 32 bits" : "wraps to 32 bits", "\n");
        lines += text("h = (", is_left ? "x" : "acc",
                      " * q + 2^30) >> 31                            saturates to 32 bits\n");
        if (is_left)
            lines += "r = max(-shift, 0)\n";
        lines += "v = " + last_rounding("h", is_left ? "r" : "shift", f.last) + "\n";
        break;
    case rounding_steps::dwords:
        lines += "x = " + std::string(f.has_offset ? "(acc + offset)" : "acc") +
                 " * q                              the low 32 bits\n";
        lines += "v = " + last_rounding("x", "shift", f.last) + "\n";
        break;
    }
    lines += f.result == overflow::saturates ? "v saturates to 32 bits\n" : "the low 32 bits of v are kept\n";
    return lines + "y = clamp(v + zp, lo, hi)";
}

std::string real_lines(const impl::real_facts &f) {
    if (f.steps == impl::real_steps::double_round)
        return "M = m * 2^-r, 0.5 <= m < 1\nv = rha(rha(acc * m) / 2^r)                         in floating "
               "point\n"
               "y = clamp(v + zp, lo, hi)";
    return text("v = ", f.ties == ties_go::away ? "rha" : "rne",
                "(f64(acc) * M)                               in double\ny = clamp(v + zp, lo, hi)");
}

std::string formula(const rule_facts &facts) {
    switch (facts.parameters) {
    case rule_parameters::scales:
        return scales_lines(facts.f32);
    case rule_parameters::multipliers:
        return multiplier_lines(facts.fixed_point);
    default:
        return real_lines(facts.real);
    }
}

std::string ties(const rule_facts &facts) {
    if (facts.parameters == rule_parameters::scales)
        return text("to even, ", facts.f32.rounds_before_zero_point ? "before" : "after",
                    " the zero point is added");
    if (facts.parameters == rule_parameters::real_scales)
        return facts.real.steps == impl::real_steps::double_round ? "away from zero, in both roundings"
                                                                  : ties_text(facts.real.ties);
    return facts.fixed_point.steps == rounding_steps::two_steps
               ? text("up in the first rounding, ", ties_text(facts.fixed_point.last), " in the second")
               : ties_text(facts.fixed_point.last);
}

std::string domain(const rule_facts &facts) {
    if (facts.parameters == rule_parameters::scales)
        return "positive finite scales";
    if (facts.parameters == rule_parameters::real_scales)
        return facts.real.allowed;
    const fixed_point_facts &f = facts.fixed_point;
    return text("q from ", f.lowest, " to ", f.highest, ", shift from ", f.lowest_shift, " to ",
                f.highest_shift);
}

/// How the rule's multiples of 1/2 become codes: the code of acc * 0.5 for small accumulators, zero point 1.
std::string drawing(requantization_rule rule) {
    accumulator_scales s{0.5f, 0.5f, 1.f, 1, -128, 127, 1 << 20, data_type::s8};
    std::string sums = "exact  ", codes = "code   ";
    const std::vector<scaling> all = scalings_of(rule, s);
    for (std::int32_t acc = -10; acc <= 10; acc += 4) {
        char sum[16], code[16];
        std::snprintf(sum, sizeof sum, "%6.1f", acc / 4.);
        std::snprintf(code, sizeof code, "%6d", all.at(0).code(acc) - s.zero_point);
        sums += sum;
        codes += code;
    }
    return sums + '\n' + codes;
}

// ---- who computes so, and what holds Octet to it

struct evidence {
    const char *rule, *users, *proof;
};
constexpr const char *check_values =
    "check values of the formula (`octet check`), exact arithmetic (`tests/arithmetic`)";
constexpr evidence known[] = {
    {"f32", "oneDNN 2.6.3, all int8 primitives (`src/cpu/ref_*.cpp`, the generated kernels with VNNI)",
     "oneDNN 2.6.3 itself, in one process (`tests/peers`)"},
    {"f32_v3", "oneDNN 3.x (its documentation of quantization, `src/cpu/ref_*.cpp`)", check_values},
    {"ort_f32", "ONNX Runtime 1.30.0, CPU provider (`MlasRequantizeOutput`)",
     "operator vectors and networks of ONNX Runtime 1.30.0 (`tests/model`)"},
    {"tflite_2step",
     "TensorFlow Lite Micro at 90b983c2, LiteRT's reference kernels (`MultiplyByQuantizedMultiplier`)",
     "operator vectors and networks made by these kernels (`tests/model`)"},
    {"tflite_single_rounding", "the same, built with `TFLITE_SINGLE_ROUNDING`", check_values},
    {"tflite_1step", "SNPS-Caffe, convolutions with a scale per channel; ruy's generic code (2af88863)",
     check_values},
    {"caffe2_2step", "Caffe2 and QNNPACK, products (`q31` requantization)",
     "PyTorch 1.13's QNNPACK engine (`tests/python/torch_test.py`)"},
    {"gemmlowp_fixedpoint", "gemmlowp e844ffd, `OutputStageQuantizeDownInt32ByFixedPoint`",
     "gemmlowp itself, in one process (`tests/arithmetic/gemmlowp_test.cpp`)"},
    {"gemmlowp_fixedpoint_exponent",
     "gemmlowp e844ffd, `OutputStageScaleInt32ByFixedPointAndExponent`, scalar code",
     "gemmlowp itself, in one process (`tests/arithmetic/gemmlowp_test.cpp`)"},
    {"gemmlowp_legacy_scale", "gemmlowp e844ffd, `OutputStageQuantizeDownInt32ToUint8Scale`",
     "gemmlowp itself, in one process (`tests/arithmetic/gemmlowp_test.cpp`)"},
    {"rounded_shift", "fixed-point reciprocals of microcontrollers", check_values},
    {"caffe_double_round", "SNPS-Caffe, InnerProduct and Deconvolution", check_values},
    {"qnnpack_avgpool", "Caffe2 and QNNPACK, average pooling", check_values},
    {"ev_rte15", "SNPS-Caffe in EV mode", check_values},
    {"f64_scale", "SNPS-Caffe, InnerProduct with the methods ONNX and Caffe2", check_values},
    {"xnnpack_f32", "XNNPACK 75db3c09 on x86, LiteRT's default for what its delegate takes",
     "vectors computed by XNNPACK (`octet check`), LiteRT itself on random networks (`tests/litert`)"},
    {"xnnpack_rndnu", "XNNPACK 75db3c09 on Arm, products of u8 codes and MUL",
     "vectors computed by XNNPACK for AArch64 (`octet check`)"},
    {"ruy_2step", "ruy 2af88863 on x86 with AVX, LiteRT's products that are not delegated",
     "vectors computed by LiteRT's kernels (`octet check`)"},
    {"half_away_1step", "none of the runtimes named in these pages", "exact arithmetic (`tests/arithmetic`)"},
    {"f64_half_away", "LiteRT's FULLY_CONNECTED with real scales", "exact arithmetic (`tests/arithmetic`)"},
    {"fbgemm_f32", "FBGEMM with a bias in f32", "exact arithmetic (`tests/arithmetic`)"},
};

/// "- Profiles: `litert-2026.08-x86` (CONV_2D, ADD)": the runtimes that compute so, with the operators.
std::string profile_line(requantization_rule rule) {
    std::string line;
    for (const profile &p : all_profiles()) {
        std::string ops;
        for (const profile_entry &e : p.entries)
            if (e.rule == rule && ops.find(e.op) == std::string::npos)
                ops += (ops.empty() ? "" : ", ") + e.op;
        if (!ops.empty())
            line += text(line.empty() ? "- Profiles: " : "; ", "`", p.name, "` (", ops, ")");
    }
    return line.empty() ? line : line + ".\n";
}

std::string evidence_lines(const char *rule) {
    for (const evidence &row : known)
        if (std::string(row.rule) == rule)
            return text("- Used by: ", row.users, ".\n- Proof: ", row.proof, ".\n");
    return "";
}

// ---- how often contracts differ

std::vector<const rule_facts *> described_rules() {
    std::vector<const rule_facts *> rules;
    for (const rule_facts &facts : impl::rule_table)
        if (facts.parameters != rule_parameters::none)
            rules.push_back(&facts);
    return rules;
}

/// Codes of every rule for accumulators of many scales.
std::vector<codes> sample(const std::vector<const rule_facts *> &rules, bool powers_of_two) {
    constexpr int factors = 250, per_factor = 400;
    generator random(5);
    std::vector<codes> all(rules.size());
    for (int i = 0; i < factors; i++) {
        const int exponent =
            static_cast<int>(random.between(-9, -3)); // the factor lies below 0.25: every rule has it
        const float mantissa =
            powers_of_two ? 1.f : 1.f + static_cast<float>(random.between(0, (1 << 23) - 1)) / 8388608.f;
        accumulator_scales s{std::ldexp(mantissa, exponent), 1.f, 1.f,
                             static_cast<std::int32_t>(random.between(-20, 20))};
        const auto reach = static_cast<std::int64_t>(140 / s.factor());
        s.magnitude = reach;
        std::vector<std::int32_t> sums;
        for (int j = 0; j < per_factor; j++)
            sums.push_back(static_cast<std::int32_t>(random.between(-reach, reach)));
        for (std::size_t r = 0; r < rules.size(); r++) {
            const scaling rule = scalings_of(rules[r]->rule, s).at(0);
            for (const std::int32_t acc : sums)
                all[r].push_back(rule.code(acc));
        }
    }
    return all;
}

std::string matrix(bool powers_of_two) {
    const std::vector<const rule_facts *> rules = described_rules();
    const std::vector<codes> all = sample(rules, powers_of_two);
    std::string table = "| | rule |";
    for (std::size_t r = 0; r < rules.size(); r++)
        table += text(" ", r + 1, " |");
    table += "\n| --- | --- |";
    for (std::size_t r = 0; r < rules.size(); r++)
        table += " --- |";
    for (std::size_t a = 0; a < rules.size(); a++) {
        table += text("\n| ", a + 1, " | `", rules[a]->name, "` |");
        for (std::size_t b = 0; b < rules.size(); b++) {
            std::int64_t different = 0;
            for (std::size_t i = 0; i < all[a].size(); i++)
                different += all[a][i] != all[b][i];
            table += a == b ? " · |"
                            : text(" ", different * 1000000 / static_cast<std::int64_t>(all[a].size()), " |");
        }
    }
    return table + '\n';
}

} // namespace

std::string registry_page() {
    std::string page = "## Formulas\n\n"
                       "`acc` is the exact sum, `q` and `shift` the multiplier, `zp` the zero point, `lo` "
                       "and `hi` the range of codes that the\n"
                       "activation leaves. `f32` and `f64` round one operation, `rne` and `rha` to the "
                       "nearest integer, ties to even and away\n"
                       "from zero; `>>` rounds down. The last two lines of each block draw the ties: the "
                       "code less the zero point, with a zero\n"
                       "point of 1 and a factor of 1/4.\n";
    for (const rule_facts *facts : described_rules())
        page += text("\n### `", facts->name, "`\n\n```text\n", formula(*facts), "\n\n", drawing(facts->rule),
                     "\n```\n\n- Ties: ", ties(*facts), ".\n- Domain: ", domain(*facts), ".\n",
                     evidence_lines(facts->name), profile_line(facts->rule));
    page +=
        "\n## How many codes differ\n\n"
        "Of a million codes, those that differ between two rules: s8, zero points uniform in -20 to 20, "
        "accumulators uniform where the\n"
        "scaled value lies within 140 on both sides, 250 factors with 400 accumulators each. First for "
        "factors between 2^-9 and 2^-2 whose\n"
        "exponents and mantissas are uniform:\n\n" +
        matrix(false) +
        "\nThen for factors that are powers of two from 2^-9 to 2^-3, where exact ties are frequent:\n\n" +
        matrix(true);
    return page;
}

} // namespace octet::match
