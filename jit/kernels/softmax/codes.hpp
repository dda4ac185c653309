#pragma once // SPDX-License-Identifier: Apache-2.0

// Softmax of rows of 8-bit codes. What an element becomes depends on its distance d = max - x from the
// maximum and on the sum of its row: results are computed for d = 0, 1, ... from a table of exponentials, a
// vector at a time, and then looked up for the row's codes.

#include <cstdint>
#include <vector>

#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"

namespace octet::impl::jit {

/// Maxima of rows and what their sums lead to.
struct softmax_code_rows {
    static constexpr int most = 64;
    alignas(64) std::uint32_t highest[most]; ///< code, in the lowest byte
    alignas(64) std::uint32_t
        number[most]; ///< fixed: reciprocal of the sum; else: f32, the sum or what is made of it
    alignas(64) std::uint32_t shift[most]; ///< fixed
};

/// Numbers that results are computed from.
enum class softmax_results {
    fixed, ///< (exponential * number + 2^30 + 2^(31 + shift)) >> (32 + shift), of integers below 2^31
    real,  ///< rne(exponential / number), where what doesn't fit s32 gives 0
    share  ///< exponential * number + half, without its fraction; number is f32
};

/// Exponentials by d; and, for products of odd columns, those of odd d in even places.
struct softmax_exponentials {
    alignas(64) std::uint32_t by_distance[256];
    alignas(64) std::uint32_t odd[256];
};

/// Results of a row while they are looked up without byte permutes. Entries before and behind them stay 0.
struct softmax_code_work {
    alignas(64) std::uint8_t zeros[64], results[256], more_zeros[64];
    alignas(64) std::uint8_t differences[256 + 64]; ///< as byte_table's
};

struct softmax_codes_spec {
    instruction_set isa;
    softmax_results results = softmax_results::fixed;
    int blocks = 4; ///< 1, 2 or 4 times 64 results; those of greater d are 0
};

struct softmax_codes_args {
    const void *src;
    void *dst;
    const softmax_code_rows *numbers;
    const softmax_exponentials *exponentials;
    softmax_code_work *work;
    std::int64_t rows, columns;      ///< as many rows as there are numbers
    std::int64_t src_step, dst_step; ///< bytes from row to row
    std::uint32_t limit;             ///< largest result, in both words
    std::uint32_t offset;            ///< added to each result, in the lowest byte
    float half;                      ///< share
};

/// The kernel of a spec.
shared_code<const softmax_codes_args> softmax_codes_code(const softmax_codes_spec &spec);

} // namespace octet::impl::jit
