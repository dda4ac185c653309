#pragma once // SPDX-License-Identifier: Apache-2.0

// The programs of the stream kernel: what happens to one element of every source before the epilogue. A
// program works on a stack of vectors: `load` pushes, unary steps change the top, binary ones replace the two
// topmost by one. Numbers come as parameter vectors, laid out as those of the epilogue: per block of 16
// columns 64 bytes each. If nothing varies along a row there is one block, of equal numbers.

#include <cstdint>
#include <string>
#include <vector>

#include "common/machine.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

enum class stream_op {
    load,                   ///< source `operand`; integers become s32 lanes
    to_f32,                 ///< from s32
    to_s32,                 ///< nearest even, saturating, NaN gives INT32_MIN
    convert_to_s32,         ///< nearest even; what doesn't fit gives INT32_MIN
    subtract_s32,           ///< x - p, wrapping
    subtract_s16,           ///< words of x - words of p: s16 lanes with upper words of 0
    multiply_s32,           ///< x * p, wrapping
    scale_code,             ///< x * p + ((x * next p + 2^(n-1)) >> n), n = scale_code_bits
    shift_left,             ///< by `operand` bits
    divide_by_pot,          ///< by 2^operand, ties away from zero
    shift_right_up,         ///< by `operand` bits, 1 and more, ties up
    requantize,             ///< `rule`, whose parameter vectors start at `operand`
    subtract,               ///< f32, as all below: x - p
    add,                    ///< x + p
    multiply,               ///< x * p
    multiply_add,           ///< x * p + next p, fused
    multiply_add_symmetric, ///< x * p + (x < 0 ? -1 : 1) * next p, fused
    divide,                 ///< x / p
    divide_in_range, ///< the same for parameter vectors 1 / divisor, divisor and limits of x; NaN becomes the lower one
    round_half_away, ///< to an integer
    eltwise,         ///< `alg` with `alpha` and `beta`
    code_table,      ///< s32: dword x of the table, x from 0
    binary,          ///< lower `alg` top
    add_pair,        ///< s32: lower + top, wrapping; and so on
    subtract_pair,
    multiply_pair,
    multiply_pair_s16,  ///< s16 lanes; the upper words of the top are 0
    code_sum_pair,      ///< sum of 8-bit codes (epilogue/code_sum.hpp); parameter vectors start at `operand`
    code_sum_away_pair, ///< the same with ties away from zero
    multiply_high_pair, ///< SRDHM; one of both is not negative
    divide_by_pot_pair, ///< lower / 2^top, ties away from zero
    multiply_add_pair,  ///< f32: lower * p + top, fused
    prelu,              ///< f32: lower > 0 ? lower : lower * top
};

constexpr int scale_code_bits = 22; ///< products with centred 8-bit codes have 32

struct stream_step {
    stream_op op;
    int operand = 0; ///< source, first parameter vector or a count
    algorithm alg = algorithm::undef;
    float alpha = 0.f, beta = 0.f;
    rule_spec rule = {};
};
using stream_program = std::vector<stream_step>;

constexpr int max_stream_sources = 4;

struct stream_source {
    data_type type;
    bool is_constant_in_row; ///< one element per row
};

/// Everything that decides the code.
struct stream_spec {
    instruction_set isa;
    std::vector<stream_source> sources;
    stream_program program;
    epilogue_stage value = epilogue_stage::f32_value; ///< stage of the program's result
    int program_params = 0;                           ///< parameter vectors of the program
    bool varies_in_row = false;      ///< parameter vectors of program and epilogue go on with the columns
    int vectors = 4;                 ///< in flight; see stream_vectors
    int rest = 0;                    ///< columns of a row beyond whole groups of `vectors`
    bool stores_past_caches = false; ///< rows of dst begin at multiples of 64 bytes
};

/// Names of what a spec reads and does, for that of its kernel.
std::string name_of(const std::vector<stream_source> &sources);
std::string name_of(const stream_program &program);

/// Vector registers that a program takes, that of its result included.
int stream_program_registers(const stream_spec &spec);

} // namespace octet::impl::jit
