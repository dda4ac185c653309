#pragma once // SPDX-License-Identifier: Apache-2.0

// The base of every generator: owns the code memory, hands out vector registers, and spells each operation
// once for all ISA levels. A generator never asks which ISA it is on; what differs between them is decided
// here, in emitter.cpp and in emitter_memory.cpp, from what the level has (common/machine.hpp):
//
//   16 lanes       zmm, 32 registers, EVEX encodings, mask registers
//   8 lanes        ymm, 16 registers, VEX encodings
//   has_dot4       vpdpbusd, in the encoding of the vectors; else 16-bit widening and vpmaddwd (exact)
//   byte_permutes  vpermb and vpermi2b (zmm only)
//   signed_dot4    vpdpbssd (ymm only)
//
// Code is emitted into ordinary memory and moved to where it can run in `finish` (code_memory.hpp), so it must not
// depend on its address.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <xbyak/xbyak.h>

#include "common/machine.hpp"
#include "jit/base/code_memory.hpp"

namespace octet::impl::jit {

/// A ymm or zmm register, as the instruction set has it.
using vec = Xbyak::Xmm;

/// A vector that code reads: in memory, or in a register that holds it.
class vec_operand {
public:
    vec_operand(const Xbyak::Address &memory) : memory_(memory) {}
    vec_operand(const vec &held) : memory_(0), held_(held), is_held_(true) {}
    operator const Xbyak::Operand &() const {
        if (is_held_)
            return held_;
        return memory_;
    }

private:
    Xbyak::Address memory_;
    vec held_;
    bool is_held_ = false;
};

class emitter : private code_buffer, public Xbyak::CodeGenerator {
public:
    /// A dry run (dry_run.hpp) never runs, and has more registers than there are, so that code that fits nowhere is
    /// counted too.
    enum class purpose { code, dry_run };
    explicit emitter(instruction_set isa, purpose what_for = purpose::code);
    ~emitter() override = default;

    instruction_set isa() const { return isa_; }
    /// 32-bit lanes of a vector: 16 or 8.
    int lanes() const { return isa_.lanes(); }
    int vector_bytes() const { return isa_.vector_bytes(); }
    int vector_count() const { return isa_.registers(); }
    bool has_dot4() const { return isa_.has_dot4(); }

    /// Largest code of one generator, constants included.
    static constexpr std::size_t max_code_bytes = code_buffer::size;

    /// The code where it can run; tools see it under this name. Nothing can be emitted afterwards.
    std::shared_ptr<const void> finish(const std::string &name = "code");
    std::size_t code_bytes() const { return getSize(); }

    // ---- registers: taken by whoever needs one, given back at the end of a scope

    vec take_vec();
    void give_vec(const vec &v);
    int free_vecs() const { return static_cast<int>(free_vecs_.size()); }
    int most_taken_vecs() const { return all_vecs_ - fewest_free_; } ///< at a time, so far
    Xbyak::Xmm xmm_of(const vec &v) const { return Xbyak::Xmm(v.getIdx()); }
    Xbyak::Ymm ymm_of(const vec &v) const { return Xbyak::Ymm(v.getIdx()); }

    /// A vector register for one scope.
    class temp {
    public:
        explicit temp(emitter &e) : e_(e), v_(e.take_vec()) {}
        ~temp() { e_.give_vec(v_); }
        temp(const temp &) = delete;
        temp &operator=(const temp &) = delete;
        operator const vec &() const { return v_; }
        const vec &get() const { return v_; }

    private:
        emitter &e_;
        vec v_;
    };

    /// One truth value per lane: a mask register with AVX-512, a vector of all-ones lanes without.
    class mask {
    public:
        explicit mask(emitter &e);
        ~mask();
        mask(const mask &) = delete;
        mask &operator=(const mask &) = delete;

    private:
        friend class emitter;
        emitter &e_;
        Xbyak::Opmask k_;
        vec v_;
    };

    // ---- vectors that are read

