#pragma once // SPDX-License-Identifier: Apache-2.0

// A value that takes long to find out, found out once.

#include <mutex>
#include <new>

namespace octet::impl {

/// The value of the first call of `get`. Where a fork interrupts that call in another thread, the child's
/// first call finds it out anew (as pthread_once promises in glibc); it would wait for ever for a local
/// static. To be declared static.
template <typename T> class first_use {
public:
    template <typename Make> const T &get(const Make &make) {
        std::call_once(once_, [&] { new (bytes_) T(make()); });
        return *std::launder(reinterpret_cast<const T *>(bytes_));
    }

private:
    std::once_flag once_;
    alignas(T) unsigned char bytes_[sizeof(T)] = {}; ///< never destroyed
};

} // namespace octet::impl
