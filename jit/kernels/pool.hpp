#pragma once // SPDX-License-Identifier: Apache-2.0

// The pooling kernel: a chunk of channels of consecutive output positions whose windows have the same taps.
// Channels-last: a vector holds neighbouring channels.
//
//   maximum   bytes are compared as they are; a clip post-op clamps the result
//   others    s32 or f32 lanes: Σ over the taps in window order, then the form's mean and the shared epilogue

#include <cstdint>
#include <vector>

#include "common/machine.hpp"
#include "common/pooling_problem.hpp"
#include "jit/base/finished_code.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

/// Everything that decides the code.
struct pool_spec {
    instruction_set isa;
    pooling_form form = pooling_form::maximum;
    bool is_signed = false;
    int vectors = 1;         ///< vectors per step, of 8-bit lanes (maximum) or 32-bit lanes
    int tail = 1;            ///< valid lanes of the last vector
    int low = 0, high = 255; ///< maximum: clamps the codes
};

/// Channels of a chunk: lanes of the last vector included.
int pool_lanes(instruction_set isa, pooling_form form);

struct pool_args {
    const void *src;                 ///< first channel of the first position's window origin
    const std::int64_t *tap_offsets; ///< bytes from there
    std::int64_t taps;
    void *dst;
    const std::uint32_t *params; ///< parameter vectors of the first column block
    const void *const *full;     ///< as dot_args
    std::int64_t positions;
    std::int64_t src_step, dst_step; ///< elements between positions; those of src are bytes
    std::int32_t initial;            ///< value to add to the sum
    std::int32_t half_count;         ///< rounded_average: n / 2
    float count;                     ///< n
    std::int32_t src_zero_point;     ///< dequantized
    float src_scale, dst_scale;      ///< dequantized
};

/// The kernel of a spec. A maximum has no epilogue.
shared_code<const pool_args> pool_code(const pool_spec &spec, const epilogue_plan *plan);

} // namespace octet::impl::jit
