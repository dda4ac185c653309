// Chooses the form of a rule's code for given multipliers, and computes the constants in its parameter
// vectors. The code itself, and the contents of each parameter vector, are in rules_code.hpp.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/rules.hpp"

#include <algorithm>
#include <cmath>

#include "common/bits.hpp"
#include "common/requantize.hpp"
#include "jit/epilogue/rules_code.hpp"
#include "jit/epilogue/rules_emitter.hpp"

namespace octet::impl::jit {

namespace {

/// 2^exponent; padding columns may ask for anything.
std::uint64_t pot(int exponent) { return std::uint64_t{1} << std::clamp(exponent, 0, 63); }
/// The number to add so that a shift by `exponent` rounds to nearest.
std::uint64_t half_of_pot(int exponent) { return exponent > 0 ? pot(exponent - 1) : 0; }

/// One column of a block's parameter vectors.
class param_column {
public:
    param_column(std::uint32_t *params, int column) : params_(params), column_(column) {}

    void put(int param, std::int64_t x) { word(param, column_) = static_cast<std::uint32_t>(x); }
    void put_f32(int param, float x) { put(param, bits(x)); }
    void put_multiplier(std::int32_t q) {
        put(0, q);
        if (column_ % 2 == 1)
            word(1, column_ - 1) = static_cast<std::uint32_t>(q);
    }
    void put64(int param, std::uint64_t x) { put64(param + column_ % 2, column_ / 2, x); }
    void put_f64(int param, double x) {
        put64(param + column_ / 4 % 2, column_ / 8 * 4 + column_ % 4, bits(x));
    }

private:
    std::uint32_t &word(int param, int lane) { return params_[param * columns_per_block + lane]; }
    void put64(int param, int lane, std::uint64_t x) {
        word(param, 2 * lane) = static_cast<std::uint32_t>(x);
        word(param, 2 * lane + 1) = static_cast<std::uint32_t>(x >> 32);
    }

