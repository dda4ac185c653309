#pragma once

// dst(i) = a rounded sum of two numbers, one for each code of x and one for each code of y, by permutes of
// bytes: no code is widened. A number has an integer part and a fraction. Fractions are only ever added, so
// what counts is whether two of them reach 1; where fractions of y are sorted, that is whether the rank of
// y's is at least as high as that of the lowest one which reaches 1 with x's. Thus every sum is exact:
//
//   dst = saturate(first[x] + saturate(rest[y])) + second[x] + (rank[y] >= carry_from[x] ? 1 : 0)
//
// Numbers are made in cpu/stream/pair_tables.cpp. Only for instruction sets with permutes of bytes.

#include <cstdint>
#include <vector>

#include "jit/base/generated.hpp"

namespace octet::impl::jit {

/// By bytes of the source. Integer parts are s8; two of x, of one sign, together cover 9 bits.
struct pair_tables {
    alignas(64) std::uint8_t carry_from[256], second[256], first[256]; ///< of x
    alignas(64) std::uint8_t rank[256], rest[256];                     ///< of y
};

struct pair_tables_spec {
    instruction_set isa;
    bool has_first = false;      ///< else `first` is 0
    bool is_unsigned = false;    ///< dst's codes are s8 sums plus 128
    int low = -128, high = 127;  ///< of the s8 sums
    bool is_nontemporal = false; ///< wants rows of dst that begin at cache lines
};

/// `rows` rows of `columns` bytes.
struct pair_tables_args {
    const void *x, *y;
    void *dst;
    const pair_tables *tables;
    std::int64_t rows, columns;
    std::int64_t x_step, y_step, dst_step; ///< bytes from row to row
};

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

} // namespace octet::impl::jit
