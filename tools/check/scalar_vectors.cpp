// The scalar arithmetic in a file of requantization check values: multipliers derived from three scales, and
// the fixed-point primitives of gemmlowp.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "check/check.hpp"
#include "common/fixed_point.hpp"

namespace octet::vectors {
namespace {

// ---- Derivations from three scales.

const struct derivation_rule {
    const char *name;
    scale_derivation how;
    requantization_rule fixed; ///< `automatic`: the real factor is used as it is
    const char *shift;
} derivation_rules[] = {
    {"tflite_f64", scale_derivation::tflite_f64, tflite_rule, "shift_left"},
    {"tflite_f32prod", scale_derivation::tflite_f32prod, tflite_rule, "shift_left"},
    {"caffe2_f32", scale_derivation::caffe2_f32, requantization_rule::caffe2_2step, "shift_right"},
    {"ort_f32", scale_derivation::ort_f32, requantization_rule::automatic, nullptr},
    {"snps_onnx_per_channel", scale_derivation::snps_onnx_per_channel, requantization_rule::automatic,
     nullptr},
};

bool is_refused(requantization_rule rule, double real) {
    try {
        from_double(rule, real);
        return false;
    } catch (const error &) {
        return true;
    }
}

/// Empty, or how Octet's derivation differs from the recorded one. A rule that is null in the file has no
/// multiplier for these scales, and Octet must refuse it.
std::string derivation_complaint(const json_value &d, const derivation_rule &r) {
    const double real = real_multiplier(r.how, d["input_scale_hex"].f32(), d["weight_scale_hex"].f32(),
                                        d["output_scale_hex"].f32());
    if (!d.has(r.name))
        return is_refused(r.fixed, real) ? "" : "a factor outside the rule's domain is accepted";
    const json_value recorded = d[r.name];
    if (recorded["real_multiplier_hex"].f64() != real)
        return "real factor: recorded " + recorded["real_multiplier_hex"].text() + ", derived " +
               std::to_string(real);
    if (!r.shift)
        return {};
    const fixed_point_multiplier fixed{recorded["quantized_multiplier"].as<std::int32_t>(),
                                       recorded[r.shift].as<std::int32_t>(), 0};
    const fixed_point_multiplier derived = from_double(r.fixed, real);
    return fixed == derived ? "" : "recorded " + to_text(fixed) + ", derived " + to_text(derived);
}

void replay_derivation(const json_value &d, const derivation_rule &r, report &results) {
    const std::string row = std::string("derivation ") + r.name, name = d.place() + "." + r.name;
    if (!results.wants(row))
        return;
    try {
        results.judge(row, name, derivation_complaint(d, r), "derived");
    } catch (const malformed_file &) {
        throw;
    } catch (const error &e) {
        results.fail(row, name, e.what());
    }
}

// ---- Fixed-point primitives.

const struct fixed_point_function {
    const char *name;
    std::int32_t lowest, highest; ///< domain of a
    std::int32_t (*compute)(std::int32_t a, std::int32_t b);
} fixed_point_functions[] = {
    {"srdhm", impl::int32_min, impl::int32_max,
     [](auto a, auto b) { return impl::saturating_rounding_doubling_high_mul(a, b); }},
    {"rdivpot", impl::int32_min, impl::int32_max,
     [](auto a, auto b) { return impl::rounding_divide_by_pot(a, b); }},
    {"exp_neg_q5_26", impl::int32_min, 0, [](auto a, auto) { return impl::exp_on_negative_values(a, 5); }},
    {"logistic_q4_27", -impl::int32_max, impl::int32_max, [](auto a, auto) { return impl::logistic(a, 4); }},
    {"tanh_q4_27", -impl::int32_max, impl::int32_max, [](auto a, auto) { return impl::tanh(a, 4); }},
    {"one_over_one_plus_x", 0, impl::int32_max, [](auto a, auto) { return impl::one_over_one_plus_x(a); }},
    {"one_minus_x_over_one_plus_x", 0, impl::int32_max,
     [](auto a, auto) { return impl::one_minus_x_over_one_plus_x(a); }},
    {"get_reciprocal_12", 1, impl::int32_max, [](auto a, auto) { return impl::reciprocal_of(a, 12).value; }},
};

std::string primitive_complaint(const json_value &p, const fixed_point_function &f) {
    const auto a = static_cast<std::int32_t>(p["a"].integer(f.lowest, f.highest));
    const bool b_is_shift = std::strcmp(f.name, "rdivpot") == 0;
    std::int32_t b = 0;
    if (p.has("b"))
        b = b_is_shift ? static_cast<std::int32_t>(p["b"].integer(0, 31)) : p["b"].as<std::int32_t>();
    const std::int32_t expected = p["expected"].as<std::int32_t>(), got = f.compute(a, b);
    if (got != expected)
        return "expected " + std::to_string(expected) + ", got " + std::to_string(got);
    if (!p.has("num_bits_over_unit"))
        return {};
    const std::int32_t bits = p["num_bits_over_unit"].as<std::int32_t>(),
                       got_bits = impl::reciprocal_of(a, 12).bits_over_unit;
    if (got_bits == bits)
        return {};
    return "bits over unit: expected " + std::to_string(bits) + ", got " + std::to_string(got_bits);
}

void replay_primitive(const json_value &p, report &results) {
    const std::string fn = p["fn"].text(), name = p.place() + " (" + fn + ")";
    if (!results.wants(fn))
        return;
    for (const fixed_point_function &f : fixed_point_functions)
        if (fn == f.name)
            return results.judge(fn, name, primitive_complaint(p, f), "computed");
    results.skip(fn, name, "no such primitive in Octet");
}

} // namespace

std::string to_text(const fixed_point_multiplier &m) {
    return "(" + std::to_string(m.multiplier) + ", " + std::to_string(m.shift) + ")";
}

void replay_scalar_arithmetic(const json_value &root, report &results) {
    if (root.has("derivations"))
        for (const json_value &d : root["derivations"].items())
            for (const derivation_rule &r : derivation_rules)
                replay_derivation(d, r, results);
    if (root.has("primitives"))
        for (const json_value &p : root["primitives"].items())
            replay_primitive(p, results);
}

} // namespace octet::vectors
