#pragma once // SPDX-License-Identifier: Apache-2.0

// The primitive cache: kernels by key, least recently used ones dropped first, bounded in bytes (keys
// included).

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "cpu/implementation.hpp"

namespace octet::impl {

/// The kernel for this key, made by `create` outside the lock if it is not there. A thread that misses while another
/// one makes it waits for that; `create` runs its loops in one thread, so that it takes up nobody else's work, which
/// might wait for its kernel. Safe from many threads.
std::shared_ptr<const kernel> cached_kernel(const std::string &key,
                                            const std::function<std::shared_ptr<const kernel>()> &create);

} // namespace octet::impl
