#pragma once // SPDX-License-Identifier: Apache-2.0

// Linear interpolation of 8-bit codes with integer weights, whose sums along each axis are powers of two:
// a chunk of channels of a line of positions. Channels-last: a vector holds neighbouring channels.
//
// First between the two source lines, once for each source column; the sums of the two columns of a position
// stay in registers, while neighbouring positions lie between the same ones. Then between these, rounded and
// divided by the sum of all weights. Sums have 16 bits where weights are small, as for whole factors of
// upsampling; else 32. Unpacking bytes to words and dwords leaves them in an order that packing undoes.

#include <cstdint>
#include <vector>

#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"

namespace octet::impl::jit {

/// The rounding of the quotient.
enum class code_rounding { half_up, half_away, half_even, towards_zero };

struct code_resampling_spec {
    instruction_set isa;
    bool is_signed = false;
    bool prefetches = false; ///< prefetches the line that `to_next_line` leads to
    bool streams = false;    ///< non-temporal stores, of whole vectors, aligned
    code_rounding rounding = code_rounding::half_up;
    /// Weights of the lines add up to 1 << line_bits, at least 2; those of columns to 1 << column_bits.
    int line_bits = 1, column_bits = 0;
    int vectors = 1;
    int tail = 1; ///< valid bytes of the last vector

    int bits() const { return line_bits + column_bits; }
    /// Sums of 255 by all weights, with what rounding adds, and of 255 by the lines' in 15 bits.
    bool has_words() const { return bits() <= 8 && line_bits <= 6; }
    /// Multiplies signed bytes; 32-bit sums have them as unsigned ones, 128 too high.
    bool has_signed_words() const { return is_signed && has_words(); }
    int vector_bytes() const { return isa.vector_bytes(); }
    /// Vectors of codes whose sums the registers hold.
    int most_vectors() const;
};

/// Neighbouring positions between the same source columns.
struct code_run {
    std::int64_t low, high; ///< bytes from the start of a source line
    std::int32_t follows;   ///< low is the high column of the run before
    std::int32_t positions;
};

/// A position's weights of its columns; twice, where sums are words.
struct code_weights {
    std::uint32_t low, high;
};

struct code_resampling_args {
    const void *low_line, *high_line; ///< first channel of the first element
    std::uint32_t low_weight, high_weight;
    const code_run *runs;
    std::int64_t count; ///< number of runs
    const code_weights *weights;
    void *dst;
    std::int64_t dst_step;     ///< bytes between positions
    std::int64_t to_next_line; ///< from high_line to what the next call is to find in the caches
};

/// The kernel of a spec.
shared_code<const code_resampling_args> code_resampling_code(const code_resampling_spec &spec);

} // namespace octet::impl::jit
