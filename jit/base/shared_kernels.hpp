#pragma once // SPDX-License-Identifier: Apache-2.0

// Finished kernels by class and key, while some primitive has them.

#include <functional>
#include <memory>
#include <string>
#include <typeindex>

namespace octet::impl::jit {

/// The kernel of a class and a key, or what `make` returns. It is called outside of all locks and may ask for
/// other kernels; threads that want the same kernel wait for the one that makes it, others do not.
std::shared_ptr<const void> find_or_make_kernel(std::type_index kernel_class, const std::string &key,
                                                const std::function<std::shared_ptr<const void>()> &make);

} // namespace octet::impl::jit