    /// A vector that holds this value in every lane (kept behind the code).
    vec_operand constant(std::uint32_t bits);
    vec_operand constant(float value);
    vec_operand constant64(std::uint64_t bits);
    /// A vector of these dwords.
    vec_operand constant(const std::vector<std::uint32_t> &words);
    /// The vector at [base + offset], which no iteration of a loop changes.
    vec_operand invariant(const Xbyak::Reg64 &base, int offset);
    /// Address of a table of dwords, zero-padded to whole vectors.
    Xbyak::Address table(const std::vector<std::uint32_t> &values);

    /// Emission in two passes: the first one shows which constants and invariants are read, and how many
    /// registers are left for them; the second one, after `start_again`, holds them from `hold_reads` on.
    void start_again();
    void hold_reads();

    // ---- operations whose encoding depends on the vectors; dst may equal a source

    void zero(const vec &dst) { vpxor_(dst, dst, dst); }
    // Bitwise; vpandn_ is ~a & b.
    void vpxor_(const vec &dst, const vec &a, const Xbyak::Operand &b);
    void vpand_(const vec &dst, const vec &a, const Xbyak::Operand &b);
    void vpandn_(const vec &dst, const vec &a, const Xbyak::Operand &b);
    void vpor_(const vec &dst, const vec &a, const Xbyak::Operand &b);
    /// A whole vector from a register or from memory, aligned or not.
    void move(const vec &dst, const Xbyak::Operand &src);

    /// Predicates of vcmpps.
    enum compare_predicate : std::uint8_t {
        eq = 0,
        lt = 1,
        le = 2,
        unordered = 3,
        ne = 4,
        nlt = 5,
        nle = 6,
        nge = 9,
        ge = 13,
        gt = 14
    };
    void compare_f32(const mask &m, const vec &a, const Xbyak::Operand &b, compare_predicate p);
    void compare_s32_gt(const mask &m, const vec &a, const vec &b);
    void compare_s32_eq(const mask &m, const vec &a, const vec &b);
    /// A truth value per 64-bit lane, for `blend64` alone.
    void compare_f64(const mask &m, const vec &a, const Xbyak::Operand &b, compare_predicate p);
    /// dst = m ? b : a
    void blend(const vec &dst, const mask &m, const vec &a, const Xbyak::Operand &b);
    void blend64(const vec &dst, const mask &m, const vec &a, const Xbyak::Operand &b);
    /// By bytes, AVX-512 only: m = bit 7 of each byte of x; dst = m ? b : a.
    void signs_of_bytes(const mask &m, const vec &x) { vpmovb2m(m.k_, x); }
    void blend_bytes(const vec &dst, const mask &m, const vec &a, const vec &b) {
        vpblendmb(dst | m.k_, a, b);
    }
    /// dst = (sign bit of selector) ? b : a
    void blend_by_sign(const vec &dst, const vec &selector, const vec &a, const vec &b);

    enum rounding_mode : std::uint8_t { to_even = 0, to_minus_infinity = 1, to_zero = 3 };
    void round_f32(const vec &dst, const Xbyak::Operand &src, rounding_mode mode);
    void round_f64(const vec &dst, const Xbyak::Operand &src, rounding_mode mode);

    /// 64-bit lanes: arithmetic shift right by a per-lane count of 0 to 63.
    void shift_right_s64(const vec &dst, const vec &a, const Xbyak::Operand &count);
    /// Even dword lanes from `even`, odd ones from `odd`.
    void merge_even_odd(const vec &dst, const vec &even, const vec &odd);
    /// dst keeps the lower words of its dwords and takes the upper ones of `high`.
    void take_high_words(const vec &dst, const vec &high);
    /// The high dwords of 64-bit lanes: those of `even` go to the even dwords of `odd`. Clobbers `even`.
    void merge_high_dwords(const vec &odd, const vec &even);
    /// s32 lanes: dst = sign < 0 ? -magnitude : magnitude, for a magnitude that is 0 wherever sign is 0.
    /// Clobbers `magnitude`; dst may be `sign`.
    void give_sign(const vec &dst, const vec &magnitude, const vec &sign);
    /// 64-bit lanes to s32, saturating; each result sign-extended in place, low dwords are the results.
    void saturate_s64_to_s32(const vec &v);

