// The facts of a row become lines of a formula; samples of all rules become the matrices. Start reading at
// registry_page.
// SPDX-License-Identifier: Apache-2.0
#include "match/registry.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "common/rules.hpp"
#include "common/text.hpp"
#include "match/accumulators.hpp"
#include "match/dynamic.hpp"
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
    if (f.adds_zero_point)
        return "M = f32(f32(s_src * s_weights) / s_dst)\n"
               "x = f64(f64(f64(acc) * M) + zp)                     in double\ny = clamp(rne(x), lo, hi)";
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
        return facts.real.steps == impl::real_steps::double_round
                   ? "away from zero, in both roundings"
                   : text(ties_text(facts.real.ties),
                          facts.real.adds_zero_point ? ", after the zero point is added" : "");
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
    const char *rule, *users;
    bool has_check_values;  ///< `requantization_vectors.json` has a mode of this name
    const char *proof = ""; ///< besides exact arithmetic of fixed-point rules, and the oracle
};
constexpr evidence known[] = {
    {"f32", "oneDNN 2.6.3, all int8 primitives (`src/cpu/ref_*.cpp`, the generated kernels with VNNI)", true,
     "oneDNN 2.6.3 itself, in one process (`interop/onednn/tests/peers`)"},
    {"f32_v3", "oneDNN 3.8 (its guide to quantization, `src/cpu/ref_*.cpp`)", false},
    {"ort_f32",
     "ONNX Runtime 1.30.0, CPU provider (`onnxruntime/core/mlas/lib/quantize.cpp`, `MlasRequantizeOutput`)",
     true, "operator vectors and networks of ONNX Runtime 1.30.0 (`ort_ops.json`, `network/onnx/tests`)"},
    {"tflite_2step",
     "TensorFlow Lite Micro at 90b983c2 and LiteRT's reference kernels at f6745779 "
     "(`kernels/internal/common.cc`, "
     "`MultiplyByQuantizedMultiplier`)",
     true, "operator vectors and networks made by these kernels (`tflite_ops.json`, `network/tflite/tests`)"},
    {"tflite_single_rounding",
     "TensorFlow Lite Micro at 90b983c2 built with `TFLITE_SINGLE_ROUNDING` (`kernels/internal/common.cc`)",
     true},
    {"tflite_1step",
     "ruy 2af88863, generic code (`ruy/apply_multiplier.cc`); SNPS-Caffe, convolutions with a scale per "
     "channel",
     true, "gives what `litert-2026.08-arm64-builtin` has of products"},
    {"caffe2_2step",
     "Caffe2 and QNNPACK, products (`caffe2/operators/quantized`, QNNPACK's "
     "`src/requantization/q31-scalar.c`)",
     true},
    {"gemmlowp_fixedpoint", "gemmlowp e844ffd, `OutputStageQuantizeDownInt32ByFixedPoint`", true,
     "gemmlowp itself, in one process (`tests/arithmetic/gemmlowp_test.cpp`)"},
    {"gemmlowp_fixedpoint_exponent",
     "gemmlowp e844ffd, `OutputStageScaleInt32ByFixedPointAndExponent`, scalar code", true,
     "gemmlowp itself, in one process (`tests/arithmetic/gemmlowp_test.cpp`)"},
    {"gemmlowp_legacy_scale", "gemmlowp e844ffd, `OutputStageQuantizeDownInt32ToUint8Scale`", true,
     "gemmlowp itself, in one process (`tests/arithmetic/gemmlowp_test.cpp`)"},
    {"rounded_shift",
     "fixed-point reciprocals of microcontrollers, as D. Corvoysier's posts on quantization state them; no "
     "runtime of a version",
     true},
    {"caffe_double_round", "SNPS-Caffe, InnerProduct and Deconvolution (`src/caffe/layers`)", true},
    {"qnnpack_avgpool", "Caffe2 and QNNPACK, average pooling (QNNPACK's `src/q8avgpool`)", true},
    {"ev_rte15", "SNPS-Caffe with its rounding switched to EV", true},
    {"f64_scale", "SNPS-Caffe, InnerProduct with the methods ONNX and Caffe2 (`src/caffe/layers`)", false},
    {"xnnpack_f32",
     "XNNPACK 75db3c09 on x86 (`src/xnnpack/requantization.h`), LiteRT's default for what its delegate takes",
     false,
     "vectors computed by XNNPACK (`litert_ops.json`), LiteRT itself on random networks "
     "(`network/tflite/tests/litert`)"},
    {"xnnpack_rndnu",
     "XNNPACK 75db3c09 on Arm (`src/xnnpack/requantization.h`), products of u8 codes and MUL", false,
     "vectors computed by XNNPACK for AArch64 (`litert_ops.json`, `litert_arm64_ops.json`)"},
    {"ruy_2step",
     "ruy 2af88863 on x86 with AVX (`ruy/kernel_avx*.cc`), LiteRT's products that are not delegated; "
     "LiteRT's own "
     "kernels in vectors of AArch64",
     false, "vectors computed by LiteRT's kernels (`litert_ops.json`, `litert_arm64_ops.json`)"},
    {"half_away_1step", "none of the runtimes named in these pages", false},
    {"f64_half_away",
     "LiteRT at f6745779, the overload of FULLY_CONNECTED with real scales "
     "(`kernels/internal/reference/integer_ops/fully_connected.h`)",
     false},
    {"onnx_f64",
     "ONNX's reference evaluator (`onnx/reference/ops/op_qlinear_conv.py`, "
     "`onnx/reference/ops/op_qlinear_matmul.py`)",
     false, "its formula in NumPy (`interop/python/tests/match_test.py`)"},
    {"fbgemm_f32", "FBGEMM with a bias in f32, as PyTorch 1.13 calls it (`fbgemm/OutputProcessing-inl.h`)",
     false},
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

std::string evidence_lines(const rule_facts &facts) {
    for (const evidence &row : known) {
        if (std::string(row.rule) != facts.name)
            continue;
        std::string proof = row.proof;
        if (row.has_check_values)
            proof += text(proof.empty() ? "" : "; ", "`requantization_vectors.json`, mode `", row.rule,
                          "` (`octet check`)");
        if (facts.parameters == rule_parameters::multipliers)
            proof += text(proof.empty() ? "" : "; ", "exact arithmetic (`tests/arithmetic`)");
        return text("- Used by: ", row.users, ".\n- Proof: ", proof, proof.empty() ? "" : "; ",
                    "the oracle (`tests/oracle`).\n");
    }
    return "";
}

// ---- operators of the profiles

/// Rows of equal contents are one, with all their operators and profiles.
struct contract_of_operators {
    profile_entry entry;
    std::vector<std::string> ops, profiles;
};

void add_once(std::vector<std::string> &names, const std::string &name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
}

std::vector<contract_of_operators> contracts_of_operators() {
    std::vector<contract_of_operators> all;
    for (const profile &p : all_profiles())
        for (const profile_entry &e : p.entries) {
            const auto same = [&](const contract_of_operators &c) {
                const bool has_no_contract = !e.rule && !c.entry.rule; // for many operators alike
                return (c.entry.op == e.op || has_no_contract) && c.entry.condition == e.condition &&
                       c.entry.arithmetic == e.arithmetic && c.entry.derivation == e.derivation;
            };
            auto found = std::find_if(all.begin(), all.end(), same);
            if (found == all.end())
                found = all.insert(all.end(), {e, {}, {}});
            add_once(found->ops, e.op);
            add_once(found->profiles, p.name);
        }
    return all;
}

std::string joined(const std::vector<std::string> &names, const char *quote) {
    std::string all;
    for (const std::string &name : names)
        all += text(all.empty() ? "" : ", ", quote, name, quote);
    return all;
}

/// A cell of a table.
std::string cell(const std::string &formula) {
    if (formula.empty())
        return " |";
    std::string escaped;
    for (const char c : formula)
        escaped += c == '|' ? "\\|" : std::string(1, c);
    return text(" ", formula.rfind("none: ", 0) == 0 ? escaped : "`" + escaped + "`", " |");
}

std::string operator_table() {
    std::string table =
        "| operator | where | code | multiplier | profiles |\n| --- | --- | --- | --- | --- |\n";
    for (const contract_of_operators &c : contracts_of_operators())
        table +=
            text("| ", joined(c.ops, ""), " | ", c.entry.condition, c.entry.condition.empty() ? "|" : " |",
                 cell(c.entry.arithmetic), cell(c.entry.derivation), " ", joined(c.profiles, "`"), " |\n");
    return table;
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
                     evidence_lines(*facts), profile_line(facts->rule));
    page += "\n## Operators\n\n"
            "What each profile says of each operator. A row without a condition takes what the other rows of "
            "its profile "
            "leave. `F` converts to\n"
            "f32, `d` is a code less its zero point, `s_x`, `s_w` and `s_y` are the scales of source, "
            "weights and result, `Q31` "
            "is the fixed-point\n"
            "form of [arithmetic](arithmetic.md).\n\n" +
            operator_table();
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
    page += dynamic_page();
    return page;
}

} // namespace octet::match
