#include "jit/emitter.hpp"

#include <cstring>
#include <stdexcept>

#include "jit/record.hpp"

namespace octet::impl::jit {

using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

emitter::emitter(cpu_isa level)
    : CodeGenerator(max_code_bytes, Xbyak::DontSetProtectRWE), level_(level),
      zmm_(level == cpu_isa::avx512_vnni || level == cpu_isa::avx512_core) {
    for (int i = vector_count() - 1; i >= 0; i--)
        free_vecs_.push_back(i);
    for (int i = 4; i >= 1; i--)
        free_masks_.push_back(i);
}

const void *emitter::finish(const std::string &name) {
    for (auto &[words, label] : constants_) {
        align(64);
        L(label);
        for (const std::uint32_t w : words)
            dd(w);
    }
    readyRE();          // checks the labels
    setProtectModeRE(); // which readyRE leaves to us: the buffer was allocated without protection
    record_code(name, getCode(), getSize());
    return getCode();
}

// ---- registers

vec emitter::take_vec() {
    if (free_vecs_.empty())
        throw std::logic_error("octet jit: out of vector registers");
    const int index = free_vecs_.back();
    free_vecs_.pop_back();
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

Address emitter::place(const std::vector<std::uint32_t> &words) { return ptr[rip + constants_[words]]; }

Address emitter::constant(std::uint32_t bits) { return place(std::vector<std::uint32_t>(lanes(), bits)); }
Address emitter::constant(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return constant(bits);
}
Address emitter::constant64(std::uint64_t bits) {
    std::vector<std::uint32_t> words;
    for (int i = 0; i < lanes() / 2; i++) {
        words.push_back(static_cast<std::uint32_t>(bits));
        words.push_back(static_cast<std::uint32_t>(bits >> 32));
    }
    return place(words);
}
Address emitter::table(const std::vector<std::uint32_t> &values) {
    std::vector<std::uint32_t> words = values;
    while (words.size() % static_cast<std::size_t>(lanes()) != 0)
        words.push_back(0);
    return place(words);
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
        return place({first, first + lanes()});
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

// ---- partial memory

void emitter::set_tail(int valid) {
    tail_ = valid;
    if (!zmm_)
        return;
    mov(reg_scratch.cvt32(), (1u << valid) - 1);
    kmovw(k_tail_, reg_scratch.cvt32());
}

namespace {

std::vector<std::uint32_t> ymm_mask(int valid) {
    std::vector<std::uint32_t> words(8, 0);
    for (int i = 0; i < valid; i++)
        words[i] = 0xffffffffu;
    return words;
}

} // namespace

void emitter::load_dwords(const vec &dst, const Reg64 &base, std::int64_t offset, int valid) {
    if (valid == lanes()) {
        vmovups(dst, at(base, offset));
    } else if (zmm_) {
        vmovups(dst | k_tail_ | T_z, at(base, offset));
    } else {
        const temp m(*this);
        move(m, place(ymm_mask(valid)));
        vmaskmovps(dst, m, at(base, offset));
    }
}

void emitter::store_dwords(const Reg64 &base, std::int64_t offset, const vec &src, int valid) {
    if (valid == lanes()) {
        vmovups(at(base, offset), src);
    } else if (zmm_) {
        vmovups(at(base, offset) | k_tail_, src);
    } else {
        const temp m(*this);
        move(m, place(ymm_mask(valid)));
        vmaskmovps(at(base, offset), m, src);
    }
}

void emitter::load_some_bytes(const Xmm &dst, const Xbyak::RegExp &from, int count) {
    vpxor(dst, dst, dst);
    int done = 0;
    if (count >= 4) {
        vmovd(dst, dword[from]);
        done = 4;
    }
    for (; done < count; done++)
        vpinsrb(dst, dst, byte[from + done], static_cast<std::uint8_t>(done));
}

void emitter::load_codes(const Xmm &dst, const Xbyak::RegExp &from, int count) {
    if (count == 16)
        vmovups(dst, ptr[from]);
    else if (zmm_)
        vmovdqu8(dst | k_tail_ | T_z, ptr[from]);
    else
        load_some_bytes(dst, from, count);
}

void emitter::load_transposition(const vec &order, bool has_byte_permutes) {
    std::vector<std::uint32_t> bytes, dwords;
    for (std::uint32_t d = 0; d < 16; d++) {
        bytes.push_back(d * 0x01010101u + 0x30201000u); // byte d of each part
        dwords.push_back(d % 4 * 4 + d / 4);            // part d % 4, dword d / 4
    }
    move(order, table(has_byte_permutes ? bytes : dwords));
}

void emitter::transpose_codes(const vec &v, const vec &order, bool has_byte_permutes) {
    const Zmm z(v.getIdx()), by(order.getIdx());
    if (has_byte_permutes) {
        vpermb(z, by, z);
        return;
    }
    std::vector<std::uint32_t> within; // a part holds 4 bytes of each part by now
    for (std::uint32_t d = 0; d < 16; d++)
        within.push_back(d % 4 * 0x01010101u + 0x0c080400u);
    vpermd(z, by, z);
    vpshufb(z, z, table(within));
}

void emitter::transpose_parts(const vec (&v)[4]) {
    const Zmm z[] = {Zmm(v[0].getIdx()), Zmm(v[1].getIdx()), Zmm(v[2].getIdx()), Zmm(v[3].getIdx())};
    const temp lower(*this), upper(*this);
    const Zmm low(lower.get().getIdx()), high(upper.get().getIdx());
    vshufi32x4(low, z[0], z[1], 0x44); // parts 0 and 1 of both
    vshufi32x4(high, z[2], z[3], 0x44);
    vshufi32x4(z[1], z[0], z[1], 0xee); // parts 2 and 3
    vshufi32x4(z[3], z[2], z[3], 0xee);
    vshufi32x4(z[2], z[1], z[3], 0x88); // even parts
    vshufi32x4(z[3], z[1], z[3], 0xdd); // odd parts
    vshufi32x4(z[0], low, high, 0x88);
    vshufi32x4(z[1], low, high, 0xdd);
}

void emitter::load_transposed_blocks(const vec &dst, const vec &order, const Xbyak::RegExp &from,
                                     int blocks) {
    const Zmm z(dst.getIdx()), by(order.getIdx());
    if (blocks == 4) {
        vpermd(z, by, ptr[from]);
        return;
    }
    vmovups(ymm_of(dst), ptr[from]);
    vpermd(z, by, z);
}

void emitter::store_some_bytes(const Reg64 &base, std::int64_t offset, const Xmm &src, int first, int count) {
    int done = 0;
    if (count >= 4) { // `first` is 0 or 8
        vpextrd(dword[base + static_cast<std::int32_t>(offset)], src, first / 4);
        done = 4;
    }
    for (; done < count; done++)
        vpextrb(byte[base + static_cast<std::int32_t>(offset + done)], src, first + done);
}

void emitter::load_bytes(const vec &dst, const Reg64 &base, std::int64_t offset, int valid, bool is_signed) {
    const Address from = at(base, offset);
    if (valid == lanes() || zmm_) {
        const vec target = valid == lanes() ? dst : dst | k_tail_ | T_z;
        is_signed ? vpmovsxbd(target, from) : vpmovzxbd(target, from);
        return;
    }
    load_some_bytes(xmm_of(dst), base + static_cast<std::int32_t>(offset), valid);
    is_signed ? vpmovsxbd(dst, xmm_of(dst)) : vpmovzxbd(dst, xmm_of(dst));
}

void emitter::set_byte_tail(int valid) {
    mov(reg_scratch, (std::uint64_t{1} << valid) - 1);
    kmovq(k_tail_, reg_scratch);
}

void emitter::load_byte_vector(const vec &dst, const Reg64 &base, std::int64_t offset, int valid) {
    if (valid == vector_bytes())
        vmovups(dst, at(base, offset));
    else
        vmovdqu8(dst | k_tail_ | T_z, at(base, offset));
}

void emitter::store_byte_vector(const Reg64 &base, std::int64_t offset, const vec &src, int valid) {
    if (valid == vector_bytes())
        vmovups(at(base, offset), src);
    else
        vmovdqu8(at(base, offset) | k_tail_, src);
}

Address emitter::quarters_order() {
    std::vector<std::uint32_t> order;
    for (int quarter = 0; quarter < 4; quarter++)
        for (int part = 0; part < lanes() / 4; part++)
            order.push_back(static_cast<std::uint32_t>(4 * part + quarter));
    return place(order);
}

void emitter::permute_dwords(const vec &dst, const vec &index, const vec &src) {
    zmm_ ? vpermd(Zmm(dst.getIdx()), Zmm(index.getIdx()), src) : vpermd(ymm_of(dst), ymm_of(index), src);
}

/// Quarters of 16 or 8 bytes, as many at a time as an instruction stores.
void emitter::store_whole_quarters(const Reg64 &base, std::int64_t offset, const vec &src, int first,
                                   int count) {
    const int quarter_bytes = lanes();
    const Zmm z(src.getIdx());
    while (count > 0) {
        const Address to = at(base, offset);
        int stored = first % 2 == 0 && count >= 2 ? 2 : 1;
        if (count == 4) {
            vmovups(to, src);
            stored = 4;
        } else if (zmm_ && stored == 2) {
            first == 0 ? vmovups(to, ymm_of(src)) : vextractf64x4(to, z, 1);
        } else if (zmm_) {
            first == 0 ? vmovups(to, xmm_of(src)) : vextractf32x4(to, z, first);
        } else if (stored == 2) {
            first == 0 ? vmovups(to, xmm_of(src)) : vextractf128(to, ymm_of(src), 1);
        } else if (first < 2) {
            first == 0 ? vmovq(to, xmm_of(src)) : vmovhps(to, xmm_of(src));
        } else {
            const temp upper(*this);
            vextractf128(xmm_of(upper), ymm_of(src), 1);
            first == 2 ? vmovq(to, xmm_of(upper)) : vmovhps(to, xmm_of(upper));
        }
        first += stored;
        count -= stored;
        offset += stored * quarter_bytes;
    }
}

void emitter::store_part_of_quarter(const Reg64 &base, std::int64_t offset, const vec &src, int quarter,
                                    int valid) {
    const temp part(*this);
    if (zmm_) {
        vextracti32x4(xmm_of(part), Zmm(src.getIdx()), quarter);
        vmovdqu8(at(base, offset) | k_tail_, xmm_of(part));
    } else {
        vextracti128(xmm_of(part), ymm_of(src), quarter / 2);
        store_some_bytes(base, offset, xmm_of(part), quarter % 2 * 8, valid);
    }
}

void emitter::store_quarters(const Reg64 &base, std::int64_t offset, const vec &src, int first, int count,
                             int valid) {
    const bool has_part = valid != lanes();
    store_whole_quarters(base, offset, src, first, has_part ? count - 1 : count);
    if (has_part)
        store_part_of_quarter(base, offset + (count - 1) * lanes(), src, first + count - 1, valid);
}

// ---- dot product and calling convention

void emitter::dot4(const vec &acc, const vec &src, const Operand &weights) {
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
