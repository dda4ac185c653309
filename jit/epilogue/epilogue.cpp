#include "jit/epilogue/epilogue.hpp"

#include <algorithm>
#include <cstring>

#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"
#include "common/text.hpp"
#include "jit/epilogue/eltwise.hpp"
#include "jit/epilogue/rounding.hpp"
#include "jit/kernels/byte_table.hpp"

namespace octet::impl::jit {

using Xbyak::Reg64;

namespace {

data_type type_or(data_type type, data_type otherwise) { return type == data_type::undef ? otherwise : type; }

} // namespace

// ---- emission

vec_operand epilogue_emitter::plane(int index, int v) const {
    if (at_.planes_are_invariant)
        return e_.invariant(at_.params, index * plane_bytes);
    const int vectors_per_block = columns_per_block / e_.lanes();
    const int block = v / vectors_per_block, part = v % vectors_per_block;
    return e_
        .ptr[at_.params + (block * plan_.planes().count + index) * plane_bytes + part * e_.vector_bytes()];
}

void epilogue_emitter::to_f32(const vec &x) {
    if (!is_f32_)
        e_.vcvtdq2ps(x, x);
    is_f32_ = true;
}

void epilogue_emitter::to_s32(const vec &x) {
    if (is_f32_)
        emit_saturating_to_s32(e_, x);
    is_f32_ = false;
}

/// Sets reg scratch and returns the displacement such that [scratch + displacement] is the element.
std::int64_t epilogue_emitter::address_of(const Reg64 &base, data_type type, dim_t element) {
    const int size = static_cast<int>(memory::data_type_size(type));
    e_.lea(at_.scratch, e_.ptr[base + at_.row * size]);
    return element * size;
}

/// The element of dst's tensor, or of the tensor of a post-op, that belongs to x.
void epilogue_emitter::load(const vec &y, data_type type, int tensor, const place &at) {
    if (tensor != no_tensor)
        e_.mov(at_.scratch, e_.ptr[at_.full + tensor * 8]);
    const std::int64_t offset = address_of(tensor == no_tensor ? at_.dst : at_.scratch, type, at.element);
    if (type == data_type::u8 || type == data_type::s8)
        e_.load_bytes(y, at_.scratch, offset, at.valid, type == data_type::s8);
    else if (type == data_type::s16)
        e_.load_words(y, at_.scratch, offset, at.valid);
    else
        e_.load_dwords(y, at_.scratch, offset, at.valid);
}

void epilogue_emitter::load_as_f32(const vec &y, data_type type, int tensor, const place &at) {
    load(y, type, tensor, at);
    if (type != data_type::f32)
        e_.vcvtdq2ps(y, y);
}

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

void epilogue_emitter::requantize(const vec &x, int v) {
    const epilogue_plan::plane_indices &p = plan_.planes();
    const requantization_rule rule = plan_.source().rule;
    is_f32_ = false;
    if (!is_float(rule)) {
        emit_requantize(e_, plan_.rule(), x, [&](int i) { return plane(p.rule + i, v); });
        return;
    }
    to_f32(x);
    const bool bias_first = rule == requantization_rule::f32;
    if (p.bias >= 0 && bias_first)
        e_.vaddps(x, x, plane(p.bias, v));
    if (p.scale >= 0)
        e_.vmulps(x, x, plane(p.scale, v));
    if (p.weights_scale >= 0)
        e_.vmulps(x, x, plane(p.weights_scale, v));
    if (p.bias >= 0 && !bias_first)
        e_.vaddps(x, x, plane(p.bias, v));
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

void epilogue_emitter::apply(const post_op::sum &op, const place &at) {
    to_f32(at.x);
    const emitter::temp y(e_);
    load_as_f32(y, type_or(op.type, plan_.source().dst.data_type), no_tensor, at);
    if (op.zero_point != 0)
        e_.vsubps(y, y, e_.constant(static_cast<float>(op.zero_point)));
    if (op.scale == 1.f)
        e_.vaddps(at.x, at.x, y);
    else
        e_.vfmadd231ps(at.x, y, e_.constant(op.scale));
}

void epilogue_emitter::apply(const post_op::eltwise &op, const place &at) {
    to_f32(at.x);
    emit_eltwise(e_, op.algorithm, op.alpha, op.beta, at.x);
    if (op.scale != 1.f)
        e_.vmulps(at.x, at.x, e_.constant(op.scale));
}

void epilogue_emitter::apply(const post_op::binary &op, const place &at) {
    to_f32(at.x);
    const emitter::temp y(e_);
    if (plan_.reads_full_tensor(at.index))
        load_as_f32(y, op.src1.data.data_type, at.index, at);
    else
        e_.move(y, plane(plan_.planes().post_op[at.index], at.v));
    emit_binary(e_, op.algorithm, at.x, y);
}

void epilogue_emitter::apply(const post_op::prelu &, const place &at) {
    to_f32(at.x);
    const emitter::temp scaled(e_), zero(e_);
    const emitter::mask positive(e_);
    e_.vmulps(scaled, at.x, plane(plan_.planes().post_op[at.index], at.v));
    e_.zero(zero);
    e_.compare_f32(positive, at.x, zero, emitter::ge);
    e_.blend(at.x, positive, scaled, at.x);
}

void epilogue_emitter::apply(const post_op::clip &op, const place &at) {
    to_s32(at.x);
    if (op.low != int32_min)
        e_.vpmaxsd(at.x, at.x, e_.constant(static_cast<std::uint32_t>(op.low)));
    if (op.high != int32_max)
        e_.vpminsd(at.x, at.x, e_.constant(static_cast<std::uint32_t>(op.high)));
}

void epilogue_emitter::apply(const post_op::add &op, const place &at) {
    to_s32(at.x);
    const emitter::temp term(e_);
    e_.move(term, e_.constant(static_cast<std::uint32_t>(op.value)));
    saturating_add(at.x, term);
}

/// x by one multiplier for all columns, whose planes lie in the code; a negative one negates the result.
void epilogue_emitter::requantize_signed(const vec &x, requantization_rule rule, fixed_point_multiplier m) {
    const bool negates = m.multiplier < 0;
    if (negates)
        m.multiplier = wrap(-std::int64_t{m.multiplier});
    const rule_spec spec = spec_of_factor(rule, m);
    const std::vector<fixed_point_multiplier> multipliers(columns_per_block, m);
    std::vector<std::uint32_t> planes(static_cast<std::size_t>(rule_planes(spec) * columns_per_block));
    fill_rule_planes(spec, multipliers.data(), nullptr, planes.data());
    emit_requantize(e_, spec, x, [&](int i) {
        const auto first = planes.begin() + i * columns_per_block;
        return e_.constant(std::vector<std::uint32_t>(first, first + e_.lanes()));
    });
    if (negates) {
        const emitter::temp zero(e_);
        e_.zero(zero);
        e_.vpsubd(x, zero, x);
    }
}

void epilogue_emitter::apply(const post_op::rescaled_sum &op, const place &at) {
    to_s32(at.x);
    const emitter::temp y(e_);
    load(y, type_or(op.type, plan_.source().dst.data_type), no_tensor, at);
    if (op.zero_point != 0)
        e_.vpsubd(y, y, e_.constant(static_cast<std::uint32_t>(op.zero_point)));
    requantize_signed(y, op.rule, op.multiplier);
    saturating_add(at.x, y);
}

void epilogue_emitter::apply(const post_op::leaky_relu &op, const place &at) {
    to_s32(at.x);
    const emitter::temp positive(e_), negative(e_);
    e_.move(positive, at.x);
    requantize_signed(positive, op.rule, op.identity);
    e_.move(negative, at.x);
    requantize_signed(negative, op.rule, op.alpha);
    e_.blend_by_sign(at.x, at.x, positive, negative);
}

void epilogue_emitter::apply(const post_op::table &op, const place &at) {
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

void epilogue_emitter::apply(const post_op::qlinear_add &op, const place &at) {
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

void epilogue_emitter::apply(const post_op::scaled_add &op, const place &at) {
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
        return emit_code_sum(e_, sum->ties_away, at.x, d, [&](int plane) {
            return e_.constant(static_cast<std::uint32_t>(code_sum_word(*sum, plane)));
        });
    }
    e_.vpslld(at.x, at.x, add_left_shift);
    requantize_signed(at.x, op.rule, op.multipliers.a);
    if (op.dst_zero_point != 0)
        e_.vpsubd(d, d, e_.constant(static_cast<std::uint32_t>(op.dst_zero_point)));
    e_.vpslld(d, d, add_left_shift);
    requantize_signed(d, op.rule, op.multipliers.b);
    e_.vpaddd(at.x, at.x, d);
    requantize_signed(at.x, op.rule, op.multipliers.dst);
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

/// Destination scale, zero point and conversion to the destination's type; 8- and 16-bit results are left as
/// s32 that packing saturates.
void epilogue_emitter::finish(const place &at) {
    const epilogue_plan::plane_indices &p = plan_.planes();
    const vec &x = at.x;

    if (is_f32_ && p.inverse_dst_scale >= 0)
        e_.vmulps(x, x, plane(p.inverse_dst_scale, at.v));
    if (plan_.source().dst.data_type == data_type::f32) {
        to_f32(x);
        if (p.zero_point >= 0)
            e_.vaddps(x, x, plane(p.zero_point, at.v));
    } else if (is_f32_) {
        finish_f32_as_codes(at);
    } else if (p.zero_point >= 0 && !plan_.bytes().adds_zero_point) { // clamped first: the sum stays in range
        e_.vpmaxsd(x, x, plane(p.low, at.v));
        e_.vpminsd(x, x, plane(p.high, at.v));
        e_.vpaddd(x, x, plane(p.zero_point, at.v));
    }
}

void epilogue_emitter::finish_f32_as_codes(const place &at) {
    const epilogue_plan::plane_indices &p = plan_.planes();
    const data_type type = plan_.source().dst.data_type;
    const vec &x = at.x;
    is_f32_ = false;

    if (plan_.source().rule == requantization_rule::ort_f32) {
        if (p.low >= 0) {
            e_.vmaxps(x, x, plane(p.low, at.v));
            e_.vminps(x, x, plane(p.high, at.v));
        }
        if (type == data_type::s32) {
            is_f32_ = true;
            to_s32(x);
        } else {
            e_.vcvtps2dq(x, x);
        }
        if (p.zero_point >= 0 && !plan_.bytes().adds_zero_point)
            e_.vpaddd(x, x, plane(p.zero_point, at.v));
        return;
    }
    if (p.zero_point >= 0)
        e_.vaddps(x, x, plane(p.zero_point, at.v));
    if (!plan_.is_bounded()) {
        // NaN becomes what down_convert says; below the lower bound the conversion gives INT32_MIN, which
        // saturates.
        if (type == data_type::u8)
            e_.vmaxps(x, x, e_.constant(0.f));
        const float high = type == data_type::s32 ? 2147483520.f : static_cast<float>(range_of(type).high);
        e_.vminps(x, x, e_.constant(high));
    }
    e_.vcvtps2dq(x, x);
}

void epilogue_emitter::compute(const epilogue_result &r) {
    const epilogue_plan::plane_indices &p = plan_.planes();
    if (p.weights_zero_point >= 0) {
        const emitter::temp row_sum(e_);
        e_.vpbroadcastd(row_sum, e_.dword[at_.row_sums + 4 * r.row]);
        e_.vpmulld(row_sum, row_sum, plane(p.weights_zero_point, r.column_vector));
        e_.vpsubd(r.acc, r.acc, row_sum);
    }
    if (r.value == epilogue_stage::accumulator)
        requantize(r.acc, r.column_vector);
    else
        is_f32_ = r.value == epilogue_stage::f32_value;
    for (int i = 0; i < plan_.emitted_post_ops(); i++)
        std::visit(
            [&](const auto &op) {
                apply(op, {r.acc, i, r.column_vector, r.element, r.valid});
            },
            plan_.source().post_ops[i]);
    finish({r.acc, 0, r.column_vector, r.element, r.valid});
}

void epilogue_emitter::store_vector(const epilogue_result &r) {
    const data_type type = plan_.source().dst.data_type;
    const std::int64_t offset = address_of(at_.dst, type, r.element);
    if (type == data_type::s16)
        e_.store_words(at_.scratch, offset, r.acc, r.valid);
    else
        e_.store_dwords(at_.scratch, offset, r.acc, r.valid);
}

/// The table's index is the distance from the lowest code; as a byte this differs from the code in bit 7 if
/// it is signed.
void epilogue_emitter::look_up(const vec &codes, const post_op::table &table) {
    std::uint8_t by_byte[256];
    for (std::size_t i = 0; i < 256; i++)
        by_byte[table.type == data_type::s8 ? i ^ 0x80 : i] = table.entries[i];
    const byte_table prepared(by_byte);
    const bool permutes = e_.isa().byte_permutes;
    std::vector<std::uint32_t> words(256 / 4);
    std::memcpy(words.data(), permutes ? prepared.entries : prepared.differences, 256);
    e_.lea(at_.scratch, e_.table(words));
    if (permutes) {
        const emitter::temp p0(e_), p2(e_);
        e_.move(p0, e_.ptr[at_.scratch]);
        e_.move(p2, e_.ptr[at_.scratch + 128]);
        return emit_byte_permutes(e_, codes, p0, e_.ptr[at_.scratch + 64], p2, e_.ptr[at_.scratch + 192]);
    }
    emit_byte_shuffles(e_, codes, [&](int i, const vec &to) -> const vec & {
        load_byte_part(e_, to, e_.ptr[at_.scratch + 16 * i]);
        return to;
    });
}

/// Up to four vectors become one of codes, quarter by quarter; quarters that are neighbours in dst are stored
/// together. Packing saturates, which is all the clamping that most results need.
void epilogue_emitter::store_bytes(const epilogue_result *results, int count, const vec &order) {
    const epilogue_plan::byte_stage &stage = plan_.bytes();
    const data_type type = plan_.source().dst.data_type;
    const bool is_signed = type == data_type::s8;
    const auto acc = [&](int i) -> const vec & { return results[std::min(i, count - 1)].acc; };
    const vec &words = acc(0), &upper_words = acc(2);

    e_.vpackssdw(words, words, acc(1));
    if (count > 2)
        e_.vpackssdw(upper_words, upper_words, acc(3));
    if (stage.adds_zero_point) {
        e_.vpaddsw(words, words, plane(plan_.planes().zero_point, 0));
        if (count > 2)
            e_.vpaddsw(upper_words, upper_words, plane(plan_.planes().zero_point, 0));
    }
    if (stage.added != 0) {
        const auto added = static_cast<std::uint32_t>(stage.added) & 0xffff;
        e_.vpaddsw(words, words, e_.constant(added * 0x10001u));
        if (count > 2)
            e_.vpaddsw(upper_words, upper_words, e_.constant(added * 0x10001u));
    }
    const vec &second = count > 2 ? upper_words : words;
    is_signed ? e_.vpacksswb(words, words, second) : e_.vpackuswb(words, words, second);
    const type_range range = range_of(type);
    const auto clamp = [&](int code) {
        return e_.constant(static_cast<std::uint32_t>(code & 0xff) * 0x01010101u);
    };
    if (stage.low > range.low)
        is_signed ? e_.vpmaxsb(words, words, clamp(stage.low)) : e_.vpmaxub(words, words, clamp(stage.low));
    if (stage.high < range.high)
        is_signed ? e_.vpminsb(words, words, clamp(stage.high)) : e_.vpminub(words, words, clamp(stage.high));
    if (stage.table >= 0)
        look_up(words,
                std::get<post_op::table>(plan_.source().post_ops[static_cast<std::size_t>(stage.table)]));
    if (!at_.are_interleaved)
        e_.permute_dwords(words, order, words);

    e_.lea(at_.scratch, e_.ptr[at_.dst + at_.row]);
    for (int first = 0, last; first < count; first = last) {
        for (last = first + 1; last < count &&
                               results[last].element == results[last - 1].element + e_.lanes() &&
                               results[last - 1].valid == e_.lanes();)
            last++;
        e_.store_quarters(at_.scratch, results[first].element, words, first, last - first,
                          results[last - 1].valid);
    }
}

void epilogue_emitter::emit(const std::vector<epilogue_result> &results) {
    if (!plan_.bytes().is_used) {
        for (const epilogue_result &r : results) {
            compute(r);
            store_vector(r);
        }
        return;
    }
    constexpr int vectors_per_store = 4;
    const emitter::temp order(e_);
    e_.move(order, e_.quarters_order());
    for (std::size_t i = 0; i < results.size(); i += vectors_per_store) {
        const int count = static_cast<int>(std::min<std::size_t>(vectors_per_store, results.size() - i));
        for (int k = 0; k < count; k++)
            compute(results[i + static_cast<std::size_t>(k)]);
        store_bytes(&results[i], count, order);
    }
}

} // namespace octet::impl::jit
