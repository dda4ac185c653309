#pragma once // SPDX-License-Identifier: Apache-2.0

// An operation on blocks of its tensors, so that what one step leaves is in a cache when the next reads it.

#include <memory>

#include "cpu/implementation.hpp"

namespace octet::impl::stream {

/// Blocks side by side along the dimensions that are cut; the last ones along one of them may be smaller.
struct partition {
    int ndims = 0;
    dim_t dims[max_ndims] = {};  ///< sizes of the tensors
    dim_t block[max_ndims] = {}; ///< sizes of a block
    int last_cut = -1;           ///< the only dimension that may have a rest; -1: one block

    bool is_whole() const { return last_cut < 0; }
    /// Size of the last block along `last_cut`.
    dim_t rest() const { return dims[last_cut] % block[last_cut]; }
    dim_t count() const;
    /// A tensor as a block has it, or as the last block does.
    memory_desc part_of(memory_desc md, bool is_rest) const;
};

/// Cuts the outermost dimensions of src, which is thus read in long runs, until blocks of dst have about so
/// many bytes; but neither `kept`, if not -1, nor lines of dst.
partition partition_of(const memory_desc &src, const memory_desc &dst, int kept, dim_t most_bytes);

/// Runs `whole` for each block and `rest` for those that are smaller.
std::shared_ptr<const kernel> create_blocks(const partition &p, const memory_desc &src,
                                            const memory_desc &dst, std::shared_ptr<const kernel> whole,
                                            std::shared_ptr<const kernel> rest);

} // namespace octet::impl::stream
