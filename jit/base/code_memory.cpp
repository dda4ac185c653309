// A file grows by appending; ranges of kernels that are gone are used again. A child process shares the files with its
// parent, so after a fork neither of them writes to what both have: each goes on with files of its own.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/code_memory.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xbyak/xbyak.h>

#include "octet/fork_guard.hpp"

namespace octet::impl::jit {
namespace {

constexpr std::size_t alignment = 64, file_bytes = std::size_t{1} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// Whether a file may be as large. The limit counts for files in memory too, and the system ends a process
/// that oversteps it.
bool is_within_limit(std::size_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

int create_file(std::size_t bytes) {
    if (!is_within_limit(bytes))
        return -1;
    int file = -1;
#ifdef MFD_EXEC // systems may ask for it; older ones do not know it
    file = memfd_create("octet-code", MFD_CLOEXEC | MFD_EXEC);
#endif
    if (file < 0)
        file = memfd_create("octet-code", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        close(file);
        file = -1;
    }
    return file;
}

/// A file in memory with an executable view.
class code_file {
public:
    explicit code_file(std::size_t bytes) : size_(bytes), file_(create_file(bytes)) {
        void *view = MAP_FAILED;
        if (file_ >= 0)
            view = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file_, 0);
        if (view == MAP_FAILED || fstat(file_, &identity_) != 0)
            return;
        view_ = static_cast<std::uint8_t *>(view);
        free_[0] = bytes;
    }
    ~code_file() {
        if (view_)
            munmap(view_, size_);
        if (is_still_ours())
            close(file_);
    }
    code_file(const code_file &) = delete;
    code_file &operator=(const code_file &) = delete;

    bool is_unused() const { return used_ == 0; }
    /// No range of it is given out again.
    void seal() {
        is_sealed_ = true;
        free_.clear();
    }

    /// Null if there is no place, or the file cannot be written.
    const void *add(const std::uint8_t *code, std::size_t bytes) {
        const std::size_t taken = rounded_up(bytes, alignment);
        const auto place = std::find_if(free_.begin(), free_.end(),
                                        [taken](const auto &range) { return range.second >= taken; });
        if (place == free_.end())
            return nullptr;
        const auto [offset, size] = *place;
        if (!write(offset, code, bytes)) {
            seal();
            return nullptr;
        }
        free_.erase(place);
        if (size > taken)
            free_[offset + taken] = size - taken;
        used_ += taken;
        return view_ + offset;
    }

    void remove(const void *code, std::size_t bytes) {
        const std::size_t taken = rounded_up(bytes, alignment);
        used_ -= taken;
        if (!is_sealed_)
            give_back(static_cast<std::size_t>(static_cast<const std::uint8_t *>(code) - view_), taken);
    }

private:
    void give_back(std::size_t offset, std::size_t taken) {
        auto range = free_.emplace(offset, taken).first;
        if (const auto next = std::next(range);
            next != free_.end() && range->first + range->second == next->first) {
            range->second += next->second;
            free_.erase(next);
        }
        if (range == free_.begin())
            return;
        if (const auto before = std::prev(range); before->first + before->second == range->first) {
            before->second += range->second;
            free_.erase(range);
        }
    }

    /// A program that closes all files when it becomes a daemon may have another one under this number.
    bool is_still_ours() const {
        struct stat now;
        return file_ >= 0 && fstat(file_, &now) == 0 && now.st_dev == identity_.st_dev &&
               now.st_ino == identity_.st_ino;
    }

    bool write(std::size_t offset, const std::uint8_t *code, std::size_t bytes) {
        if (!is_still_ours() || !is_within_limit(offset + bytes))
            return false;
        while (bytes > 0) {
            const ssize_t written = pwrite(file_, code, bytes, static_cast<off_t>(offset));
            if (written <= 0)
                return false;
            code += written;
            offset += static_cast<std::size_t>(written);
            bytes -= static_cast<std::size_t>(written);
        }
        return true;
    }

    const std::size_t size_;
    const int file_;
    struct stat identity_ = {};
    std::uint8_t *view_ = nullptr;
    std::map<std::size_t, std::size_t> free_; ///< offset, size
    std::size_t used_ = 0;
    bool is_sealed_ = false;
};

class code_files {
public:
    /// Kernels of static objects go after it would, so it stays.
    static code_files &instance() {
        static code_files *const files = new code_files;
        return *files;
    }

    /// Null where the system has no such files.
    std::shared_ptr<const void> add(const std::uint8_t *code, std::size_t bytes) {
        const auto [file, at] = find_place(code, bytes);
        if (!at)
            return nullptr;
        return {at, [this, file = file, bytes](const void *gone) { remove(*file, gone, bytes); }};
    }

private:
    std::pair<code_file *, const void *> find_place(const std::uint8_t *code, std::size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (code_file &file : files_)
            if (const void *at = file.add(code, bytes))
                return {&file, at};
        files_.emplace_back(std::max(file_bytes, rounded_up(bytes, alignment)));
        if (const void *at = files_.back().add(code, bytes))
            return {&files_.back(), at};
        files_.pop_back();
        return {};
    }

    void remove(code_file &file, const void *code, std::size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        file.remove(code, bytes);
        if (file.is_unused())
            files_.remove_if([&file](const code_file &f) { return &f == &file; });
    }

    std::mutex mutex_;
    std::list<code_file> files_;
    const fork_guard at_fork_{mutex_, [this](fork_guard::process) {
                                  for (code_file &file : files_)
                                      file.seal();
                              }};
};

std::shared_ptr<const void> on_own_pages(const std::uint8_t *code, std::size_t bytes) {
    void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        throw Xbyak::Error(Xbyak::ERR_CANT_ALLOC);
    std::shared_ptr<const void> owner(pages,
                                      [bytes](const void *at) { munmap(const_cast<void *>(at), bytes); });
    std::memcpy(pages, code, bytes);
    if (mprotect(pages, bytes, PROT_READ | PROT_EXEC) != 0)
        throw Xbyak::Error(Xbyak::ERR_CANT_PROTECT);
    return owner;
}

struct unmap {
    void operator()(std::uint8_t *bytes) const { munmap(bytes, code_buffer::size); }
};
using buffer = std::unique_ptr<std::uint8_t, unmap>;

/// Pages that nobody has used: most code fills few of them, and the others take no memory.
std::uint8_t *fresh_pages() {
    void *pages =
        mmap(nullptr, code_buffer::size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        throw std::bad_alloc();
    return static_cast<std::uint8_t *>(pages);
}

/// The memory that the thread emitted into last, for the next generator.
thread_local buffer spare;

} // namespace

std::shared_ptr<const void> make_executable(const std::uint8_t *code, std::size_t bytes,
                                            bool on_pages_of_its_own) {
    if (!on_pages_of_its_own)
        if (std::shared_ptr<const void> made = code_files::instance().add(code, bytes))
            return made;
    return on_own_pages(code, bytes);
}

code_buffer::code_buffer() : bytes_(spare ? spare.release() : fresh_pages()) {}
code_buffer::~code_buffer() { spare.reset(bytes_); }

} // namespace octet::impl::jit
