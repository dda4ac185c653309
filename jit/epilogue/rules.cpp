// Which form of code a rule takes for given multipliers, and the constants in its planes. The code itself,
// and what each plane holds, is in requantize_code.hpp.

#include "jit/epilogue/rules.hpp"

#include <algorithm>
#include <cmath>

#include "common/bits.hpp"
#include "common/requantize.hpp"
#include "jit/epilogue/rules_code.hpp"

namespace octet::impl::jit {

namespace {

using rules = requantization_rule;

/// 2^exponent; padding columns may ask for anything.
std::uint64_t pot(int exponent) { return std::uint64_t{1} << std::clamp(exponent, 0, 63); }
/// What makes a shift by `exponent` round to nearest.
std::uint64_t half_of_pot(int exponent) { return exponent > 0 ? pot(exponent - 1) : 0; }

/// One column of a block's planes.
class plane_column {
public:
    plane_column(std::uint32_t *planes, int column) : planes_(planes), column_(column) {}

    void put(int plane, std::int64_t x) { word(plane, column_) = static_cast<std::uint32_t>(x); }
    void put_f32(int plane, float x) { put(plane, bits(x)); }
    void put_multiplier(std::int32_t q) {
        put(0, q);
        if (column_ % 2 == 1)
            word(1, column_ - 1) = static_cast<std::uint32_t>(q);
    }
    void put64(int plane, std::uint64_t x) { put64(plane + column_ % 2, column_ / 2, x); }
    void put_f64(int plane, double x) {
        put64(plane + column_ / 4 % 2, column_ / 8 * 4 + column_ % 4, bits(x));
    }

private:
    std::uint32_t &word(int plane, int lane) { return planes_[plane * columns_per_block + lane]; }
    void put64(int plane, int lane, std::uint64_t x) {
        word(plane, 2 * lane) = static_cast<std::uint32_t>(x);
        word(plane, 2 * lane + 1) = static_cast<std::uint32_t>(x >> 32);
    }

