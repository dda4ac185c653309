// The common part of both kernels comes first: maxima of rows and tables in registers. Then each framework's
// order of additions.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/softmax/sums.hpp"

#include <algorithm>
#include <cstddef>

#include "common/fixed_point.hpp"
#include "common/text.hpp"
#include "jit/base/generated.hpp"
#include "jit/epilogue/rounding.hpp"
#include "jit/kernels/softmax/distance_permutes.hpp"

namespace octet::impl::jit {

namespace {

constexpr int numbers_per_permute = 64; // numbers that one byte permute looks up
constexpr int vectors_at_a_time = 4;
constexpr int row_bytes = static_cast<int>(sizeof(std::uint32_t));

/// "b4.4.2.1": blocks of the places.
std::string name_of(const std::array<int, 4> &blocks) {
    return text("b", blocks[0], ".", blocks[1], ".", blocks[2], ".", blocks[3]);
}

/// Maxima and tables, which both kernels need.
class softmax_sums_emitter : public generated<const softmax_sums_args> {
protected:
    explicit softmax_sums_emitter(const softmax_sums_spec &spec) : generated(spec.isa), spec_(spec) {}

    void load_arguments();
    /// The maxima of all rows.
    void maxima();
    void load_tables();
    /// Masks of the distances x that emit_distance_permutes wants.
    void compare(const vec &x);
    void raise(const vec &highest, const Xbyak::Operand &by);
    void maximum_of_bytes(const vec &x);
    /// whole(byte offset from reg_at) for the vectors of a row, tail() with the mask of those bytes that are
    /// left.
    template <typename Whole, typename Tail> void for_each_vector(const Whole &whole, const Tail &tail);

    const softmax_sums_spec spec_;
    std::array<std::vector<vec>, 4> tables_;

    const Xbyak::Reg64 reg_src = rsi, reg_numbers = rdx, reg_terms = rcx, reg_rows = r10, reg_columns = r9;
    const Xbyak::Reg64 reg_at = r8, reg_valid = rax, reg_step = rbx;
    const Xbyak::Reg64 reg_dst = rbp, reg_to_dst = r12; ///< the row in dst, and the distance from src to dst
    // While these are in use, no masks of the emitter are; its tail mask is not set.
    const Xbyak::Opmask k_below_64 = k1, k_below_128 = k2, k_valid = k7;
};

class softmax_fixed_sums_kernel : public softmax_sums_emitter {
public:
    explicit softmax_fixed_sums_kernel(const softmax_sums_spec &spec);

private:
    void generate();
    void sums();
    void add_terms(const vec &highest, int at, bool is_tail);
    void add_lanes();
    void reciprocals();

    std::array<vec, 4> sums_;
};

class softmax_real_sums_kernel : public softmax_sums_emitter {
public:
    explicit softmax_real_sums_kernel(const softmax_sums_spec &spec);

private:
    static constexpr int rows = 16, columns_at_a_time = 64;
    void generate();
    void sums();
    void find_rows();
    void columns();
    void transpose();
    void four_columns(int valid);

    vec sum_, highest_;

