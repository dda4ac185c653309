// Parameter vectors that attributes decide are filled when a kernel is made; those that come with arguments
// are filled on a copy of them.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/accumulating/epilogue_params.hpp"

#include <algorithm>

#include "cpu/machine/scratch.hpp"

namespace octet::impl {

epilogue_params::epilogue_params(const jit::epilogue_plan &plan, dim_t channels)
    : channels_(channels), block_words_(plan.params().count * jit::columns_per_block),
      constants_(static_cast<std::size_t>(div_up(channels, jit::columns_per_block) * block_words_)) {
    plan.fill_constants(0, channels, constants_.data());
}

const std::uint32_t *epilogue_params::bind(const jit::epilogue_plan &plan, const arguments &args) const {
    if (!plan.has_argument_params())
        return constants_.data();
    auto *filled = static_cast<std::uint32_t *>(thread_scratch(scratch_slot::column_params, size_bytes()));
    std::copy(constants_.begin(), constants_.end(), filled);
    plan.fill_arguments(args, 0, channels_, filled);
    return filled;
}

} // namespace octet::impl
