#pragma once // SPDX-License-Identifier: Apache-2.0

// Kernels that run one after the other as parts of another one, which tells their plans and counts their bytes.

#include <memory>
#include <string>
#include <vector>

#include "cpu/implementation.hpp"

namespace octet::impl {

class several_kernels {
public:
    explicit several_kernels(const std::vector<candidate> &parts) {
        for (const candidate &part : parts)
            kernels_.push_back(part.make());
    }

    std::size_t count() const { return kernels_.size(); }
    const kernel &operator[](std::size_t i) const { return *kernels_[i]; }

    std::size_t size_bytes() const {
        std::size_t bytes = 0;
        for (const auto &part : kernels_)
            bytes += part->size_bytes();
        return bytes;
    }
    std::string plans() const {
        std::string plans;
        for (const auto &part : kernels_)
            append_plan(plans, *part);
        return plans;
    }

private:
    std::vector<std::shared_ptr<const kernel>> kernels_;
};

} // namespace octet::impl
