// The end of an epilogue: the destination's scale and zero point, the conversion to its type, and the store.
// Codes of 8 bits are finished and stored four vectors at a time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "common/bits.hpp"
#include "common/element.hpp"
#include "jit/epilogue/byte_lookup.hpp"
#include "jit/epilogue/byte_table.hpp"
#include "jit/epilogue/epilogue.hpp"

namespace octet::impl::jit {

/// Destination scale, zero point and conversion to the destination's type; 8- and 16-bit results are left as
/// s32 that packing saturates.
void epilogue_emitter::finish(const context &at) {
    const epilogue_plan::param_indices &p = plan_.params();
    const vec &x = at.x;

    if (is_f32_ && p.inverse_dst_scale >= 0)
        e_.vmulps(x, x, param(p.inverse_dst_scale, at.v));
    if (is_real(plan_.source().dst.data_type)) {
        to_f32(x);
        if (p.zero_point >= 0)
            e_.vaddps(x, x, param(p.zero_point, at.v));
    } else if (is_f32_) {
        finish_f32_as_codes(at);
    } else if (p.zero_point >= 0 && !plan_.bytes().adds_zero_point) { // clamped first: the sum stays in range
        e_.vpmaxsd(x, x, param(p.low, at.v));
        e_.vpminsd(x, x, param(p.high, at.v));
        e_.vpaddd(x, x, param(p.zero_point, at.v));
    }
}

void epilogue_emitter::finish_f32_as_codes(const context &at) {
    const epilogue_plan::param_indices &p = plan_.params();
    const data_type type = plan_.source().dst.data_type;
    const vec &x = at.x;
    is_f32_ = false;

    if (facts_of(plan_.source().rule).f32.rounds_before_zero_point) {
        if (p.low >= 0) {
            e_.vmaxps(x, x, param(p.low, at.v));
            e_.vminps(x, x, param(p.high, at.v));
        }
        if (type == data_type::s32 && p.zero_point >= 0)
            return add_zero_point_exactly(at);
        if (type == data_type::s32) {
            is_f32_ = true;
            to_s32(x);
        } else {
            e_.vcvtps2dq(x, x);
        }
        if (p.zero_point >= 0 && !plan_.bytes().adds_zero_point)
            e_.vpaddd(x, x, param(p.zero_point, at.v));
        return;
    }
    if (p.zero_point >= 0)
        e_.vaddps(x, x, param(p.zero_point, at.v));
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

/// The rounded value and its zero point both have up to 33 bits: f64 adds them exactly, and what lies below -2^31
/// becomes -2^31 by itself.
void epilogue_emitter::add_zero_point_exactly(const context &at) {
    const vec &x = at.x;
    const emitter::temp rest(e_), zero_point(e_), zero_point_rest(e_);
    e_.round_f32(x, x, emitter::to_even);
    e_.move(zero_point, param(plan_.params().zero_point, at.v));
    e_.split_lanes(x, rest);
    e_.split_lanes(zero_point, zero_point_rest);
    for (const int half : {0, 1}) {
        const vec &y = half == 0 ? x : static_cast<const vec &>(rest);
        const vec &z =
            half == 0 ? static_cast<const vec &>(zero_point) : static_cast<const vec &>(zero_point_rest);
        e_.vcvtps2pd(y, e_.half_of(y));
        e_.vcvtdq2pd(z, e_.half_of(z));
        e_.vaddpd(y, y, z);
        e_.vminpd(y, y, e_.constant64(bits(2147483647.)));
        e_.vcvtpd2dq(e_.half_of(y), y);
    }
    e_.join_lanes(x, rest);
}

void epilogue_emitter::store_vector(const epilogue_result &r) {
    const data_type type = plan_.source().dst.data_type;
    const std::int64_t offset = address_of(at_.dst, type, r.element);
    if (is_small_float(type))
        e_.f32_to_words(r.acc, type == data_type::f16);
    if (memory::data_type_size(type) == 2)
        e_.store_words(at_.scratch, offset, r.acc, r.valid);
    else
        e_.store_dwords(at_.scratch, offset, r.acc, r.valid);
}

/// The table's index is the distance from the lowest code; as a byte this differs from the code in bit 7 if
/// it is signed.
void epilogue_emitter::look_up(const vec &codes, const post_op_entry &entry) {
    const auto &table = *table_of(entry);
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
        e_.vpaddsw(words, words, param(plan_.params().zero_point, 0));
        if (count > 2)
            e_.vpaddsw(upper_words, upper_words, param(plan_.params().zero_point, 0));
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
        look_up(words, plan_.source().post_ops[static_cast<std::size_t>(stage.table)]);
    between();
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

} // namespace octet::impl::jit
