#pragma once // SPDX-License-Identifier: Apache-2.0

// Working memory of a thread that outlives a call, so that `execute` allocates nothing once it has run. Each
// use has a slot; a slot grows to the largest size ever asked for.

#include <cstddef>
#include <cstdint>

namespace octet::impl {

enum class scratch_slot {
    source_rows,
    column_params,
    initial_accumulators,
    packed_weights,
    wide_weights, ///< the weights of a panel
    plain_weights,
    taken_taps, ///< some of the packed weights of a deconvolution
    row_sums,
    kept_sums, ///< of a part of the reduction
    tap_offsets,
    between_steps,
    between_outer_steps, ///< between the two steps of a step
    recurrent,           ///< gates and states of a recurrent network
    recurrent_block,     ///< gates of some channels
    recurrent_weights,
    channels_last,
    as_f32, ///< tensors of bf16 and f16
    source_codes,
    source_parameters,
    source_copy, ///< a row of another type or stride
    row_extremes,
    column_scales,
    column_sums,
    scaled_weights, ///< weights packed with scales
    between_convolutions,
    count
};

/// At least `bytes` bytes, aligned to 64, valid until this thread asks for the same slot again.
void *thread_scratch(scratch_slot slot, std::size_t bytes);

/// The same for `count` elements.
template <typename T> T *scratch_of(scratch_slot slot, std::int64_t count) {
    return static_cast<T *>(thread_scratch(slot, static_cast<std::size_t>(count) * sizeof(T)));
}

} // namespace octet::impl
