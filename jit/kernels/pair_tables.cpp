// All tables stay in registers; a pair of vectors takes two permutes and a blend for each of them.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/pair_tables.hpp"

#include "common/text.hpp"
#include "jit/base/generated.hpp"

namespace octet::impl::jit {

namespace {

constexpr int sums_in_flight = 2;    // the core has room for more of them by itself
constexpr std::uint8_t not_less = 5; // a predicate of vpcmpub

class pair_tables_kernel : public generated<const pair_tables_args> {
public:
    explicit pair_tables_kernel(const pair_tables_spec &spec);

private:
    using entries = std::uint8_t[256];
    using table = std::vector<vec>; ///< four vectors

    void generate();
    table load(entries pair_tables::*which);
    void row();
    void tail();
    void sum(const vec &x, const vec &y);
    void look_up(const vec &to, const table &from, const vec &codes, const Xbyak::Opmask &is_upper);

    const pair_tables_spec spec_;
    table carry_from_, second_, first_, rank_, rest_;
    std::vector<vec> constants_; ///< -1, and what spec_ asks for

    const Xbyak::Reg64 reg_x = rsi, reg_y = rbx, reg_dst = r8, reg_tables = rdx, reg_columns = rcx;
    const Xbyak::Reg64 reg_rows = r9, reg_row_x = r10, reg_row_y = r12, reg_row_dst = rbp, reg_valid = rax;
    const Xbyak::Opmask k_x = k1, k_y = k2, k_carries = k3;
    const Xbyak::Opmask k_valid = k7; // the emitter's tail mask, which is not set here
};

} // namespace

pair_tables_kernel::pair_tables_kernel(const pair_tables_spec &spec) : generated(spec.isa), spec_(spec) {
    generate();
    finish([&] {
        const bool clamps = spec.low > -128 || spec.high < 127;
        return name("pair_tables", spec.has_first ? "wide" : "", clamps ? "clamp" : "",
                    spec.is_unsigned ? "u8" : "s8", spec.is_nontemporal ? "nt" : "");
    });
}

pair_tables_kernel::table pair_tables_kernel::load(entries pair_tables::*which) {
    table t;
    for (int i = 0; i < 256; i += vector_bytes()) {
        t.push_back(take_vec());
        move(t.back(), field(reg_tables, which, i));
    }
    return t;
}

void pair_tables_kernel::generate() {
    preamble();
    mov(reg_x, arg(&pair_tables_args::x));
    mov(reg_y, arg(&pair_tables_args::y));
    mov(reg_dst, arg(&pair_tables_args::dst));
    mov(reg_tables, arg(&pair_tables_args::tables));
    mov(reg_rows, arg(&pair_tables_args::rows));
    carry_from_ = load(&pair_tables::carry_from);
    second_ = load(&pair_tables::second);
    if (spec_.has_first)
        first_ = load(&pair_tables::first);
    rank_ = load(&pair_tables::rank);
    rest_ = load(&pair_tables::rest);
    for (const int code : {-1, spec_.low, spec_.high, -128}) {
        constants_.push_back(take_vec());
        move(constants_.back(), constant(static_cast<std::uint32_t>(code & 0xff) * 0x01010101u));
    }
    Xbyak::Label next;
    L(next);
    mov(reg_row_x, reg_x);
    mov(reg_row_y, reg_y);
    mov(reg_row_dst, reg_dst);
    mov(reg_columns, arg(&pair_tables_args::columns));
    row();
    add(reg_x, arg(&pair_tables_args::x_step));
    add(reg_y, arg(&pair_tables_args::y_step));
    add(reg_dst, arg(&pair_tables_args::dst_step));
    dec(reg_rows);
    jnz(next, T_NEAR);
    if (spec_.is_nontemporal)
        // Orders the non-temporal stores: without it another thread may see a later store first.
        sfence();
    postamble();
}

void pair_tables_kernel::row() {
    while_left(reg_columns, vector_bytes(), {reg_row_x, reg_row_y, reg_row_dst}, vector_bytes(),
               sums_in_flight, [this](int count) {
                   for (int v = 0; v < count; v++) {
                       const temp x(*this), y(*this);
                       const int at = v * vector_bytes();
                       move(x, ptr[reg_row_x + at]);
                       move(y, ptr[reg_row_y + at]);
                       sum(x, y);
                       const Xbyak::Address to = ptr[reg_row_dst + at];
                       spec_.is_nontemporal ? vmovntps(to, x.get()) : vmovups(to, x.get());
                   }
               });
    tail();
}

void pair_tables_kernel::tail() {
    Xbyak::Label done;
    test(reg_columns, reg_columns);
    jz(done, T_NEAR);
    const temp x(*this), y(*this);
    mov(reg_valid, -1);
    bzhi(reg_valid, reg_valid, reg_columns);
    kmovq(k_valid, reg_valid);
    vmovdqu8(x.get() | k_valid | T_z, ptr[reg_row_x]);
    vmovdqu8(y.get() | k_valid | T_z, ptr[reg_row_y]);
    sum(x, y);
    vmovdqu8(ptr[reg_row_dst] | k_valid, x);
    L(done);
}

void pair_tables_kernel::look_up(const vec &to, const table &from, const vec &codes,
                                 const Xbyak::Opmask &is_upper) {
    const temp upper(*this);
    move(to, codes);
    vpermi2b(to, from[0], from[1]);
    move(upper, codes);
    vpermi2b(upper, from[2], from[3]);
    vmovdqu8(to | is_upper, upper);
}

/// x = the sum. Of the integer parts of x, the second one takes the carry: in s8 it has room for it, and with
/// the carry it still has the sign of the first, so that saturating after each is saturating once.
void pair_tables_kernel::sum(const vec &x, const vec &y) {
    const temp part(*this), to(*this);
    vpmovb2m(k_x, x);
    vpmovb2m(k_y, y);
    look_up(part, carry_from_, x, k_x);
    look_up(to, rank_, y, k_y);
    vpcmpub(k_carries, to, part, not_less);
    look_up(to, rest_, y, k_y);
    if (spec_.has_first) {
        look_up(part, first_, x, k_x);
        vpaddsb(to, to, part);
    }
    look_up(part, second_, x, k_x);
    vpsubb(part.get() | k_carries, part, constants_[0]);
    vpaddsb(x, to, part);
    if (spec_.low > -128)
        vpmaxsb(x, x, constants_[1]);
    if (spec_.high < 127)
        vpminsb(x, x, constants_[2]);
    if (spec_.is_unsigned)
        vpxor_(x, x, constants_[3]);
}

shared_code<const pair_tables_args> pair_tables_code(const pair_tables_spec &spec) {
    return shared_kernel<pair_tables_kernel>(spec);
}

} // namespace octet::impl::jit