    /// f32 lanes of the lower (0) or upper (1) half to f64; f64 of both halves to f32, which clobbers them.
    void f32_to_f64(const vec &dst, const vec &src, int half);
    void f64_to_f32(const vec &dst, const vec &low, const vec &high);
    /// dst's even dwords are the low dwords of the 64-bit lanes of `even`, its odd ones those of `odd`, which
    /// it clobbers.
    void merge_low_dwords(const vec &dst, const vec &even, const vec &odd);
    /// f64 lanes x, 0 <= x <= 2^31, of the even and of the odd dwords: dst = the nearest integers, ties up.
    /// Clobbers both; dst may be one of them.
    void half_up_to_dwords(const vec &dst, const vec &even, const vec &odd);
    /// Leaves lanes 0 to 3 (and 8 to 11) in the lower half of v, puts the others into the lower half of
    /// `rest`; and back. Thus one order of f64 values in memory serves vectors of 8 and of 16 lanes.
    void split_lanes(const vec &v, const vec &rest);
    void join_lanes(const vec &v, const vec &rest);
    /// The lower half of a register, for conversions between 32 and 64 bits.
    Xbyak::Xmm half_of(const vec &v) const { return zmm_ ? Xbyak::Xmm(ymm_of(v)) : xmm_of(v); }

    /// dst lane = one of the 32 dwords of a constant table, chosen by the low 5 bits of the index lane. 3
    /// temps with 8 lanes; dst is none of them nor the index.
    void lookup32(const vec &dst, const vec &index, const void *dwords);
    /// Looks dwords up: dst lane = table[index lane]; indices must be in range.
    void gather_dwords(const vec &dst, const Xbyak::Reg64 &base, const vec &index, int scale);

    /// A loop over what is left, `at_a_time` and then one by one: body(count), after which `left` is lower by
    /// `unit` for each, and pointers higher by `bytes`.
    template <typename Body>
    void while_left(const Xbyak::Reg64 &left, int unit, std::initializer_list<Xbyak::Reg64> pointers,
                    int bytes, int at_a_time, const Body &body) {
        for (const int count : {at_a_time, 1}) {
            Xbyak::Label loop, done;
            cmp(left, count * unit);
            jl(done, T_NEAR);
            L(loop);
            body(count);
            for (const Xbyak::Reg64 &pointer : pointers)
                add(pointer, count * bytes);
            sub(left, count * unit);
            cmp(left, count * unit);
            jge(loop, T_NEAR);
            L(done);
        }
    }

    // ---- memory with a number of valid lanes, 1 to lanes(); never touches bytes beyond them

    /// Emits what partial accesses with `valid` lanes need; one count per kernel, to be called before the
    /// first of them.
    void set_tail(int valid);
    void load_dwords(const vec &dst, const Xbyak::Reg64 &base, std::int64_t offset, int valid);
    void store_dwords(const Xbyak::Reg64 &base, std::int64_t offset, const vec &src, int valid);
    /// From here on, whole vectors of dwords and of codes are stored past the caches. Their addresses are
    /// multiples of their size; the code ends with sfence.
    void store_past_caches() { stores_past_caches_ = true; }
    /// Bytes to s32 lanes, sign- or zero-extended.
    void load_bytes(const vec &dst, const Xbyak::Reg64 &base, std::int64_t offset, int valid, bool is_signed);
    /// 16-bit words to s32 lanes, sign-extended, and back, saturating. Storing clobbers src.
    void load_words(const vec &dst, const Xbyak::Reg64 &base, std::int64_t offset, int valid);
    void store_words(const Xbyak::Reg64 &base, std::int64_t offset, const vec &src, int valid);

    /// f32 lanes to bf16 or f16 (common/small_floats.hpp), sign-extended words in each lane, and back.
    void f32_to_words(const vec &v, bool is_f16);
    void words_to_f32(const vec &v, bool is_f16);

