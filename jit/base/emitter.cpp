// Registers, constants and arithmetic of vectors, each in the encodings that levels have.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/emitter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "common/bits.hpp"
#include "jit/base/record.hpp"

namespace octet::impl::jit {

using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

emitter::emitter(instruction_set isa, purpose what_for)
    : CodeGenerator(max_code_bytes, code_buffer::bytes()), isa_(isa), zmm_(isa.lanes() == 16) {
    const int all = what_for == purpose::dry_run ? 3 * vector_count() : vector_count();
    for (int i = all - 1; i >= 0; i--)
        free_vecs_.push_back(i % vector_count());
    all_vecs_ = fewest_free_ = free_vecs();
    for (int i = 4; i >= 1; i--)
        free_masks_.push_back(i);
}

std::shared_ptr<const void> emitter::finish(const std::string &name) {
    for (auto &[words, label] : constants_) {
        align(64);
        L(label);
        for (const std::uint32_t w : words)
            dd(w);
    }
    if (hasUndefinedLabel())
        throw Xbyak::Error(Xbyak::ERR_LABEL_IS_NOT_FOUND);
    std::shared_ptr<const void> code = make_executable(getCode(), getSize(), is_recorded());
    record_code(name, code.get(), getSize());
    return code;
}

// ---- registers

vec emitter::take_vec() {
    if (free_vecs_.empty())
        throw std::logic_error("octet jit: out of vector registers");
    const int index = free_vecs_.back();
    free_vecs_.pop_back();
    fewest_free_ = std::min(fewest_free_, free_vecs());
    return vec(zmm_ ? Operand::ZMM : Operand::YMM, index);
}
void emitter::give_vec(const vec &v) { free_vecs_.push_back(v.getIdx()); }

emitter::mask::mask(emitter &e) : e_(e) {
    if (e.zmm_) {
        if (e.free_masks_.empty())
            throw std::logic_error("octet jit: out of mask registers");
        k_ = Xbyak::Opmask(e.free_masks_.back());
        e.free_masks_.pop_back();
    } else {
        v_ = e.take_vec();
    }
}
emitter::mask::~mask() {
    if (e_.zmm_)
        e_.free_masks_.push_back(k_.getIdx());
    else
        e_.give_vec(v_);
}

// ---- vectors that are read

vec_operand emitter::constant(std::uint32_t bits) {
    return constant(std::vector<std::uint32_t>(static_cast<std::size_t>(lanes()), bits));
}
vec_operand emitter::constant(float value) { return constant(bits(value)); }
vec_operand emitter::constant64(std::uint64_t bits) {
    std::vector<std::uint32_t> words;
    for (int i = 0; i < lanes() / 2; i++) {
        words.push_back(static_cast<std::uint32_t>(bits));
        words.push_back(static_cast<std::uint32_t>(bits >> 32));
    }
    return constant(words);
}
vec_operand emitter::constant(const std::vector<std::uint32_t> &words) { return operand_of({words, 0, 0}); }
vec_operand emitter::invariant(const Reg64 &base, int offset) {
    return operand_of({{}, base.getIdx(), offset});
}

vec_operand emitter::operand_of(const read &r) {
    reads_[r]++;
    const auto held = held_.find(r);
    return held == held_.end() ? vec_operand(address_of(r)) : vec_operand(held->second);
}
Address emitter::address_of(const read &r) {
    return r.words.empty() ? ptr[Reg64(r.base) + r.offset] : ptr[rip + constants_[r.words]];
}

Address emitter::table(const std::vector<std::uint32_t> &values) {
    std::vector<std::uint32_t> words = values;
    while (words.size() % static_cast<std::size_t>(lanes()) != 0)
        words.push_back(0);
    return ptr[rip + constants_[words]];
}

void emitter::start_again() {
    to_hold_.clear();
    for (const auto &[r, times] : reads_)
        to_hold_.push_back(r);
    std::stable_sort(to_hold_.begin(), to_hold_.end(),
                     [this](const read &a, const read &b) { return reads_[a] > reads_[b]; });
    to_hold_.resize(std::min(to_hold_.size(), static_cast<std::size_t>(fewest_free_)));
    reset();
    constants_.clear();
}

void emitter::hold_reads() {
    for (const read &r : to_hold_) {
        const vec v = take_vec();
        move(v, address_of(r));
        held_.emplace(r, v);
    }
}

// ---- bitwise and moves

void emitter::vpxor_(const vec &dst, const vec &a, const Operand &b) {
    zmm_ ? vpxord(dst, a, b) : vpxor(dst, a, b);
}
void emitter::vpand_(const vec &dst, const vec &a, const Operand &b) {
    zmm_ ? vpandd(dst, a, b) : vpand(dst, a, b);
}
void emitter::vpandn_(const vec &dst, const vec &a, const Operand &b) {
    zmm_ ? vpandnd(dst, a, b) : vpandn(dst, a, b);
}
void emitter::vpor_(const vec &dst, const vec &a, const Operand &b) {
    zmm_ ? vpord(dst, a, b) : vpor(dst, a, b);
}
void emitter::move(const vec &dst, const Operand &src) { vmovups(dst, src); }

// ---- compare and select

void emitter::compare_f32(const mask &m, const vec &a, const Operand &b, compare_predicate p) {
    zmm_ ? vcmpps(m.k_, a, b, p) : vcmpps(m.v_, a, b, p);
}
void emitter::compare_s32_gt(const mask &m, const vec &a, const vec &b) {
    zmm_ ? vpcmpgtd(m.k_, a, b) : vpcmpgtd(m.v_, a, b);
}
void emitter::compare_s32_eq(const mask &m, const vec &a, const vec &b) {
    zmm_ ? vpcmpeqd(m.k_, a, b) : vpcmpeqd(m.v_, a, b);
}
void emitter::compare_f64(const mask &m, const vec &a, const Operand &b, compare_predicate p) {
    zmm_ ? vcmppd(m.k_, a, b, p) : vcmppd(m.v_, a, b, p);
}
void emitter::blend(const vec &dst, const mask &m, const vec &a, const Operand &b) {
    zmm_ ? vpblendmd(dst | m.k_, a, b) : vblendvps(dst, a, b, m.v_);
}
void emitter::blend64(const vec &dst, const mask &m, const vec &a, const Operand &b) {
    zmm_ ? vpblendmq(dst | m.k_, a, b) : vblendvpd(dst, a, b, m.v_);
}
void emitter::blend_by_sign(const vec &dst, const vec &selector, const vec &a, const vec &b) {
    if (zmm_) {
        vpmovd2m(k_gather_, selector);
        vpblendmd(dst | k_gather_, a, b);
    } else {
        vblendvps(dst, a, b, selector);
    }
}

void emitter::round_f32(const vec &dst, const Operand &src, rounding_mode mode) {
    zmm_ ? vrndscaleps(dst, src, mode) : vroundps(dst, src, mode);
}
void emitter::round_f64(const vec &dst, const Operand &src, rounding_mode mode) {
    zmm_ ? vrndscalepd(dst, src, mode) : vroundpd(dst, src, mode);
}

// ---- 64-bit lanes

void emitter::shift_right_s64(const vec &dst, const vec &a, const Operand &count) {
    if (zmm_) {
        vpsravq(dst, a, count);
        return;
    }
    // (a + 2^63) >> n logically, minus 2^(63-n): the offset keeps the order of signed values.
    const temp offset(*this);
    move(offset, constant64(std::uint64_t{1} << 63));
    vpxor(dst, a, offset);
    vpsrlvq(dst, dst, count);
    vpsrlvq(offset, offset, count);
    vpsubq(dst, dst, offset);
}

void emitter::merge_even_odd(const vec &dst, const vec &even, const vec &odd) {
    zmm_ ? vpblendmd(dst | k_even_dwords_, odd, even) : vpblendd(dst, even, odd, 0xaa);
}

void emitter::take_high_words(const vec &dst, const vec &high) {
    constexpr int first_where_third = 0xe4;
    zmm_ ? vpternlogd(dst, high, constant(std::uint32_t{0xffff}), first_where_third)
         : vpblendw(dst, dst, high, 0xaa);
}

void emitter::merge_high_dwords(const vec &odd, const vec &even) {
    if (zmm_) {
        vpshufd(odd | k_even_dwords_, even, 0xf5);
    } else {
        vpsrlq(even, even, 32);
        vpblendd(odd, even, odd, 0xaa);
    }
}

void emitter::give_sign(const vec &dst, const vec &magnitude, const vec &sign) {
    if (zmm_) { // -x = (x ^ -1) - -1
        vpsrad(dst, sign, 31);
        vpxord(magnitude, magnitude, dst);
        vpsubd(dst, magnitude, dst);
    } else {
        vpsignd(dst, magnitude, sign);
    }
}

void emitter::saturate_s64_to_s32(const vec &v) {
    const std::uint64_t lowest = 0xffffffff80000000ull, highest = 0x7fffffffull;
    if (zmm_) {
        vpmaxsq(v, v, constant64(lowest));
        vpminsq(v, v, constant64(highest));
        return;
    }
    const temp bound(*this), exceeds(*this);
    move(bound, constant64(highest));
    vpcmpgtq(exceeds, v, bound);
    vblendvpd(v, v, bound, exceeds);
    move(bound, constant64(lowest));
    vpcmpgtq(exceeds, bound, v);
    vblendvpd(v, v, bound, exceeds);
}

// ---- f64 halves

void emitter::f32_to_f64(const vec &dst, const vec &src, int half) {
    const Xmm from = zmm_ ? Xmm(ymm_of(half == 0 ? src : dst)) : xmm_of(half == 0 ? src : dst);
    if (half == 1)
        zmm_ ? vextractf32x8(from, Zmm(src.getIdx()), 1) : vextractf128(from, ymm_of(src), 1);
    vcvtps2pd(dst, from);
}

void emitter::f64_to_f32(const vec &dst, const vec &low, const vec &high) {
    if (zmm_) {
        vcvtpd2ps(ymm_of(low), low);
        vcvtpd2ps(ymm_of(high), high);
        vinsertf32x8(Zmm(dst.getIdx()), Zmm(low.getIdx()), ymm_of(high), 1);
    } else {
        vcvtpd2ps(xmm_of(low), low);
        vcvtpd2ps(xmm_of(high), high);
        vinsertf128(ymm_of(dst), ymm_of(low), xmm_of(high), 1);
    }
}

/// Adding 2^52 leaves an integer in the low bits. With 2^51 + 1/2 and rounding down, it is twice x + 1/2
/// rounded down to halves: one shift more. Without rounding modes of instructions, the number before 1/2 is
/// as good for ties as 1/2, and better for itself.
void emitter::half_up_to_dwords(const vec &dst, const vec &even, const vec &odd) {
    if (zmm_) {
        const temp shifted(*this);
        const Zmm zero_and_half(shifted.get().getIdx());
        move(shifted, constant64(bits(0x1p51 + 0.5)));
        for (const vec &x : {even, odd})
            vaddpd(Zmm(x.getIdx()), Zmm(x.getIdx()), zero_and_half | T_rd_sae);
        vpsrlq(even, even, 1);
        vpsllq(odd, odd, 31);
        merge_even_odd(dst, even, odd);
        return;
    }
    for (const vec &x : {even, odd}) {
        vaddpd(x, x, constant64(bits(std::nextafter(0.5, 0.))));
        round_f64(x, x, to_zero);
    }
    for (const vec &x : {even, odd})
        vaddpd(x, x, constant64(bits(0x1p52)));
    merge_low_dwords(dst, even, odd);
}

void emitter::merge_low_dwords(const vec &dst, const vec &even, const vec &odd) {
    vpsllq(odd, odd, 32);
    merge_even_odd(dst, even, odd);
}

void emitter::split_lanes(const vec &v, const vec &rest) {
    if (zmm_) {
        const Zmm z(v.getIdx());
        vshufi32x4(z, z, z, 0xd8); // 128-bit parts 0 2 1 3
        vextracti64x4(ymm_of(rest), z, 1);
    } else {
        vextracti128(xmm_of(rest), ymm_of(v), 1);
    }
}

void emitter::join_lanes(const vec &v, const vec &rest) {
    if (zmm_) {
        const Zmm z(v.getIdx());
        vinserti64x4(z, z, ymm_of(rest), 1);
        vshufi32x4(z, z, z, 0xd8);
    } else {
        vinserti128(ymm_of(v), ymm_of(v), xmm_of(rest), 1);
    }
}

// ---- tables

void emitter::lookup32(const vec &dst, const vec &index, const void *dwords) {
    std::vector<std::uint32_t> words(32);
    std::memcpy(words.data(), dwords, 128);
    const auto part = [&](int i) { // one vector of the table
        const auto first = words.begin() + i * lanes();
        return constant({first, first + lanes()});
    };
    if (zmm_) {
        move(dst, part(0));
        vpermt2ps(dst, index, part(1));
        return;
    }
    // vpermps looks at bits 0 to 2; bits 3 and 4, moved to the sign, select among its four results.
    const temp b(*this), c(*this), selector(*this);
    vpslld(selector, index, 31 - 3);
    vpermps(ymm_of(dst), ymm_of(index), part(0));
    vpermps(ymm_of(b), ymm_of(index), part(1));
    vblendvps(dst, dst, b, selector);
    vpermps(ymm_of(b), ymm_of(index), part(2));
    vpermps(ymm_of(c), ymm_of(index), part(3));
    vblendvps(b, b, c, selector);
    vpslld(selector, index, 31 - 4);
    vblendvps(dst, dst, b, selector);
}

void emitter::gather_dwords(const vec &dst, const Reg64 &base, const vec &index, int scale) {
    if (zmm_) {
        kxnorw(k_gather_, k_gather_, k_gather_);
        vpgatherdd(dst | k_gather_, ptr[base + Zmm(index.getIdx()) * scale]);
    } else {
        const temp all(*this);
        vpcmpeqd(all, all, all);
        vpgatherdd(dst, ptr[base + Ymm(index.getIdx()) * scale], all);
    }
}

// ---- dot product and calling convention

void emitter::dot4(const vec &acc, const vec &src, const Operand &weights, bool src_is_signed) {
    if (src_is_signed)
        return vpdpbssd(acc, src, weights);
    vpdpbusd(acc, src, weights, zmm_ ? Xbyak::EvexEncoding : Xbyak::VexEncoding);
}

void emitter::preamble() {
    for (const Reg64 &r : {rbx, rbp, r12, r13, r14, r15})
        push(r);
    if (zmm_) {
        mov(reg_scratch.cvt32(), 0x5555);
        kmovw(k_even_dwords_, reg_scratch.cvt32());
    }
}

void emitter::postamble() {
    for (const Reg64 &r : {r15, r14, r13, r12, rbp, rbx})
        pop(r);
    vzeroupper();
    ret();
}

} // namespace octet::impl::jit
