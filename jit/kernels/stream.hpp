#pragma once // SPDX-License-Identifier: Apache-2.0

// The stream kernel: rows of elements, each the result of a short program on one element of every source,
// finished by the shared epilogue. Binary, sum, reorder, element-wise functions and PReLU are programs for
// this one kernel (stream_program.hpp).

#include <cstdint>

#include "jit/base/finished_code.hpp"
#include "jit/kernels/stream_program.hpp"

namespace octet::impl::jit {

/// Vectors that the registers of spec.isa hold at a time, a power of 2; 0 if not even the smallest number
/// fits.
int stream_vectors(const stream_spec &spec, const epilogue_plan &plan);

struct stream_args {
    const void *src[max_stream_sources]; ///< first element of the first row
    void *dst;
    const std::uint32_t *program_params; ///< parameter vectors of the program, first block
    const std::uint32_t *params;         ///< parameter vectors of the epilogue, first block
    const void *const *full;             ///< as dot_args
    const void *table;                   ///< the table of code_table
    std::int64_t rows;
    std::int64_t groups;                       ///< per row
    std::int64_t has_rest;                     ///< whether rows end with the rest
    std::int64_t src_step[max_stream_sources]; ///< bytes from the end of a row to the next one
    std::int64_t dst_step;                     ///< the same in elements
};

/// The kernel of a spec.
shared_code<const stream_args> stream_code(const stream_spec &spec, const epilogue_plan &plan);

} // namespace octet::impl::jit