    /// A vector of bytes; partial ones after set_byte_tail.
    void set_byte_tail(int valid);
    void load_byte_vector(const vec &dst, const Xbyak::Reg64 &base, std::int64_t offset, int valid);
    void store_byte_vector(const Xbyak::Reg64 &base, std::int64_t offset, const vec &src, int valid);
    /// A whole vector past the caches; the address is aligned to it.
    void stream_vector(const Xbyak::Reg64 &base, std::int64_t offset, const vec &src) {
        vmovntps(at(base, offset), src);
    }
    /// Brings the cache lines of `bytes` bytes, which need not exist, into the first-level cache.
    void prefetch_lines(const Xbyak::RegExp &from, int bytes);
    /// `count` bytes, 1 to 16, into an xmm register, the others 0.
    void load_codes(const Xbyak::Xmm &dst, const Xbyak::RegExp &from, int count);
    /// 16 lanes: 128-bit part p holds 16 bytes of p; puts the bytes of each position side by side, a dword.
    /// `order` was loaded before.
    void load_transposition(const vec &order, bool has_byte_permutes);
    void transpose_codes(const vec &v, const vec &order, bool has_byte_permutes);
    /// 16 lanes: exchanges 128-bit part i of vector k and part k of vector i. Two temps.
    void transpose_parts(const vec (&v)[4]);
    /// 16 lanes: two or four blocks of 16 bytes; dword d of each goes to 128-bit part d, in the order of
    /// blocks. `order` is that of a transposition without byte permutes.
    void load_transposed_blocks(const vec &dst, const vec &order, const Xbyak::RegExp &from, int blocks);

    // ---- codes: four vectors of s32 packed to bytes lie in dword t of 128-bit part p as vector t's columns
    //      4p to 4p + 3; in order, each has a quarter of the vector

    /// Puts them in order: the index vector of permute_dwords.
    vec_operand quarters_order();
    void permute_dwords(const vec &dst, const vec &index, const vec &src);
    /// Stores `count` quarters from `first` on; of the last one `valid` bytes, 1 to lanes().
    void store_quarters(const Xbyak::Reg64 &base, std::int64_t offset, const vec &src, int first, int count,
                        int valid);

    // ---- dot product of 4 source bytes, unsigned unless told otherwise, and 4 signed weights

    /// acc += dot4(src, weights); has_dot4 only, of signed bytes signed_dot4.
    void dot4(const vec &acc, const vec &src, const Xbyak::Operand &weights, bool src_is_signed = false);

    /// Registers of the calling convention, saved and restored around the body.
    void preamble();
    void postamble();

    /// Arguments arrive as a pointer to a struct in this register.
    const Xbyak::Reg64 reg_args = rdi;
    /// For this class only, in short sequences that need a general register (byte tails).
    const Xbyak::Reg64 reg_scratch = r11;

private:
    /// A vector that code reads: words behind the code, or what lies at base + offset.
    struct read {
        std::vector<std::uint32_t> words;
        int base, offset;
        bool operator<(const read &other) const {
            return std::tie(words, base, offset) < std::tie(other.words, other.base, other.offset);
        }
    };
    vec_operand operand_of(const read &r);
    Xbyak::Address address_of(const read &r);
    void load_some_bytes(const Xbyak::Xmm &dst, const Xbyak::RegExp &from, int count);
    void store_some_bytes(const Xbyak::Reg64 &base, std::int64_t offset, const Xbyak::Xmm &src, int first,
                          int count);
    void store_whole_quarters(const Xbyak::Reg64 &base, std::int64_t offset, const vec &src, int first,
                              int count);
    void store_part_of_quarter(const Xbyak::Reg64 &base, std::int64_t offset, const vec &src, int quarter,
                               int valid);
    void store_vector(const Xbyak::Address &to, const vec &src) {
        stores_past_caches_ ? vmovntps(to, src) : vmovups(to, src);
    }
    Xbyak::Address at(const Xbyak::Reg64 &base, std::int64_t offset) {
        return ptr[base + static_cast<std::int32_t>(offset)];
    }

    const instruction_set isa_;
    const bool zmm_;
    int tail_ = 0;
    const Xbyak::Opmask k_tail_ = k7, k_even_dwords_ = k6, k_gather_ = k5; // k1 to k4 are handed out
    std::vector<int> free_vecs_;
    std::vector<int> free_masks_;
    std::map<std::vector<std::uint32_t>, Xbyak::Label> constants_;
    std::map<read, int> reads_; ///< how often
    std::vector<read> to_hold_; ///< in the second pass
    std::map<read, vec> held_;
    int all_vecs_, fewest_free_; ///< registers
    bool stores_past_caches_ = false;
};

} // namespace octet::impl::jit