    const Xbyak::Reg64 reg_work = r13, reg_offset = r14, reg_from = r8, reg_to = r15;
};

} // namespace

// ---- what kernels share

void softmax_sums_emitter::load_arguments() {
    mov(reg_src, arg(&softmax_sums_args::src));
    mov(reg_dst, arg(&softmax_sums_args::dst));
    mov(reg_numbers, arg(&softmax_sums_args::numbers));
    mov(reg_terms, arg(&softmax_sums_args::terms));
    mov(reg_rows, arg(&softmax_sums_args::rows));
    mov(reg_step, arg(&softmax_sums_args::src_step));
}

void softmax_sums_emitter::load_tables() {
    for (std::size_t b = 0; b < spec_.blocks.size(); b++)
        for (int i = 0; i < spec_.blocks[b]; i++) {
            tables_[b].push_back(take_vec());
            move(tables_[b].back(), ptr[reg_terms + static_cast<int>(b) * 256 + i * numbers_per_permute]);
        }
}

template <typename Whole, typename Tail>
void softmax_sums_emitter::for_each_vector(const Whole &whole, const Tail &tail) {
    Xbyak::Label finish;
    mov(reg_columns, arg(&softmax_sums_args::columns));
    while_left(reg_columns, vector_bytes(), {reg_at}, vector_bytes(), vectors_at_a_time, [&](int count) {
        for (int v = 0; v < count; v++)
            whole(v * vector_bytes());
    });
    test(reg_columns, reg_columns);
    jz(finish, T_NEAR);
    mov(reg_valid, -1);
    bzhi(reg_valid, reg_valid, reg_columns);
    kmovq(k_valid, reg_valid);
    tail();
    L(finish);
}

void softmax_sums_emitter::raise(const vec &highest, const Xbyak::Operand &by) {
    spec_.is_signed ? vpmaxsb(highest, highest, by) : vpmaxub(highest, highest, by);
}

/// In the lowest byte: inverted, so that the smallest of 8 words without sign is wanted.
void softmax_sums_emitter::maximum_of_bytes(const vec &x) {
    const temp other(*this);
    vextracti64x4(ymm_of(other), Xbyak::Zmm(x.getIdx()), 1);
    raise(ymm_of(x), ymm_of(other));
    vextracti128(xmm_of(other), ymm_of(x), 1);
    raise(xmm_of(x), xmm_of(other));
    const Xbyak::Xmm lowest = xmm_of(x);
    vpxor(lowest, lowest, constant(spec_.is_signed ? 0x7f7f7f7fu : 0xffffffffu));
    vpsrlw(xmm_of(other), lowest, 8); // its upper bytes are 0, so that a word is the smaller of its bytes
    vpminub(lowest, lowest, xmm_of(other));
    vphminposuw(lowest, lowest);
    vpxor(lowest, lowest, constant(spec_.is_signed ? 0x7f7f7f7fu : 0xffffffffu));
}

void softmax_sums_emitter::maxima() {
    const temp highest(*this);
    Xbyak::Label next;
    const Xbyak::Reg64 &to = reg_numbers;
    L(next);
    mov(reg_at, reg_src);
    move(highest, constant(spec_.is_signed ? 0x80808080u : 0u));
    for_each_vector([&](int at) { raise(highest, ptr[reg_at + at]); },
                    [&] { raise(highest.get() | k_valid, ptr[reg_at]); });
    maximum_of_bytes(highest);
    vmovd(field(to, &softmax_code_rows::highest), xmm_of(highest));
    add(reg_src, reg_step);
    add(to, row_bytes);
    dec(reg_rows);
    jnz(next, T_NEAR);
    load_arguments();
}

void softmax_sums_emitter::compare(const vec &x) {
    const auto uses = [&](int blocks) {
        return std::find(spec_.blocks.begin(), spec_.blocks.end(), blocks) != spec_.blocks.end();
    };
    if (uses(1))
        vptestnmb(k_below_64, x, constant(0xc0c0c0c0u));
    if (uses(2) || uses(4))
        vptestnmb(k_below_128, x, constant(0x80808080u));
}

// ---- TFLite

softmax_fixed_sums_kernel::softmax_fixed_sums_kernel(const softmax_sums_spec &spec)
    : softmax_sums_emitter(spec) {
    generate();
    finish([&] { return name("softmax_fixed_sums", spec.is_signed ? "s8" : "u8", name_of(spec.blocks)); });
}

void softmax_fixed_sums_kernel::generate() {
    preamble();
    load_arguments();
    maxima();
    sums();
    load_arguments();
    reciprocals();
    postamble();
}

void softmax_fixed_sums_kernel::sums() {
    const temp highest(*this);
    for (vec &s : sums_)
        s = take_vec();
    load_tables();
    Xbyak::Label next;
    L(next);
    mov(reg_at, reg_src);
    mov(reg_to_dst, reg_dst);
    sub(reg_to_dst, reg_src);
    vpbroadcastb(highest, field(reg_numbers, &softmax_code_rows::highest));
    for (const vec &s : sums_)
        zero(s);
    for_each_vector([&](int at) { add_terms(highest, at, false); }, [&] { add_terms(highest, 0, true); });
    add_lanes();
    vmovd(field(reg_numbers, &softmax_code_rows::number), xmm_of(sums_[0]));
    add(reg_src, reg_step);
    add(reg_dst, arg(&softmax_sums_args::dst_step));
    add(reg_numbers, row_bytes);
    dec(reg_rows);
    jnz(next, T_NEAR);
    for (const auto &tables : tables_)
        for (const vec &t : tables)
            give_vec(t);
    for (const vec &s : sums_)
        give_vec(s);
}

/// The number of d is split into its four bytes, which are looked up and added apart: vpdpbusd with ones adds
/// four neighbours at once. A lane grows by at most 4 * 255 with each vector of 64 columns, so it holds 2^27
/// columns. Multiplying the sums of the places by their weights comes once, at the end.
void softmax_fixed_sums_kernel::add_terms(const vec &highest, int at, bool is_tail) {
    const temp x(*this), bytes(*this);
    prefetchw(ptr[reg_at + reg_to_dst + at]);
    vpsubb(is_tail ? x.get() | k_valid | T_z : x.get(), highest, ptr[reg_at + at]);
    compare(x);
    for (std::size_t b = 0; b < spec_.blocks.size(); b++) {
        if (spec_.blocks[b] == 0)
            continue;
        emit_distance_permutes(*this, bytes, x, tables_[b], k_below_64, k_below_128);
        if (is_tail)
            vmovdqu8(bytes.get() | k_valid | T_z, bytes);
        vpdpbusd(sums_[b], bytes, constant(0x01010101u));
    }
}

void softmax_fixed_sums_kernel::add_lanes() {
    const vec &sum = sums_[0];
    const temp other(*this);
    for (std::size_t b = 1; b < sums_.size(); b++) {
        if (spec_.blocks[b] == 0)
            continue;
        vpslld(sums_[b], sums_[b], static_cast<std::uint8_t>(8 * b));
        vpaddd(sum, sum, sums_[b]);
    }
    vextracti64x4(ymm_of(other), Xbyak::Zmm(sum.getIdx()), 1);
    vpaddd(ymm_of(sum), ymm_of(sum), ymm_of(other));
    vextracti32x4(xmm_of(other), ymm_of(sum), 1);
    vpaddd(xmm_of(sum), xmm_of(sum), xmm_of(other));
    for (const std::uint8_t order : {0x4e, 0xb1}) { // exchanges halves, then neighbours
        vpshufd(xmm_of(other), xmm_of(sum), order);
        vpaddd(xmm_of(sum), xmm_of(sum), xmm_of(other));
    }
}

/// common/fixed_point.hpp's reciprocal_of and what follows from it, of 16 rows at a time. The sum is not 0;
/// with half of its normalised value as h, 1 + a is 2h, and no shift of Newton's steps saturates.
void softmax_fixed_sums_kernel::reciprocals() {
    const temp zeros(*this), h(*this), x(*this), step(*this), y(*this);
    const mask is_zero(*this);
    Xbyak::Label next;
    L(next);
    move(h, field(reg_numbers, &softmax_code_rows::number));
    vplzcntd(zeros, h);
    vpsllvd(h, h, zeros);
    vpsrld(h, h, 1);
    move(x, h);
    move(y, constant(static_cast<std::uint32_t>(newton_minus_thirtytwo_17ths)));
    emit_multiply_high(*this, x, y);
    vpaddd(x, x, constant(static_cast<std::uint32_t>(newton_fortyeight_17ths)));
    for (int i = 0; i < newton_steps; i++) {
        move(y, h);
        move(step, x);
        emit_multiply_high(*this, step, y);
        move(y, constant(std::uint32_t{1} << 29));
        vpsubd(y, y, step);
        move(step, x);
        emit_multiply_high(*this, step, y);
        vpslld(step, step, 2);
        vpaddd(x, x, step);
    }
    vpaddd(x, x, x);
    vpminud(x, x, constant(0x7fffffffu));
    move(y, constant(4u)); // fewer zeros: the result is below 1/2
    compare_s32_gt(is_zero, y, zeros);
    zero(y);
    blend(x, is_zero, x, y);
    move(y, constant(34u));
    vpsubd(y, y, zeros);
    vpminud(y, y, constant(30u));
    vmovups(field(reg_numbers, &softmax_code_rows::number), x.get());
    vmovups(field(reg_numbers, &softmax_code_rows::shift), y.get());
    add(reg_numbers, vector_bytes());
    sub(reg_rows, lanes());
    jg(next, T_NEAR);
}

// ---- ONNX Runtime

softmax_real_sums_kernel::softmax_real_sums_kernel(const softmax_sums_spec &spec)
    : softmax_sums_emitter(spec) {
    generate();
    finish([&] { return name("softmax_real_sums", spec.is_signed ? "s8" : "u8", name_of(spec.blocks)); });
}

void softmax_real_sums_kernel::generate() {
    preamble();
    load_arguments();
    maxima();
    mov(reg_work, arg(&softmax_sums_args::work));
    sum_ = take_vec();
    highest_ = take_vec();
    Xbyak::Label next;
    L(next);
    find_rows();
    sums();
    add(reg_numbers, rows * row_bytes);
    sub(reg_rows, rows);
    jg(next, T_NEAR);
    postamble();
}

/// Writes the pointers of the next 16 rows and advances to those behind them. If fewer are left, the last row
/// is there several times.
void softmax_real_sums_kernel::find_rows() {
    for (int r = 0; r < rows; r++) {
        mov(field(reg_work, &softmax_sums_work::src, r), reg_src);
        mov(field(reg_work, &softmax_sums_work::dst, r), reg_dst);
        lea(reg_from, ptr[reg_src + reg_step]);
        mov(reg_to, reg_dst);
        add(reg_to, arg(&softmax_sums_args::dst_step));
        cmp(reg_rows, r + 2);
        cmovge(reg_src, reg_from);
        cmovge(reg_dst, reg_to);
    }
}

void softmax_real_sums_kernel::sums() {
    std::vector<std::uint32_t> lowest_byte; // the lowest byte of each dword, in all of its bytes
    for (std::uint32_t d = 0; d < 16; d++)
        lowest_byte.push_back(d % 4 * 0x04040404u);
    move(highest_, field(reg_numbers, &softmax_code_rows::highest));
    vpshufb(highest_, highest_, table(lowest_byte));
    zero(sum_);
    mov(reg_columns, arg(&softmax_sums_args::columns));
    xor_(reg_offset, reg_offset);
    Xbyak::Label next;
    L(next);
    transpose();
    columns();
    add(reg_offset, columns_at_a_time);
    sub(reg_columns, columns_at_a_time);
    jg(next, T_NEAR);
    vmovups(field(reg_numbers, &softmax_code_rows::number), sum_);
}

/// Dword d of a vector gets 4 columns of row d.
void softmax_real_sums_kernel::transpose() {
    Xbyak::Label is_whole;
    mov(reg_valid, -1);
    cmp(reg_columns, columns_at_a_time);
    jge(is_whole);
    bzhi(reg_valid, reg_valid, reg_columns);
    L(is_whole);
    kmovq(k_valid, reg_valid);

    std::vector<vec> v;
    for (int r = 0; r < rows; r++) {
        mov(reg_from, field(reg_work, &softmax_sums_work::src, r));
        mov(reg_to, field(reg_work, &softmax_sums_work::dst, r));
        prefetchw(ptr[reg_to + reg_offset]);
        v.push_back(take_vec());
        vmovdqu8(v.back() | k_valid | T_z, ptr[reg_from + reg_offset]);
    }
    const temp low(*this), high(*this);
    for (std::size_t g = 0; g < v.size(); g += 4) { // within 128 bits
        vpunpckldq(low, v[g], v[g + 1]);
        vpunpckhdq(v[g + 1], v[g], v[g + 1]);
        vpunpckldq(high, v[g + 2], v[g + 3]);
        vpunpckhdq(v[g + 3], v[g + 2], v[g + 3]);
        vpunpcklqdq(v[g], low, high);
        vpunpckhqdq(low, low, high);
        vpunpcklqdq(v[g + 2], v[g + 1], v[g + 3]);
        vpunpckhqdq(v[g + 3], v[g + 1], v[g + 3]);
        move(v[g + 1], low);
    }
    const auto at = [&v](int i) -> const vec & { return v[static_cast<std::size_t>(i)]; };
    for (int d = 0; d < 4; d++) {
        const vec parts[] = {at(d), at(4 + d), at(8 + d), at(12 + d)};
        transpose_parts(parts);
        for (int part = 0; part < 4; part++)
            vmovups(field(reg_work, &softmax_sums_work::columns, 4 * (4 * part + d)), parts[part]);
    }
    for (const vec &x : v)
        give_vec(x);
}

void softmax_real_sums_kernel::columns() {
    load_tables();
    Xbyak::Label loop, rest, done;
    lea(reg_from, field(reg_work, &softmax_sums_work::columns));
    mov(reg_to, columns_at_a_time);
    cmp(reg_columns, reg_to);
    cmovl(reg_to, reg_columns); // the columns that are left
    sub(reg_to, 4);
    jl(rest, T_NEAR);
    L(loop);
    four_columns(4);
    add(reg_from, vector_bytes());
    sub(reg_to, 4);
    jge(loop, T_NEAR);
    L(rest);
    for (const int valid : {1, 2, 3}) {
        Xbyak::Label other;
        cmp(reg_to, valid - 4);
        jne(other, T_NEAR);
        four_columns(valid);
        L(other);
    }
    for (auto &tables : tables_) {
        for (const vec &t : tables)
            give_vec(t);
        tables.clear();
    }
}

/// The bytes of each place, columns apart, become dwords of four columns.
void softmax_real_sums_kernel::four_columns(int valid) {
    std::vector<std::uint32_t> by_column;
    for (std::uint32_t d = 0; d < 16; d++)
        by_column.push_back(0x0c080400u + d % 4 * 0x01010101u);
    const temp x(*this), p0(*this), p1(*this), p2(*this), p3(*this), low(*this);
    vpsubb(x, highest_, ptr[reg_from]);
    vpshufb(x, x, table(by_column));
    compare(x);
    const vec places[] = {p0, p1, p2, p3};
    for (std::size_t b = 0; b < 4; b++)
        if (spec_.blocks[b] == 0)
            zero(places[b]);
        else
            emit_distance_permutes(*this, places[b], x, tables_[b], k_below_64, k_below_128);
    vpunpcklbw(low, p0, p1);
    vpunpckhbw(p1, p0, p1);
    vpunpcklbw(p0, p2, p3);
    vpunpckhbw(p3, p2, p3);
    vpunpcklwd(x, low, p0);
    vaddps(sum_, sum_, x);
    if (valid > 1) {
        vpunpckhwd(low, low, p0);
        vaddps(sum_, sum_, low);
    }
    if (valid > 2) {
        vpunpcklwd(x, p1, p3);
        vaddps(sum_, sum_, x);
    }
    if (valid > 3) {
        vpunpckhwd(p1, p1, p3);
        vaddps(sum_, sum_, p1);
    }
}

shared_code<const softmax_sums_args> softmax_fixed_sums_code(const softmax_sums_spec &spec) {
    return shared_kernel<softmax_fixed_sums_kernel>(spec);
}

shared_code<const softmax_sums_args> softmax_real_sums_code(const softmax_sums_spec &spec) {
    return shared_kernel<softmax_real_sums_kernel>(spec);
}

} // namespace octet::impl::jit
