#pragma once // SPDX-License-Identifier: Apache-2.0

// The buffers of one execution, by argument index. Checked against the primitive descriptor before they get
// here.

#include <unordered_map>

#include "octet/memory.hpp"
#include "octet/primitive.hpp"

namespace octet::impl {

class arguments {
public:
    explicit arguments(const std::unordered_map<int, memory> &memories) : memories_(&memories) {}
    arguments(const primitive::argument *buffers, std::size_t count) : buffers_(buffers), count_(count) {}
    /// The buffers of `base`, which must outlive this, with one replaced: for a step of a larger computation.
    arguments(const arguments &base, int arg, void *buffer)
        : base_(&base), replaced_(arg), replacement_(buffer) {}

    /// Buffer of an argument, null if the primitive doesn't take it.
    template <typename T = void> T *get(int arg) const {
        if (base_)
            return arg == replaced_ ? static_cast<T *>(replacement_) : base_->get<T>(arg);
        if (!memories_) {
            for (std::size_t i = 0; i < count_; i++)
                if (buffers_[i].arg == arg)
                    return static_cast<T *>(buffers_[i].handle);
            return nullptr;
        }
        const auto found = memories_->find(arg);
        return found == memories_->end() ? nullptr : static_cast<T *>(found->second.get_data_handle());
    }

private:
    const std::unordered_map<int, memory> *memories_ = nullptr;
    const primitive::argument *buffers_ = nullptr;
    std::size_t count_ = 0;
    const arguments *base_ = nullptr;
    int replaced_ = 0;
    void *replacement_ = nullptr;
};

} // namespace octet::impl
