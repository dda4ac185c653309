// Addresses without memory behind them cost nothing; the system gives pages when they are written to.
// SPDX-License-Identifier: Apache-2.0
#include "network/run/sequence_memory.hpp"

#include <numeric>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "octet/error.hpp"

namespace octet::model {
namespace {

constexpr std::size_t page_of_past = 4096;

[[noreturn]] void refuse_past(std::size_t bytes) {
    throw error(status::out_of_memory, "no memory for a sequence, whose keys and values take up to " +
                                           std::to_string(bytes) + " bytes");
}

} // namespace

// ---- The layout

void past_layout::add(dim_t groups, std::size_t row_bytes) {
    caches_.push_back({groups, row_bytes, bytes_});
    bytes_ += static_cast<std::size_t>(groups) * group_bytes(caches_.back());
}

dim_t past_layout::rows_of_pages(std::size_t row_bytes) {
    return static_cast<dim_t>(page_of_past / std::gcd(page_of_past, row_bytes));
}

std::size_t past_layout::whole_pages(std::size_t bytes) {
    return (bytes + page_of_past - 1) / page_of_past * page_of_past;
}

std::size_t past_layout::bytes_of(dim_t tokens) const {
    std::size_t bytes = 0;
    for (const cache &c : caches_)
        bytes +=
            static_cast<std::size_t>(c.groups) * whole_pages(static_cast<std::size_t>(tokens) * c.row_bytes);
    return bytes;
}

// ---- The memory

class sequence_memory::frozen {
public:
    explicit frozen(std::size_t bytes) : file_(memfd_create("octet sequence", MFD_CLOEXEC)) {
        if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0)
            refuse_past(bytes);
    }
    ~frozen() {
        if (file_ >= 0)
            close(file_);
    }
    frozen(const frozen &) = delete;
    frozen &operator=(const frozen &) = delete;

    void write(const std::uint8_t *bytes, std::size_t size, std::size_t offset) const {
        while (size > 0) {
            const ssize_t done = pwrite(file_, bytes, size, static_cast<off_t>(offset));
            if (done <= 0)
                refuse_past(size);
            bytes += done;
            size -= static_cast<std::size_t>(done);
            offset += static_cast<std::size_t>(done);
        }
    }
    int file() const { return file_; }

private:
    int file_;
};

sequence_memory::sequence_memory(std::shared_ptr<const past_layout> layout) : layout_(std::move(layout)) {
    void *const first = mmap(nullptr, layout_->bytes(), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (first == MAP_FAILED)
        refuse_past(layout_->bytes());
    first_ = static_cast<std::uint8_t *>(first);
}

sequence_memory::~sequence_memory() { munmap(first_, layout_->bytes()); }

void sequence_memory::append(dim_t tokens) {
    size_ += tokens;
    is_as_frozen_ = is_as_frozen_ && tokens == 0;
}

/// Pages without tokens are given back. Those that are shared keep what others have there.
void sequence_memory::truncate(dim_t size) {
    size_ = size;
    for (const past_layout::cache &c : layout_->caches()) {
        const std::size_t group = layout_->group_bytes(c);
        for (dim_t g = 0; g < c.groups; g++) {
            const std::size_t first = c.offset + static_cast<std::size_t>(g) * group,
                              kept = past_layout::whole_pages(static_cast<std::size_t>(size) * c.row_bytes);
            if (kept < group)
                madvise(first_ + first + kept, group - kept, MADV_DONTNEED);
        }
    }
}

/// Nobody else writes to the file, and this sequence will not either: its own pages are private from now on.
void sequence_memory::freeze() {
    auto file = std::make_shared<const frozen>(layout_->bytes());
    for (const past_layout::cache &c : layout_->caches())
        for (dim_t g = 0; g < c.groups; g++) {
            const std::size_t at = c.offset + static_cast<std::size_t>(g) * layout_->group_bytes(c);
            file->write(first_ + at, static_cast<std::size_t>(size_) * c.row_bytes, at);
        }
    frozen_ = std::move(file);
    map_frozen();
    is_as_frozen_ = true;
}

void sequence_memory::map_frozen() {
    if (mmap(first_, layout_->bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
             frozen_->file(), 0) == MAP_FAILED)
        refuse_past(layout_->bytes());
}

std::unique_ptr<sequence_memory> sequence_memory::fork() {
    auto other = std::make_unique<sequence_memory>(layout_);
    if (size_ == 0)
        return other;
    if (!is_as_frozen_)
        freeze();
    other->frozen_ = frozen_;
    other->map_frozen();
    other->size_ = size_;
    other->is_as_frozen_ = true;
    return other;
}

} // namespace octet::model