    std::uint32_t *params_;
    int column_;
};

/// False also for rules with ties to even: their factors have 15 bits, so their product is exact in f64.
bool is_one_shift(const fixed_point_facts &facts) {
    return facts.steps == rounding_steps::one_shift && facts.last != ties_go::even;
}

/// True if there is code for a rule with these facts. Another combination needs code of its own first.
constexpr bool has_code(const fixed_point_facts &facts) {
    const bool is_left = facts.shift == shift_form::left_of_q31, is_right = facts.shift == shift_form::right;
    switch (facts.steps) {
    case rounding_steps::two_steps:
        return !is_right && facts.result == overflow::wraps &&
               (facts.last == ties_go::away || (facts.last == ties_go::up && facts.lowest >= 0));
    case rounding_steps::dwords:
        return is_right && facts.last == ties_go::away && facts.result == overflow::wraps;
    case rounding_steps::one_shift:
        break;
    }
    if (!(is_left || is_right) || facts.left_shift == overflow::wraps)
        return false;
    switch (facts.last) {
    case ties_go::up:
        return facts.left_shift == overflow::none || facts.result == overflow::saturates;
    case ties_go::away:
        return facts.result == overflow::wraps && facts.lowest >= 0;
    case ties_go::even:
        return is_right && facts.result == overflow::saturates && facts.lowest >= 0 &&
               facts.highest < 1 << 21;
    }
    return false;
}
constexpr bool have_code() {
    for (const rule_facts &row : rule_table)
        if (row.parameters == rule_parameters::multipliers && !has_code(row.fixed_point))
            return false;
    return true;
}
static_assert(have_code(), "a rule's facts ask for arithmetic that no form of code has");

/// A column's multiplier and shifts as the code does them, neither count negative for valid multipliers.
struct factor {
    std::int32_t multiplier;
    int left, right;
};

factor factor_of(const fixed_point_facts &facts, fixed_point_multiplier m) {
    const bool is_left = facts.shift == shift_form::left_of_q31;
    if (facts.steps == rounding_steps::two_steps)
        return {m.multiplier, is_left ? std::max(m.shift, 0) : 0, is_left ? std::max(-m.shift, 0) : m.shift};
    factor f{m.multiplier, 0, is_left ? 31 - m.shift : m.shift};
    if (!is_one_shift(facts))
        return f;
    if (f.multiplier == 0)
        return {0, 0, 62};
    // Twice the product, constant and divisor give the same result; the largest shift takes the short form.
    while (f.right < 62 && f.multiplier >= -(1 << 30) && f.multiplier < 1 << 30) {
        f.multiplier *= 2;
        f.right++;
    }
    return {f.multiplier, std::max(-f.right, 0), std::max(f.right, 0)};
}

/// True where the short form is exact.
bool takes_short_form(const fixed_point_facts &facts, const factor &f) {
    if (facts.steps == rounding_steps::two_steps)
        return f.multiplier == 0 || (f.multiplier > 0 && f.right >= 1);
    if (is_one_shift(facts))
        return f.right >= 33;
    return facts.last == ties_go::even && f.right >= 15; // its factors have 15 bits
}
bool takes_short_form(const real_facts &facts, const std::vector<double> &scales) {
    return facts.steps == real_steps::f64_product && !scales.empty() &&
           std::all_of(scales.begin(), scales.end(), [](double scale) { return scale < 1; });
}

void fill_one_shift(param_column &to, const rule_spec &spec, const fixed_point_multiplier &m) {
    const factor f = factor_of(spec.fixed_point(), m);
    to.put_multiplier(f.multiplier);
    if (spec.short_form) {
        to.put(2, half_of_pot(f.right - 32));
        to.put(3, f.right - 32);
        return;
    }
    const bool wraps = wraps_below_zero(spec.fixed_point());
    to.put64(2, half_of_pot(f.right) + (wraps ? pot(63) : 0));
    to.put64(4, f.right);
    if (wraps)
        to.put(6, pot(63 - f.right));
}

void fill_two_step(param_column &to, const rule_spec &spec, const fixed_point_multiplier &m) {
    const factor f = factor_of(spec.fixed_point(), m);
    to.put_multiplier(f.multiplier);
    if (spec.short_form) {
        const int right = std::max(f.right, 1); // for a multiplier of 0 any shift does
        to.put64(2, pot(30) + pot(30 + right));
        to.put(4, right - 1);
    } else {
        to.put(2, half_of_pot(f.right));
        to.put(3, f.right);
    }
}

/// Ties up twice are one shift: (P + 2^30 + 2^(30+e)) >> (31+e), without the second constant for e = 0.
void fill_two_step_up(param_column &to, const rule_spec &spec, const fixed_point_multiplier &m) {
    const factor f = factor_of(spec.fixed_point(), m);
    to.put_multiplier(f.multiplier);
    to.put64(2, pot(63) + pot(30) + (f.right > 0 ? pot(30 + f.right) : 0));
    to.put64(4, 31 + f.right);
    to.put(6, pot(32 - f.right));
}

void fill_legacy_scale(param_column &to, const rule_spec &, const fixed_point_multiplier &m) {
    to.put(0, m.multiplier);
    to.put(1, m.offset);
    to.put(2, half_of_pot(m.shift));
    to.put(3, m.shift);
}

void fill_f64_scale(param_column &to, const rule_spec &spec, double real, std::int32_t zero_point) {
    const bool adds_zero_point = facts_of(spec.rule).real.adds_zero_point;
    if (spec.short_form) {
        to.put64(0, bits(real));
        to.put64(2, bits(adds_zero_point ? zero_point : -0x1p52 * real));
        if (adds_zero_point)
            to.put(4, zero_point);
        return;
    }
    to.put_f64(0, real);
    if (adds_zero_point)
        to.put_f64(2, zero_point);
}

void fill_f64_product(param_column &to, const rule_spec &spec, const fixed_point_multiplier &m) {
    fill_f64_scale(to, spec, std::ldexp(m.multiplier, -m.shift), 0);
}

void fill_double_round(param_column &to, const rule_spec &spec, double real, std::int32_t) {
    int exponent = 0;
    if (spec.real_is_f32)
        to.put_f32(0, std::frexp(static_cast<float>(real), &exponent));
    else
        to.put_f64(0, std::frexp(real, &exponent));
    to.put_f32(spec.real_is_f32 ? 1 : 2, std::ldexp(1.f, exponent));
}

enum class column_order {
    of_columns,
    of_f64
}; ///< of_f64: of emitter::split_lanes, across quarters of a vector

/// The parameter vectors and functions of a rule's code.
struct form {
    int params;
    void (*emit)(const requantize_context &c);
    /// One of them: a column's part of the parameter vectors.
    void (*fill)(param_column &to, const rule_spec &spec, const fixed_point_multiplier &m);
    void (*fill_real)(param_column &to, const rule_spec &spec, double real,
                      std::int32_t zero_point) = nullptr;
    column_order order = column_order::of_columns;
};

constexpr form nothing{0, nullptr, nullptr}; // none, and the float rules

form fixed_point_form(const fixed_point_facts &facts, bool is_short) {
    switch (facts.steps) {
    case rounding_steps::two_steps:
        if (is_short)
            return {5, emit_two_step_short, fill_two_step};
        return facts.last == ties_go::up ? form{7, emit_one_shift, fill_two_step_up}
                                         : form{4, emit_two_step, fill_two_step};
    case rounding_steps::dwords:
        return {4, emit_legacy_scale, fill_legacy_scale};
    case rounding_steps::one_shift:
        break;
    }
    if (facts.last == ties_go::even)
        return is_short ? form{4, emit_f64_product_short, fill_f64_product}
                        : form{2, emit_f64_product, fill_f64_product, nullptr, column_order::of_f64};
    if (is_short)
        return {4, emit_one_shift, fill_one_shift};
    return {wraps_below_zero(facts) ? 7 : 6, emit_one_shift, fill_one_shift};
}

form real_form(const real_facts &facts, const rule_spec &spec) {
    if (facts.steps == real_steps::f64_product && spec.short_form)
        return facts.adds_zero_point ? form{5, emit_f64_sum_short, nullptr, fill_f64_scale}
                                     : form{4, emit_f64_product_short, nullptr, fill_f64_scale};
    if (facts.steps == real_steps::f64_product)
        return {facts.adds_zero_point ? 4 : 2, emit_f64_product, nullptr, fill_f64_scale,
                column_order::of_f64};
    return spec.real_is_f32 ? form{2, emit_double_round, nullptr, fill_double_round}
                            : form{3, emit_double_round, nullptr, fill_double_round, column_order::of_f64};
}

form form_of(const rule_spec &spec) {
    switch (facts_of(spec.rule).parameters) {
    case rule_parameters::multipliers:
        return fixed_point_form(spec.fixed_point(), spec.short_form);
    case rule_parameters::real_scales:
        return real_form(facts_of(spec.rule).real, spec);
    default:
        return nothing;
    }
}

} // namespace

bool wraps_below_zero(const fixed_point_facts &facts) {
    return facts.result == overflow::wraps && facts.last == ties_go::up;
}

rule_spec make_rule_spec(requantization_rule rule, const std::vector<fixed_point_multiplier> &multipliers,
                         bool real_is_f32, bool clamps_negative, const std::vector<double> &real_scales) {
    rule_spec spec;
    spec.rule = rule;
    spec.real_is_f32 = real_is_f32;
    spec.clamps_negative = clamps_negative;
    const fixed_point_facts &facts = spec.fixed_point();
    spec.short_form = is_fixed_point(rule)
                          ? facts.steps != rounding_steps::dwords
                          : takes_real_scales(rule) && takes_short_form(facts_of(rule).real, real_scales);
    for (const fixed_point_multiplier &m : multipliers) {
        const factor f = factor_of(facts, m);
        spec.short_form = spec.short_form && takes_short_form(facts, f);
        spec.shifts_left = spec.shifts_left || f.left > 0;
        spec.has_negative = spec.has_negative || m.multiplier < 0;
    }
    return spec;
}

rule_spec spec_of_factor(requantization_rule rule, fixed_point_multiplier m) {
    if (m.multiplier < 0)
        m.multiplier = wrap(-std::int64_t{m.multiplier});
    return make_rule_spec(rule, {m}, false);
}

/// Left shifts lie in a parameter vector behind those of the form.
int rule_params(const rule_spec &spec) { return form_of(spec).params + (spec.shifts_left ? 1 : 0); }

bool params_are_in_quarters(const rule_spec &spec) { return form_of(spec).order == column_order::of_columns; }

void fill_rule_params(const rule_spec &spec, const fixed_point_multiplier *multipliers,
                      const double *real_scales, const std::int32_t *zero_points, std::uint32_t *params) {
    std::fill_n(params, rule_params(spec) * columns_per_block, 0u);
    const form chosen = form_of(spec);
    for (int i = 0; i < columns_per_block; i++) {
        param_column to(params, i);
        if (chosen.fill_real)
            chosen.fill_real(to, spec, real_scales[i], zero_points ? zero_points[i] : 0);
        if (chosen.fill)
            chosen.fill(to, spec, multipliers[i]);
        if (spec.shifts_left)
            to.put(chosen.params, factor_of(spec.fixed_point(), multipliers[i]).left);
    }
}

void emit_requantize(emitter &e, const rule_spec &spec, const vec &acc,
                     const std::function<vec_operand(int)> &param) {
    const form chosen = form_of(spec);
    if (!chosen.emit)
        return;
    const requantize_context c{e, spec, acc, param};
    // One shift: by 0 first, as saturating twice is saturating once.
    const bool shifts_after = spec.fixed_point().steps == rounding_steps::one_shift;
    if (spec.shifts_left && !shifts_after)
        emit_left_shift(c, param(chosen.params));
    chosen.emit(c);
    if (spec.shifts_left && shifts_after)
        emit_left_shift(c, param(chosen.params));
}

} // namespace octet::impl::jit
