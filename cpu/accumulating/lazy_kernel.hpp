#pragma once // SPDX-License-Identifier: Apache-2.0

// A kernel for arguments that hardly ever come: made when they first do, by whichever thread is first.

#include <memory>
#include <mutex>

#include "cpu/implementation.hpp"

namespace octet::impl {

class lazy_kernel {
public:
    template <typename Make> const kernel &get(const Make &make) const {
        std::call_once(once_, [&] { kernel_ = make(); });
        return *kernel_;
    }

private:
    mutable std::once_flag once_;
    mutable std::shared_ptr<const kernel> kernel_;
};

} // namespace octet::impl
