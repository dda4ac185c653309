// A file without a name vanishes with its process, so nothing is left of a writer that was killed; it gets a name when
// it is whole, and is renamed from that. File systems without such files get one of a name that nobody has.
// SPDX-License-Identifier: Apache-2.0
#include "storage/replacement.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <system_error>

#include "octet/error.hpp"

namespace octet::storage {
namespace {

constexpr int attempts = 100; // at a name that nobody has

[[noreturn]] void refuse(const std::string &path, const std::string &complaint) {
    throw error(status::invalid_arguments, path + ": " + complaint);
}

[[noreturn]] void fail(const std::string &path, int error_number) {
    throw error(status::runtime_error,
                path + ": cannot be written: " + std::generic_category().message(error_number));
}

std::string folder_of(const std::string &path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

struct destination {
    std::string target;
    int mode; ///< -1: nothing is there
};

/// The file that will be replaced. The system follows the path, because it refuses links of other users in
/// directories that everybody may write.
destination destination_of(const std::string &path) {
    if (path.find('\0') != std::string::npos) // the system would take what is before it
        refuse(path.c_str(), "a zero byte follows in the name, which no file has");
    struct stat s;
    if (::stat(path.c_str(), &s) == 0) {
        if (S_ISDIR(s.st_mode))
            refuse(path, "is a directory");
        if (!S_ISREG(s.st_mode))
            refuse(path, "is not a regular file");
        const std::unique_ptr<char, void (*)(void *)> target(::realpath(path.c_str(), nullptr), std::free);
        if (!target || ::access(path.c_str(), W_OK) != 0)
            fail(path, errno);
        return {target.get(), static_cast<int>(s.st_mode & 0777)};
    }
    if (errno != ENOENT)
        fail(path, errno);
    if (::lstat(path.c_str(), &s) == 0)
        refuse(path, "is a symbolic link to a file that does not exist");
    return {path, -1};
}

/// Throws where no file can be made in the target's folder.
destination checked_destination_of(const std::string &path) {
    destination p = destination_of(path);
    const std::string inside = folder_of(p.target) + "/."; // no directory has nothing inside
    if (path.empty() || ::access(inside.c_str(), W_OK | X_OK) != 0)
        fail(path, path.empty() ? ENOENT : errno);
    return p;
}

} // namespace

void require_replaceable(const std::string &path) { checked_destination_of(path); }

replacement::replacement(const std::string &path) : path_(path) {
    const destination p = checked_destination_of(path);
    target_ = p.target;
    mode_ = p.mode;
    open_in(folder_of(target_));
    if (file_ < 0)
        fail(path_, errno);
}

replacement::~replacement() {
    if (file_ >= 0)
        ::close(file_);
    if (!name_.empty())
        ::unlink(name_.c_str());
}

void replacement::open_in(const std::string &folder) {
    constexpr mode_t permissions = 0666;      // less what the process's mask forbids
    if (::access("/proc/self/fd", X_OK) == 0) // by which it gets its name
        file_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, permissions);
    for (int i = 0; i < attempts && file_ < 0; i++) {
        const std::string name = new_name();
        file_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions);
        if (file_ >= 0)
            name_ = name;
        else if (errno != EEXIST)
            return;
    }
}

/// In the folder of the target.
std::string replacement::new_name() const {
    char digits[2 * sizeof(unsigned) + 1];
    std::snprintf(digits, sizeof digits, "%08x", std::random_device()());
    return folder_of(target_) + "/.octet-" + digits;
}

void replacement::write(const void *bytes, std::size_t size) {
    constexpr std::size_t most = std::size_t{1} << 30; // the system takes no more than 2 GiB at once
    const auto *next = static_cast<const char *>(bytes);
    while (size > 0) {
        const ssize_t written = ::write(file_, next, std::min(size, most));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            fail(path_, written < 0 ? errno : ENOSPC);
        next += written;
        size -= static_cast<std::size_t>(written);
    }
}

void replacement::commit() {
    if (mode_ >= 0 && ::fchmod(file_, static_cast<mode_t>(mode_)) != 0)
        fail(path_, errno);
    // These say that there is nothing to wait for.
    if (::fsync(file_) != 0 && errno != EINVAL && errno != EROFS)
        fail(path_, errno);
    const std::string source = "/proc/self/fd/" + std::to_string(file_);
    for (int i = 0; i < attempts && name_.empty(); i++) {
        const std::string name = new_name();
        if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
            name_ = name;
        else if (errno != EEXIST)
            break;
    }
    if (name_.empty() || ::rename(name_.c_str(), target_.c_str()) != 0)
        fail(path_, errno);
    name_.clear();
    const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) { // the new name reaches the disk, too
        ::fsync(folder);
        ::close(folder);
    }
}

void replace_file(const std::string &path, const void *bytes, std::size_t size) {
    replacement file(path);
    file.write(bytes, size);
    file.commit();
}

} // namespace octet::storage
