// Chooses the tiles that the registers hold, and computes the memory that a call takes.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/depthwise.hpp"

#include <cstddef>

namespace octet::impl::jit {

namespace {

constexpr int largest_tile = 20;      // accumulators; more gain little and leave no registers for weights
constexpr int largest_wide_tile = 24; // accumulators of several blocks: their weights are operands in memory

} // namespace

int depthwise_reduction_temps(instruction_set isa, int blocks) {
    if (blocks > 1)
        return 6;
    return isa.lanes() == 16 && isa.has_dot4() ? 3 : 4;
}

std::int64_t scratch_bytes(instruction_set isa, const tap_patches &patches, const epilogue_plan &plan) {
    if (!isa.has_dot4())
        return patches.vectors() * 2 * block_vector_bytes;
    return interleaved_blocks * (patches.vectors() + 1 + plan.params().count) * block_vector_bytes;
}

int max_tile_blocks(instruction_set isa, bool sums_source) {
    return isa.lanes() == 16 && isa.has_dot4() && !sums_source ? interleaved_blocks : 1;
}

/// While products are added, accumulators share the registers with quads and weights; in the epilogue, with
/// its temporaries; where the source is summed for zero points of weights, every accumulator has a twin.
/// Columns come in whole phases, whose outputs use the same quads.
int max_tile_columns(instruction_set isa, const tap_patches &patches, bool sums_source, int epilogue_temps,
                     int blocks) {
    const int registers = isa.registers();
    const auto phases = static_cast<int>(patches.columns.phases),
               rows = static_cast<int>(patches.rows.phases);
    const int order = isa.lanes() == 16 ? 1 : 0;
    const auto fits = [&](int columns) {
        const int accs = rows * columns * blocks;
        return accs <= (blocks > 1 ? largest_wide_tile : largest_tile) &&
               accs * (sums_source ? 2 : 1) + depthwise_reduction_temps(isa, blocks) <= registers &&
               accs + epilogue_temps + order <= registers;
    };
    int columns = phases;
    while (fits(columns + phases))
        columns += phases;
    return columns;
}

bool can_slide(instruction_set isa, const tap_patches &patches, const tap_axis &column_taps, bool sums_source,
               int epilogue_temps, int blocks) {
    const patch_axis &columns = patches.columns;
    return blocks > 1 && columns.kernel > 1 && columns.size == 1 && columns.phases == 1 &&
           column_taps.stride == 1 && column_taps.dilation == 1 &&
           columns.kernel <= max_tile_columns(isa, patches, sums_source, epilogue_temps, blocks);
}

} // namespace octet::impl::jit
