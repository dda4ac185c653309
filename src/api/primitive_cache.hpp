#pragma once

// The primitive cache: kernels by key, least recently used ones dropped first, bounded in bytes (keys
// included).

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl {

/// The kernel for this key, made by `create` outside the lock if it is not there. Two threads that miss at
/// the same time both create; the first one's kernel is kept. Safe from many threads.
std::shared_ptr<const kernel> cached_kernel(const std::string &key,
                                            const std::function<std::shared_ptr<const kernel>()> &create);

} // namespace octet::impl