    std::uint32_t *planes_;
    int column_;
};

bool is_one_shift(rules rule) {
    return rule == rules::tflite_1step || rule == rules::tflite_single_rounding ||
           rule == rules::rounded_shift || rule == rules::qnnpack_avgpool;
}
bool is_two_step(rules rule) {
    return rule == rules::tflite_2step || rule == rules::caffe2_2step || rule == rules::gemmlowp_fixedpoint ||
           rule == rules::gemmlowp_fixedpoint_exponent;
}

/// A column's multiplier and shifts as the code does them, neither count negative for valid multipliers.
struct factor {
    std::int32_t multiplier;
    int left, right;
};

factor factor_of(rules rule, fixed_point_multiplier m) {
    if (is_two_step(rule)) {
        const bool is_left = rule == rules::tflite_2step || rule == rules::gemmlowp_fixedpoint_exponent;
        return {m.multiplier, is_left ? std::max(m.shift, 0) : 0, is_left ? std::max(-m.shift, 0) : m.shift};
    }
    factor f{m.multiplier, 0, is_tflite(rule) ? 31 - m.shift : m.shift};
    if (!is_one_shift(rule))
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

/// Where the short form is exact.
bool takes_short_form(rules rule, const factor &f) {
    if (is_two_step(rule))
        return f.multiplier == 0 || (f.multiplier > 0 && f.right >= 1);
    return is_one_shift(rule) && f.right >= 33;
}

void fill_one_shift(plane_column &to, const rule_spec &spec, const factor &f) {
    to.put_multiplier(f.multiplier);
    if (spec.short_form) {
        to.put(2, half_of_pot(f.right - 32));
        to.put(3, f.right - 32);
        return;
    }
    const bool wraps = is_tflite(spec.rule);
    to.put64(2, half_of_pot(f.right) + (wraps ? pot(63) : 0));
    to.put64(4, f.right);
    if (wraps)
        to.put(6, pot(63 - f.right));
}

void fill_two_step(plane_column &to, const rule_spec &spec, const factor &f) {
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

void fill_legacy_scale(plane_column &to, const fixed_point_multiplier &m) {
    to.put(0, m.multiplier);
    to.put(1, m.offset);
    to.put(2, half_of_pot(m.shift));
    to.put(3, m.shift);
}

void fill_double_round(plane_column &to, bool real_is_f32, double real) {
    int exponent = 0;
    if (real_is_f32)
        to.put_f32(0, std::frexp(static_cast<float>(real), &exponent));
    else
        to.put_f64(0, std::frexp(real, &exponent));
    to.put_f32(real_is_f32 ? 1 : 2, std::ldexp(1.f, exponent));
}

enum class plane_order {
    of_columns,
    of_f64
}; ///< of_f64: of emitter::split_lanes, across quarters of a vector

/// What a rule's code takes.
struct form {
    int planes;
    void (*emit)(const requantize_context &c);
    plane_order order = plane_order::of_columns;
};

form form_of(const rule_spec &spec) {
    const bool is_short = spec.short_form;
    switch (spec.rule) {
    case rules::tflite_single_rounding:
    case rules::tflite_1step:
        return {is_short ? 4 : 7, emit_one_shift};
    case rules::rounded_shift:
        return {is_short ? 4 : 6, emit_one_shift};
    case rules::qnnpack_avgpool:
        return {is_short ? 4 : 6, emit_one_shift};
    case rules::tflite_2step:
    case rules::caffe2_2step:
    case rules::gemmlowp_fixedpoint:
    case rules::gemmlowp_fixedpoint_exponent:
        return {is_short ? 5 : 4, is_short ? emit_two_step_short : emit_two_step};
    case rules::gemmlowp_legacy_scale:
        return {4, emit_legacy_scale};
    case rules::ev_rte15:
    case rules::f64_scale:
        return {2, emit_f64_product, plane_order::of_f64};
    case rules::caffe_double_round:
        return spec.real_is_f32 ? form{2, emit_double_round}
                                : form{3, emit_double_round, plane_order::of_f64};
    default:
        return {0, nullptr}; // none, and the float rules
    }
}

} // namespace

std::string refuses_multipliers(requantization_rule, const std::vector<fixed_point_multiplier> &) {
    return {};
}

rule_spec make_rule_spec(requantization_rule rule, const std::vector<fixed_point_multiplier> &multipliers,
                         bool real_is_f32, bool clamps_negative) {
    rule_spec spec;
    spec.rule = rule;
    spec.real_is_f32 = real_is_f32;
    spec.clamps_negative = clamps_negative;
    spec.short_form = is_one_shift(rule) || is_two_step(rule);
    for (const fixed_point_multiplier &m : multipliers) {
        const factor f = factor_of(rule, m);
        spec.short_form = spec.short_form && takes_short_form(rule, f);
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

/// Left shifts lie in a plane behind those of the form.
int rule_planes(const rule_spec &spec) { return form_of(spec).planes + (spec.shifts_left ? 1 : 0); }

bool planes_are_in_quarters(const rule_spec &spec) { return form_of(spec).order == plane_order::of_columns; }

void fill_rule_planes(const rule_spec &spec, const fixed_point_multiplier *multipliers,
                      const double *real_scales, std::uint32_t *planes) {
    std::fill_n(planes, rule_planes(spec) * columns_per_block, 0u);
    for (int i = 0; i < columns_per_block; i++) {
        plane_column to(planes, i);
        if (spec.rule == rules::caffe_double_round) {
            fill_double_round(to, spec.real_is_f32, real_scales[i]);
        } else if (spec.rule == rules::f64_scale) {
            to.put_f64(0, real_scales[i]);
        } else if (spec.rule == rules::ev_rte15) {
            to.put_f64(0, std::ldexp(multipliers[i].multiplier, -multipliers[i].shift));
        } else if (spec.rule == rules::gemmlowp_legacy_scale) {
            fill_legacy_scale(to, multipliers[i]);
        } else if (is_one_shift(spec.rule) || is_two_step(spec.rule)) {
            const factor f = factor_of(spec.rule, multipliers[i]);
            (is_two_step(spec.rule) ? fill_two_step : fill_one_shift)(to, spec, f);
            if (spec.shifts_left)
                to.put(form_of(spec).planes, f.left);
        }
    }
}

void emit_requantize(emitter &e, const rule_spec &spec, const vec &acc,
                     const std::function<vec_operand(int)> &plane) {
    const form chosen = form_of(spec);
    if (!chosen.emit)
        return;
    const requantize_context c{e, spec, acc, plane};
    const bool shifts_after =
        spec.rule == rules::rounded_shift; // by 0 first: saturating twice is saturating once
    if (spec.shifts_left && !shifts_after)
        emit_left_shift(c, plane(chosen.planes));
    chosen.emit(c);
    if (spec.shifts_left && shifts_after)
        emit_left_shift(c, plane(chosen.planes));
}

} // namespace octet::impl::jit
