#pragma once // SPDX-License-Identifier: Apache-2.0

// The resampling kernel: a chunk of channels of a line of output positions. Channels-last: a vector holds
// neighbouring channels, so that the two or four source elements of a position are vectors, and its weights
// are broadcast.

#include <cstdint>
#include <vector>

#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

/// The arithmetic of the neighbours of a position; src/common/resampling.hpp has their weights.
enum class resampling_form {
    copy,            ///< nearest: bytes as they are, without epilogue
    nearest,         ///< one element
    fused,           ///< oneDNN: along the width, then the height, far neighbours by a fused multiply-add
    fixed_half_away, ///< TFLite: Σ of codes by products of 10-bit weights, ties away from zero
    fixed_half_up,   ///< TFLite with single rounding
    truncated,       ///< ONNX Runtime: Σ of f32 products, towards zero
    half_away,       ///< SNPS-Caffe: a + (b - a) * weight along both, ties away from zero
};

/// Everything that decides the code.
struct resampling_spec {
    instruction_set isa;
    resampling_form form = resampling_form::nearest;
    data_type type = data_type::u8; ///< type of the source
    bool has_two_lines = false;     ///< interpolates between two source lines
    bool is_final = false;          ///< the form's f32 values are the result: there is no epilogue
    bool streams = false;           ///< non-temporal stores, aligned: of a copy or of final results
    bool prefetches = false;        ///< prefetches the line that `to_next_line` leads to
    int vectors = 1;
    int tail = 1; ///< valid lanes of the last vector; bytes for copy
};

/// Lanes of a vector: bytes for copy.
int resampling_lanes(instruction_set isa, resampling_form form);
/// Vectors that the registers of spec.isa hold at a time; 0 if not even the smallest number fits.
int resampling_vectors(const resampling_spec &spec, const epilogue_plan &plan);
/// Vectors at a time of final results, which take one register after the other.
constexpr int final_resampling_vectors = 16;
/// The stage at which results of a form enter the epilogue.
epilogue_stage resampled_stage(resampling_form form, data_type src);

/// A position of a line: its neighbours along the width.
struct resampling_column {
    std::int64_t low, high;                ///< bytes from the start of a source line
    std::uint32_t low_weight, high_weight; ///< s32 or f32
};

struct resampling_args {
    const void *low_line, *high_line; ///< first channel of the first element
    std::uint32_t low_weight, high_weight;
    const resampling_column *columns;
    std::int64_t count;
    void *dst;
    std::int64_t dst_step;       ///< elements between positions; bytes for copy
    const std::uint32_t *params; ///< parameter vectors of the first column block
    const void *const *full;     ///< as dot_args
    std::int64_t to_next_line;   ///< from high_line to what the next line is to find in the caches
};

/// The kernel of a spec. A copy and final results have no epilogue.
shared_code<const resampling_args> resampling_code(const resampling_spec &spec, const epilogue_plan *plan);

} // namespace octet::impl::jit
