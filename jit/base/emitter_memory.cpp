// Loads and stores of the emitter: dwords, words and bytes, whole vectors or a number of valid lanes.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/emitter.hpp"

namespace octet::impl::jit {

using Xbyak::Address;
using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Zmm;

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

// Lanes that are masked out do not fault, so vectors at the end of a buffer may reach into unmapped pages;
// the tests put such a page behind every tensor. Without AVX-512 there are masks for dwords, but none for
// bytes.
void emitter::load_dwords(const vec &dst, const Reg64 &base, std::int64_t offset, int valid) {
    if (valid == lanes()) {
        vmovups(dst, at(base, offset));
    } else if (zmm_) {
        vmovups(dst | k_tail_ | T_z, at(base, offset));
    } else {
        const temp m(*this);
        move(m, constant(ymm_mask(valid)));
        vmaskmovps(dst, m, at(base, offset));
    }
}

void emitter::store_dwords(const Reg64 &base, std::int64_t offset, const vec &src, int valid) {
    if (valid == lanes()) {
        store_vector(at(base, offset), src);
    } else if (zmm_) {
        vmovups(at(base, offset) | k_tail_, src);
    } else {
        const temp m(*this);
        move(m, constant(ymm_mask(valid)));
        vmaskmovps(at(base, offset), m, src);
    }
}

// 8, 4, 2 and 1 bytes, each at most once: reading 16 and shifting would be shorter and could fault.
void emitter::load_some_bytes(const Xmm &dst, const Xbyak::RegExp &from, int count) {
    if (count == 16)
        return vmovups(dst, ptr[from]);
    vpxor(dst, dst, dst);
    int done = 0;
    const auto part = [&](int size) { return static_cast<std::uint8_t>(done / size); };
    if (count >= 8) {
        vmovq(dst, qword[from]);
        done = 8;
    }
    if (count - done >= 4) {
        vpinsrd(dst, dst, dword[from + done], part(4));
        done += 4;
    }
    if (count - done >= 2) {
        vpinsrw(dst, dst, word[from + done], part(2));
        done += 2;
    }
    if (count - done >= 1)
        vpinsrb(dst, dst, byte[from + done], part(1));
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
    if (count == 16)
        return vmovups(at(base, offset), src);
    int done = 0; // `first` is 0, or 8 for 8 bytes at most
    const auto to = [&] { return base + static_cast<std::int32_t>(offset + done); };
    const auto part = [&](int size) { return static_cast<std::uint8_t>((first + done) / size); };
    if (count >= 8) {
        vpextrq(qword[to()], src, part(8));
        done = 8;
    }
    if (count - done >= 4) {
        vpextrd(dword[to()], src, part(4));
        done += 4;
    }
    if (count - done >= 2) {
        vpextrw(word[to()], src, part(2));
        done += 2;
    }
    if (count - done >= 1)
        vpextrb(byte[to()], src, part(1));
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

void emitter::load_words(const vec &dst, const Reg64 &base, std::int64_t offset, int valid) {
    if (valid == lanes() || zmm_) {
        vpmovsxwd(valid == lanes() ? dst : dst | k_tail_ | T_z, at(base, offset));
        return;
    }
    const Xmm words = xmm_of(dst);
    vpxor(words, words, words);
    for (int i = 0; i < valid; i++)
        vpinsrw(words, words, word[base + static_cast<std::int32_t>(offset + 2 * i)],
                static_cast<std::uint8_t>(i));
    vpmovsxwd(dst, words);
}

void emitter::store_words(const Reg64 &base, std::int64_t offset, const vec &src, int valid) {
    if (zmm_) {
        const Address to = at(base, offset);
        vpmovsdw(valid == lanes() ? to : to | k_tail_, Zmm(src.getIdx()));
        return;
    }
    vpackssdw(src, src, src);
    vpermq(ymm_of(src), ymm_of(src), 0x08); // quarters 0 and 2
    if (valid == lanes()) {
        vmovups(at(base, offset), xmm_of(src));
        return;
    }
    for (int i = 0; i < valid; i++)
        vpextrw(word[base + static_cast<std::int32_t>(offset + 2 * i)], xmm_of(src),
                static_cast<std::uint8_t>(i));
}

void emitter::f32_to_words(const vec &v, bool is_f16) {
    if (is_f16) {
        vcvtps2ph(half_of(v), v, 0); // to nearest even
        return vpmovsxwd(v, half_of(v));
    }
    const temp rounded(*this), quiet(*this);
    const mask is_nan(*this);
    compare_f32(is_nan, v, v, unordered);
    vpor_(quiet, v, constant(0x00400000u));
    vpsrld(rounded, v, 16);
    vpand_(rounded, rounded, constant(1u));
    vpaddd(rounded, rounded, constant(0x7fffu));
    vpaddd(rounded, rounded, v);
    blend(v, is_nan, rounded, quiet);
    vpsrad(v, v, 16);
}

void emitter::words_to_f32(const vec &v, bool is_f16) {
    if (!is_f16)
        return vpslld(v, v, 16);
    if (zmm_) {
        vpmovdw(ymm_of(v), Zmm(v.getIdx()));
    } else {
        vpackssdw(v, v, v);
        vpermq(ymm_of(v), ymm_of(v), 0x08); // quarters 0 and 2
    }
    vcvtph2ps(v, half_of(v));
}

// The same mask register as for dwords: a kernel works on one of both.
void emitter::set_byte_tail(int valid) {
    if (!zmm_)
        return;
    mov(reg_scratch, (std::uint64_t{1} << valid) - 1);
    kmovq(k_tail_, reg_scratch);
}

void emitter::load_byte_vector(const vec &dst, const Reg64 &base, std::int64_t offset, int valid) {
    const auto from = static_cast<std::int32_t>(offset);
    if (valid == vector_bytes()) {
        vmovups(dst, at(base, offset));
    } else if (zmm_) {
        vmovdqu8(dst | k_tail_ | T_z, at(base, offset));
    } else if (valid <= 16) {
        load_some_bytes(xmm_of(dst), base + from, valid);
    } else {
        const temp upper(*this);
        load_some_bytes(xmm_of(upper), base + from + 16, valid - 16);
        vmovups(xmm_of(dst), at(base, offset));
        vinserti128(ymm_of(dst), ymm_of(dst), xmm_of(upper), 1);
    }
}

void emitter::store_byte_vector(const Reg64 &base, std::int64_t offset, const vec &src, int valid) {
    if (valid == vector_bytes()) {
        vmovups(at(base, offset), src);
    } else if (zmm_) {
        vmovdqu8(at(base, offset) | k_tail_, src);
    } else if (valid <= 16) {
        store_some_bytes(base, offset, xmm_of(src), 0, valid);
    } else {
        const temp upper(*this);
        vmovups(at(base, offset), xmm_of(src));
        vextracti128(xmm_of(upper), ymm_of(src), 1);
        store_some_bytes(base, offset + 16, xmm_of(upper), 0, valid - 16);
    }
}

void emitter::prefetch_lines(const Xbyak::RegExp &from, int bytes) {
    for (int line = 0; line < bytes; line += 64)
        prefetcht0(ptr[from + line]);
}

vec_operand emitter::quarters_order() {
    std::vector<std::uint32_t> order;
    for (int quarter = 0; quarter < 4; quarter++)
        for (int part = 0; part < lanes() / 4; part++)
            order.push_back(static_cast<std::uint32_t>(4 * part + quarter));
    return constant(order);
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
            store_vector(to, src);
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
        // A load of what follows, as of the next row of a sum, waits for all 16 bytes of a masked store.
        valid == 8 ? vmovq(at(base, offset), xmm_of(part))
                   : vmovdqu8(at(base, offset) | k_tail_, xmm_of(part));
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

} // namespace octet::impl::jit
