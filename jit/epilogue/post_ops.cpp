// The post-ops for one vector, each the twin of the overload of the same name in common/bound_epilogue.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/element.hpp"
#include "common/post_ops.hpp"
#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"
#include "jit/epilogue/code_sum_emitter.hpp"
#include "jit/epilogue/eltwise.hpp"
#include "jit/epilogue/eltwise_ort.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/epilogue/rules_emitter.hpp"

namespace octet::impl::jit {

namespace {

data_type type_or(data_type type, data_type otherwise) { return type == data_type::undef ? otherwise : type; }

} // namespace

/// x + term without overflow: the sum keeps the sign of the operands where both agree.
void epilogue_emitter::saturating_add(const vec &x, const vec &term) {
    // overflow where x and term have one sign and the sum another; the saturated value has x's sign
    const emitter::temp sum(e_), saturated(e_);
    e_.vpaddd(sum, x, term);
    e_.vpxor_(saturated, sum, x);
    e_.vpxor_(term, sum, term);
    e_.vpand_(term, term, saturated); // sign bit: overflow
    e_.vpsrad(term, term, 31);
    e_.vpsrad(saturated, x, 31);
    e_.vpxor_(saturated, saturated, e_.constant(static_cast<std::uint32_t>(int32_max)));
    e_.vpand_(saturated, saturated, term);
    e_.vpandn_(sum, term, sum);
    e_.vpor_(x, sum, saturated);
}

namespace {

emitter::compare_predicate predicate_of(algorithm alg) {
    switch (alg) {
    case algorithm::binary_ge:
        return emitter::nlt;
    case algorithm::binary_gt:
        return emitter::nle;
    case algorithm::binary_le:
        return emitter::le;
    case algorithm::binary_lt:
        return emitter::lt;
    case algorithm::binary_eq:
        return emitter::eq;
    default:
        return emitter::ne;
    }
}

} // namespace

void emit_binary(emitter &e, algorithm alg, const vec &x, const Xbyak::Operand &y) {
    switch (alg) {
    case algorithm::binary_add:
        e.vaddps(x, x, y);
        return;
    case algorithm::binary_sub:
        e.vsubps(x, x, y);
        return;
    case algorithm::binary_mul:
        e.vmulps(x, x, y);
        return;
    case algorithm::binary_div:
        e.vdivps(x, x, y);
        return;
    case algorithm::binary_max:
        e.vmaxps(x, x, y);
        return;
    case algorithm::binary_min:
        e.vminps(x, x, y);
        return;
    default:
        break;
    }
    const emitter::temp one(e);
    const emitter::mask m(e);
    e.compare_f32(m, x, y, predicate_of(alg));
    e.zero(x);
    e.move(one, e.constant(1.f));
    e.blend(x, m, x, one);
}

template <> void epilogue_emitter::apply(const post_op::sum &op, const context &at) {
    to_f32(at.x);
    const emitter::temp y(e_);
    load_as_f32(y, type_or(op.type, plan_.source().dst.data_type), no_tensor, at);
    if (op.zero_point != 0)
        e_.vsubps(y, y, e_.constant(static_cast<float>(op.zero_point)));
    if (op.scale == 1.f)
        e_.vaddps(at.x, y, at.x); // if both are NaN, dst's payload stays, as in a fused multiply-add
    else
        e_.vfmadd231ps(at.x, y, e_.constant(op.scale));
}

template <> void epilogue_emitter::apply(const post_op::eltwise &op, const context &at) {
    to_f32(at.x);
    emit_eltwise(e_, op.algorithm, op.alpha, op.beta, at.x);
    if (op.scale != 1.f)
        e_.vmulps(at.x, at.x, e_.constant(op.scale));
}

template <> void epilogue_emitter::apply(const post_op::binary &op, const context &at) {
    to_f32(at.x);
    const emitter::temp y(e_);
    if (plan_.reads_row_value(at.index))
        load_row_value(y, op.src1.data.data_type, at.index);
    else if (plan_.reads_full_tensor(at.index) || plan_.reads_row_tensor(at.index))
        load_as_f32(y, op.src1.data.data_type, at.index, at);
    else
        e_.move(y, param(plan_.params().post_op[at.index], at.v));
    emit_binary(e_, op.algorithm, at.x, y);
}

template <> void epilogue_emitter::apply(const post_op::prelu &, const context &at) {
    to_f32(at.x);
    const emitter::temp scaled(e_), zero(e_);
    const emitter::mask positive(e_);
    e_.vmulps(scaled, at.x, param(plan_.params().post_op[at.index], at.v));
    e_.zero(zero);
    e_.compare_f32(positive, at.x, zero, emitter::ge);
    e_.blend(at.x, positive, scaled, at.x);
}

template <> void epilogue_emitter::apply(const post_op::clip &op, const context &at) {
    to_s32(at.x);
    if (op.low != int32_min)
        e_.vpmaxsd(at.x, at.x, e_.constant(static_cast<std::uint32_t>(op.low)));
    if (op.high != int32_max)
        e_.vpminsd(at.x, at.x, e_.constant(static_cast<std::uint32_t>(op.high)));
}

template <> void epilogue_emitter::apply(const post_op::add &op, const context &at) {
    to_s32(at.x);
    const emitter::temp term(e_);
    e_.move(term, e_.constant(static_cast<std::uint32_t>(op.value)));
    saturating_add(at.x, term);
}

/// x by one multiplier for all columns, whose parameter vectors lie in the code; a negative one negates the result.
void epilogue_emitter::requantize_signed(const vec &x, requantization_rule rule, fixed_point_multiplier m) {
    const bool negates = m.multiplier < 0;
    if (negates)
        m.multiplier = wrap(-std::int64_t{m.multiplier});
    const rule_spec spec = spec_of_factor(rule, m);
    const std::vector<fixed_point_multiplier> multipliers(columns_per_block, m);
    std::vector<std::uint32_t> params(static_cast<std::size_t>(rule_params(spec) * columns_per_block));
    fill_rule_params(spec, multipliers.data(), nullptr, nullptr, params.data());
    emit_requantize(e_, spec, x, [&](int i) {
        const auto first = params.begin() + i * columns_per_block;
        return e_.constant(std::vector<std::uint32_t>(first, first + e_.lanes()));
    });
    if (negates) {
        const emitter::temp zero(e_);
        e_.zero(zero);
        e_.vpsubd(x, zero, x);
    }
}

template <> void epilogue_emitter::apply(const post_op::rescaled_sum &op, const context &at) {
    to_s32(at.x);
    const emitter::temp y(e_);
    load(y, type_or(op.type, plan_.source().dst.data_type), no_tensor, at);
    if (op.zero_point != 0)
        e_.vpsubd(y, y, e_.constant(static_cast<std::uint32_t>(op.zero_point)));
    requantize_signed(y, op.rule, op.multiplier);
    saturating_add(at.x, y);
}

template <> void epilogue_emitter::apply(const post_op::leaky_relu &op, const context &at) {
    to_s32(at.x);
    const emitter::temp positive(e_), negative(e_);
    e_.move(positive, at.x);
    requantize_signed(positive, op.rule, op.identity);
    e_.move(negative, at.x);
    requantize_signed(negative, op.rule, op.alpha);
    e_.blend_by_sign(at.x, at.x, positive, negative);
}

template <> void epilogue_emitter::apply(const post_op::table &op, const context &at) {
    to_s32(at.x);
    const type_range range = range_of(op.type);
    std::vector<std::uint32_t> entries;
    for (int i = 0; i < 256; i++)
        entries.push_back(static_cast<std::uint32_t>(load_s32(op.entries.data(), op.type, i)));
    e_.vpmaxsd(at.x, at.x, e_.constant(static_cast<std::uint32_t>(range.low)));
    e_.vpminsd(at.x, at.x, e_.constant(static_cast<std::uint32_t>(range.high)));
    e_.vpsubd(at.x, at.x, e_.constant(static_cast<std::uint32_t>(range.low)));
    e_.lea(at_.scratch, e_.table(entries));
    const emitter::temp y(e_);
    e_.gather_dwords(y, at_.scratch, at.x, 4);
    e_.move(at.x, y);
}

template <> void epilogue_emitter::apply(const post_op::qlinear_add &op, const context &at) {
    const data_type type = plan_.source().dst.data_type;
    to_code(at.x, type, op.zero_point);
    const emitter::temp d(e_), inner(e_);
    load_as_f32(d, type, no_tensor, at);
    const vec &first = op.is_second ? at.x : d, &last = op.is_second ? d : at.x;
    const float first_scale = op.is_second ? op.scale : op.dst_scale,
                last_scale = op.is_second ? op.dst_scale : op.scale;
    e_.move(inner, e_.constant(op.shift));
    e_.vfmadd231ps(inner, first, e_.constant(first_scale));
    e_.vfmadd132ps(last, inner, e_.constant(last_scale));
    if (op.is_second)
        e_.move(at.x, last);
}

template <> void epilogue_emitter::apply(const post_op::scaled_add &op, const context &at) {
    const type_range range = range_of(plan_.source().dst.data_type);
    const auto limit = [&](int code) {
        return e_.constant(static_cast<std::uint32_t>(code - op.zero_point));
    };
    to_s32(at.x);
    e_.vpmaxsd(at.x, at.x, limit(range.low));
    e_.vpminsd(at.x, at.x, limit(range.high));
    const emitter::temp d(e_);
    load(d, plan_.source().dst.data_type, no_tensor, at);
    if (const auto &sum = plan_.sum_of_codes(at.index)) {
        return emit_code_sum(e_, sum->ties_away, at.x, d, [&](int param) {
            return e_.constant(static_cast<std::uint32_t>(code_sum_word(*sum, param)));
        });
    }
    const auto constant = [&](std::int32_t x) { return e_.constant(static_cast<std::uint32_t>(x)); };
    if (is_xnnpack(op.rule)) {
        const int shift = op.multipliers.dst.shift;
        if (op.dst_zero_point != 0)
            e_.vpsubd(d, d, constant(op.dst_zero_point));
        e_.vpmulld(at.x, at.x, constant(op.multipliers.a.multiplier));
        e_.vpmulld(d, d, constant(op.multipliers.b.multiplier));
        e_.vpaddd(at.x, at.x, d);
        e_.vpaddd(at.x, at.x, constant(1 << (shift - 1)));
        e_.vpsrad(at.x, at.x, shift);
        return;
    }
    e_.vpslld(at.x, at.x, add_left_shift);
    requantize_signed(at.x, op.rule, op.multipliers.a);
    if (op.dst_zero_point != 0)
        e_.vpsubd(d, d, constant(op.dst_zero_point));
    e_.vpslld(d, d, add_left_shift);
    requantize_signed(d, op.rule, op.multipliers.b);
    e_.vpaddd(at.x, at.x, d);
    requantize_signed(at.x, op.rule, op.multipliers.dst);
}

/// Never reached: operations refuse chains with one, and a convolution cuts its chain there.
template <> void epilogue_emitter::apply(const post_op::depthwise &, const context &) {}

namespace {

/// A function whose steps wait for each other takes longer than its operations do: several vectors go through
/// it side by side.
bool is_long(const post_op_entry &op) {
    const post_op::eltwise *f = function_of(op);
    return f && f->algorithm == algorithm::eltwise_ort_gelu_erf && f->scale == 1.f;
}

} // namespace

/// Returns how many vectors a long post-op works on at once: with 32 registers as many as pay, or as the tile
/// leaves registers for; else one.
std::size_t epilogue_emitter::vectors_side_by_side() const {
    constexpr int most = 3, registers_of_each = 5;
    const auto &ops = plan_.source().post_ops;
    if (e_.vector_count() < 32 || std::none_of(ops.begin(), ops.begin() + plan_.emitted_post_ops(), is_long))
        return 1;
    return static_cast<std::size_t>(std::clamp((e_.free_vecs() - 1) / registers_of_each, 1, most));
}

void epilogue_emitter::apply_post_op(int index, const epilogue_result *results, std::size_t count) {
    const post_op_entry &entry = plan_.source().post_ops[index];
    if (is_long(entry)) {
        std::vector<vec> x;
        each(results, count, [&](const epilogue_result &r) { to_f32(x.emplace_back(r.acc)); });
        return emit_ort_gelu_erf(e_, x);
    }
    each(results, count, [&](const epilogue_result &r) {
        const context at{r.acc, index, r.column_vector, r.element, r.valid};
        std::visit([&](const auto &op) { apply(op, at); }, entry);
    });
}

/// The code that x would be stored as, as f32. Adding 1.5 * 2^23 leaves no bits below the units, so it rounds
/// to nearest even.
void epilogue_emitter::to_code(const vec &x, data_type type, std::int32_t zero_point) {
    const type_range range = range_of(type);
    const int low = range.low - zero_point, high = range.high - zero_point;
    if (is_f32_) {
        constexpr float rounding = 0x1.8p23f;
        e_.vmaxps(x, x, e_.constant(static_cast<float>(low))); // NaN gives the lowest code
        e_.vminps(x, x, e_.constant(static_cast<float>(high)));
        e_.vaddps(x, x, e_.constant(rounding));
        e_.vsubps(x, x, e_.constant(rounding - static_cast<float>(zero_point)));
    } else {
        e_.vpmaxsd(x, x, e_.constant(static_cast<std::uint32_t>(low)));
        e_.vpminsd(x, x, e_.constant(static_cast<std::uint32_t>(high)));
        if (zero_point != 0)
            e_.vpaddd(x, x, e_.constant(static_cast<std::uint32_t>(zero_point)));
        to_f32(x);
    }
    is_f32_ = true;
}

} // namespace octet::impl::jit
