#pragma once // SPDX-License-Identifier: Apache-2.0

// Memory of packed weights. They lie one behind the other, so that they fill large pages of the system, which
// gives 2 MiB of memory in such a page ten times as fast as in 512 usual ones, and finds their addresses
// faster in runs.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "network/graph/file.hpp"

namespace octet::model {

class weight_memory {
public:
    /// For about so many bytes in all.
    explicit weight_memory(std::size_t expected) : expected_(expected) {}

    /// Bytes at a multiple of 64, which take memory when they are written. Not for several threads.
    std::shared_ptr<void> take(std::size_t bytes);

private:
    void reserve(std::size_t expected);

    std::size_t expected_;      ///< 0 when addresses have been reserved
    std::shared_ptr<void> all_; ///< addresses
    std::uint8_t *next_ = nullptr, *end_ = nullptr;
};

} // namespace octet::model
