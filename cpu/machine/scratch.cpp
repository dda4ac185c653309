// One growing buffer for each slot of each thread.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/scratch.hpp"

#include <new>

namespace octet::impl {

namespace {

constexpr std::align_val_t alignment{64};

class buffer {
public:
    ~buffer() { ::operator delete(data_, alignment); }

    void *at_least(std::size_t bytes) {
        if (bytes > size_) {
            ::operator delete(data_, alignment);
            data_ = nullptr;
            size_ = 0;
            data_ = ::operator new(bytes, alignment);
            size_ = bytes;
        }
        return data_;
    }

private:
    void *data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace

void *thread_scratch(scratch_slot slot, std::size_t bytes) {
    thread_local buffer buffers[static_cast<int>(scratch_slot::count)];
    return buffers[static_cast<int>(slot)].at_least(bytes);
}

} // namespace octet::impl
