#pragma once // SPDX-License-Identifier: Apache-2.0

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

#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"

namespace octet::impl::jit {

/// By bytes of the source. Integer parts are s8; two of x, of one sign, together cover 9 bits.
struct pair_tables {
    alignas(64) std::uint8_t carry_from[256], second[256], first[256]; ///< tables of x
    alignas(64) std::uint8_t rank[256], rest[256];                     ///< tables of y
};

struct pair_tables_spec {
    instruction_set isa;
    bool has_first = false;      ///< else `first` is 0
    bool is_unsigned = false;    ///< dst's codes are s8 sums plus 128
    int low = -128, high = 127;  ///< bounds of the s8 sums
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

/// The kernel of a spec.
shared_code<const pair_tables_args> pair_tables_code(const pair_tables_spec &spec);

} // namespace octet::impl::jit
