#pragma once // SPDX-License-Identifier: Apache-2.0

// Buffers between two unmapped pages: an access one byte before or after the tensor ends the test with a
// fault.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "octet/octet.hpp"

namespace octet::test {

class guarded_memory {
public:
    enum class edge { end, start }; ///< the end of the buffer that touches an unmapped page

    guarded_memory(const memory::desc &md, const engine &e, edge at = edge::end) : size_(md.get_size()) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        mapped_ = (size_ + page - 1) / page * page + 2 * page;
        base_ = static_cast<std::uint8_t *>(
            mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (mapped_ > 2 * page)
            mprotect(base_ + page, mapped_ - 2 * page, PROT_READ | PROT_WRITE);
        std::uint8_t *start = at == edge::end ? base_ + mapped_ - page - size_ : base_ + page;
        memory_ = memory(md, e, size_ ? start : nullptr);
    }
    ~guarded_memory() { munmap(base_, mapped_); }
    guarded_memory(const guarded_memory &) = delete;
    guarded_memory &operator=(const guarded_memory &) = delete;

    const memory &get() const { return memory_; }
    std::size_t size() const { return size_; }
    std::uint8_t *bytes() const { return static_cast<std::uint8_t *>(memory_.get_data_handle()); }
    void copy_from(const memory &other) const { std::memcpy(bytes(), other.get_data_handle(), size_); }

private:
    std::size_t size_, mapped_;
    std::uint8_t *base_;
    memory memory_;
};

} // namespace octet::test
