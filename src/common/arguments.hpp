#pragma once

// The buffers of one execution, by argument index. Checked against the primitive descriptor before they get here.

#include <unordered_map>

#include "octet/memory.hpp"

namespace octet::impl {

class arguments {
public:
    explicit arguments(const std::unordered_map<int, memory> &memories) : memories_(memories) {}

    /// Buffer of an argument, null if the primitive doesn't take it.
    template <typename T = void> T *get(int arg) const {
        const auto found = memories_.find(arg);
        return found == memories_.end() ? nullptr : static_cast<T *>(found->second.get_data_handle());
    }

private:
    const std::unordered_map<int, memory> &memories_;
};

} // namespace octet::impl
