#pragma once // SPDX-License-Identifier: Apache-2.0

// The parameter vectors of an epilogue for all channels: what is known at creation, completed for each execution.

#include <cstdint>
#include <vector>

#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl {

class epilogue_params {
public:
    epilogue_params(const jit::epilogue_plan &plan, dim_t channels);

    /// Returns the parameter vectors of all channels, valid until this thread asks for others.
    const std::uint32_t *bind(const jit::epilogue_plan &plan, const arguments &args) const;
    /// From there to those of a channel where a block begins.
    dim_t offset_of(dim_t channel) const { return channel / jit::columns_per_block * block_words_; }
    std::size_t size_bytes() const { return constants_.size() * sizeof constants_[0]; }

private:
    const dim_t channels_, block_words_;
    std::vector<std::uint32_t> constants_;
};

} // namespace octet::impl
