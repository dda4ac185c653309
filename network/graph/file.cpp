// Files come from outside: a directory, a pipe or a name with control characters must end in one sentence. A
// mapped file that is cut ends whoever reads it (SIGBUS), and one that is written changes behind all checks:
// files that others may write are copied.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/file.hpp"
#include "octet/network.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <limits>
#include <new>

namespace octet::model {
namespace {

/// Owner of a mapping's bytes. Its type tells mapped bytes from others.
struct unmap {
    std::size_t size;
    void operator()(const void *first) const { munmap(const_cast<void *>(first), size); }
};

/// Owner of borrowed bytes, which likewise are known by its type.
struct leave_to_lender {
    void operator()(const void *) const {}
};

class file_descriptor {
public:
    explicit file_descriptor(const std::string &path) : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~file_descriptor() {
        if (number_ >= 0)
            close(number_);
    }
    file_descriptor(const file_descriptor &) = delete;
    file_descriptor &operator=(const file_descriptor &) = delete;
    int number() const { return number_; }

private:
    int number_;
};

/// Whether another user than this one and root can write to a file.
bool is_writable_by_others(const struct stat &status) {
    return (status.st_uid != geteuid() && status.st_uid != 0) || (status.st_mode & S_IWOTH) != 0 ||
           ((status.st_mode & S_IWGRP) != 0 && status.st_gid != getegid());
}

/// All bytes of an open file; none if it ends before.
shared_bytes read_all(int file, std::size_t size) {
    const std::shared_ptr<void> bytes = aligned_memory(size);
    for (std::size_t done = 0; done < size;) {
        const ssize_t count = read(file, static_cast<char *>(bytes.get()) + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return {};
        done += static_cast<std::size_t>(count);
    }
    return {bytes, bytes.get(), size};
}

/// Bytes of the character that begins there, 0 if none does: names go to Python and into JSON, which take UTF-8 alone.
std::size_t utf8_length(const std::string &text, std::size_t begin) {
    struct form {
        unsigned mask, lead, least, most; ///< of the first byte; code points
    };
    constexpr form forms[] = {{0x80, 0x00, 0, 0x7f},
                              {0xe0, 0xc0, 0x80, 0x7ff},
                              {0xf0, 0xe0, 0x800, 0xffff},
                              {0xf8, 0xf0, 0x10000, 0x10ffff}};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    for (std::size_t length = 1; length <= std::size(forms); length++) {
        const form &f = forms[length - 1];
        if ((byte(begin) & f.mask) != f.lead)
            continue;
        unsigned point = byte(begin) & ~f.mask;
        for (std::size_t i = 1; i < length; i++) {
            if (begin + i >= text.size() || (byte(begin + i) & 0xc0) != 0x80)
                return 0;
            point = point << 6 | (byte(begin + i) & 0x3f);
        }
        const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
        return point < f.least || point > f.most || is_surrogate ? 0 : length;
    }
    return 0;
}

} // namespace

shared_bytes map_file(const std::string &path) {
    if (path.find('\0') != std::string::npos) // the system would take what is before it
        refuse(std::string(path.c_str()) + ": a zero byte follows in the name, which no file has");
    if (path.empty())
        refuse("a model's name is '', allowed: the name of a file");
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        refuse(path + ": does not exist");
    if (std::filesystem::is_directory(path, ignored))
        refuse(path + ": is a directory");
    if (!std::filesystem::is_regular_file(path, ignored)) // opening a pipe would wait
        refuse(path + ": is not a file");
    const file_descriptor file(path);
    struct stat status = {};
    if (file.number() < 0 || fstat(file.number(), &status) != 0)
        refuse(path + ": cannot be opened");
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) // there is no mapping of no bytes
        return {};
    if (is_writable_by_others(status)) {
        const shared_bytes copy = read_all(file.number(), size);
        if (copy.size() != size)
            refuse(path + ": cannot be read to its end");
        return copy;
    }
    void *first = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (first == MAP_FAILED)
        refuse(path + ": cannot be mapped");
    return {std::shared_ptr<const void>(first, unmap{size}), first, size};
}

shared_bytes map_small_file(const std::string &path) {
    shared_bytes bytes = map_file(path);
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        refuse(path + ": is larger than 2 GiB");
    return bytes;
}

bool is_mapped(const shared_bytes &bytes) { return bytes.owner() && std::get_deleter<unmap>(bytes.owner()); }

bool is_borrowed(const shared_bytes &bytes) {
    return bytes.owner() && std::get_deleter<leave_to_lender>(bytes.owner());
}

void release_pages(const shared_bytes &bytes) {
    if (!is_mapped(bytes))
        return;
    // Pages at the ends are shared with neighbours, which get them back from the file, too.
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(bytes.data());
    const std::uintptr_t inside = first % page;
    madvise(const_cast<std::uint8_t *>(bytes.data()) - inside, bytes.size() + inside, MADV_DONTNEED);
}

void release_all_pages(const shared_bytes &bytes) {
    if (const unmap *whole = bytes.owner() ? std::get_deleter<unmap>(bytes.owner()) : nullptr)
        madvise(const_cast<void *>(bytes.owner().get()), whole->size, MADV_DONTNEED);
}

void load_pages(const shared_bytes &bytes) {
#ifdef MADV_POPULATE_READ
    if (is_mapped(bytes)) // older systems load them one by one
        madvise(const_cast<std::uint8_t *>(bytes.data()), bytes.size(), MADV_POPULATE_READ);
#else
    static_cast<void>(bytes);
#endif
}

shared_bytes zero_bytes(std::size_t size) {
    if (size == 0)
        return {};
    void *first = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (first == MAP_FAILED)
        throw std::bad_alloc();
    return {std::shared_ptr<const void>(first, unmap{size}), first, size};
}

std::shared_ptr<void> aligned_memory(std::size_t size) {
    constexpr std::align_val_t alignment{64};
    return {::operator new(std::max<std::size_t>(size, 1), alignment),
            [](void *first) { ::operator delete(first, alignment); }};
}

shared_bytes aligned_copy(const std::uint8_t *bytes, std::size_t size) {
    const std::shared_ptr<void> copy = aligned_memory(size);
    std::copy(bytes, bytes + size, static_cast<std::uint8_t *>(copy.get()));
    return {copy, copy.get(), size};
}

std::string printable(std::string text) {
    constexpr std::size_t max_length = 120;
    const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
    if (text.size() <= max_length && std::all_of(text.begin(), text.end(), is_plain))
        return text; // nearly all
    std::string fit;
    for (std::size_t i = 0, length; i < text.size(); i += std::max<std::size_t>(length, 1)) {
        length = utf8_length(text, i);
        const auto first = static_cast<unsigned char>(text[i]);
        const std::string next = length == 0 || first < 0x20 || first == 0x7f ? "?" : text.substr(i, length);
        if (fit.size() + next.size() > max_length)
            break;
        fit += next;
    }
    return fit;
}

} // namespace octet::model

octet::model::shared_bytes octet::model::borrowed(const void *bytes, std::size_t size) {
    return {std::shared_ptr<const void>(bytes, leave_to_lender()), bytes, size};
}
