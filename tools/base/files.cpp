// Reading, writing and the sentences that say why not.
// SPDX-License-Identifier: Apache-2.0
#include "base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <limits>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "octet/error.hpp"

namespace octet::tools {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string &what, const std::string &complaint) {
    throw error(status::invalid_arguments, what + ": " + complaint);
}

/// "cannot be written: No space left on device"
std::string with_reason(const char *complaint, int error_number) {
    return error_number == 0 ? complaint : complaint + (": " + std::generic_category().message(error_number));
}

constexpr const char *standard_output = "standard output";

constexpr std::size_t most_bytes = std::numeric_limits<std::int32_t>::max();

/// Waits until a pipe has a writer, for three seconds: both may have been started at once. Returns what was
/// read by asking, a byte at most.
std::vector<std::uint8_t> wait_for_writer(const std::string &path, int file) {
    constexpr int step_ms = 10, most_steps = 300;
    for (int step = 0; step < most_steps; step++) {
        pollfd event{file, POLLIN, 0};
        if (::poll(&event, 1, step_ms) > 0)
            return {};
        std::uint8_t first = 0;
        const ssize_t got = ::read(file, &first, 1); // without a writer a pipe is at its end
        if (got != 0)
            return got > 0 ? std::vector<std::uint8_t>{first} : std::vector<std::uint8_t>();
    }
    refuse(path, "is a pipe to which nobody has written for 3 seconds");
}

/// A file that is open for reading, or a pipe.
class input_file {
public:
    explicit input_file(const std::string &path) : path_(path) {
        std::error_code ignored;
        const fs::file_type type = fs::status(path, ignored).type();
        if (path.empty())
            throw error(status::invalid_arguments, "'' given, allowed: the name of a file");
        if (type == fs::file_type::not_found)
            refuse(path, "does not exist");
        if (type == fs::file_type::directory)
            refuse(path, "is a directory");
        file_ =
            ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // opening a pipe would wait for a writer
        if (file_ < 0 || ::fstat(file_, &facts_) != 0)
            refuse(path, with_reason("cannot be read", errno));
    }
    ~input_file() {
        if (file_ >= 0)
            ::close(file_);
    }
    input_file(const input_file &) = delete;
    input_file &operator=(const input_file &) = delete;

    bool is_regular() const { return S_ISREG(facts_.st_mode); }
    /// The size in the file system; 0 for a pipe.
    std::size_t size() const { return static_cast<std::size_t>(facts_.st_size); }

    /// The first `most` bytes, or all.
    std::vector<std::uint8_t> read(std::size_t most) const {
        constexpr std::size_t portion = std::size_t{1} << 20;
        std::vector<std::uint8_t> bytes;
        if (S_ISFIFO(facts_.st_mode))
            bytes = wait_for_writer(path_, file_);
        ::fcntl(file_, F_SETFL, 0); // from here on, wait for each byte
        while (bytes.size() < most) {
            const std::size_t before = bytes.size();
            bytes.resize(before + std::min(portion, most - before));
            const ssize_t got = ::read(file_, bytes.data() + before, bytes.size() - before);
            if (got < 0 && errno != EINTR)
                refuse(path_, with_reason("cannot be read", errno));
            bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            if (got == 0)
                break;
        }
        return bytes;
    }

private:
    const std::string path_;
    int file_ = -1;
    struct stat facts_ {};
};

} // namespace

// The sentences are those of network/graph/file.cpp, which reads networks.
std::vector<std::uint8_t> read_file(const std::string &path) {
    const input_file file(path);
    if (file.size() > most_bytes)
        refuse(path, "is larger than 2 GiB");
    std::vector<std::uint8_t> bytes = file.read(most_bytes + 1);
    if (bytes.size() > most_bytes)
        refuse(path, "is larger than 2 GiB");
    return bytes;
}

std::vector<std::uint8_t> read_file_of_size(const std::string &path, std::size_t size,
                                            const std::string &reader) {
    const input_file file(path);
    const auto refuse_size = [&](const std::string &given) {
        refuse(path, "has " + given + " bytes, but " + reader + " " + std::to_string(size));
    };
    if (file.is_regular() && file.size() != size)
        refuse_size(std::to_string(file.size()));
    std::vector<std::uint8_t> bytes = file.read(size + 1);
    if (bytes.size() != size)
        refuse_size(bytes.size() > size ? "more than " + std::to_string(size) : std::to_string(bytes.size()));
    return bytes;
}

output_stream::output_stream(std::string path, start from) : path_(std::move(path)) {
    std::error_code ignored;
    if (fs::is_directory(path_, ignored))
        refuse(path_, "is a directory");
    errno = 0;
    file_.open(path_, from == start::end ? std::ios::binary | std::ios::app : std::ios::binary);
    if (!file_)
        refuse(path_, with_reason("cannot be written", errno));
}

void output_stream::write(const char *bytes, std::size_t size) {
    errno = 0;
    if (!file_.write(bytes, static_cast<std::streamsize>(size)).flush())
        refuse(path_, with_reason("cannot be written", errno));
}

void make_directory(const std::string &path) {
    std::error_code failure;
    fs::create_directories(path, failure);
    if (failure)
        refuse(path, with_reason("cannot be made a directory", failure.value()));
    if (!fs::is_directory(path, failure))
        refuse(path, "is no directory");
}

void require_standard_output() {
    // No bytes are written, but a full device or one that is open for reading only says so.
    if (::write(STDOUT_FILENO, "", 0) < 0)
        refuse(standard_output, with_reason("cannot be written", errno));
}

void flush_standard_output() {
    errno = 0;
    if (!std::cout.flush())
        refuse(standard_output, with_reason("cannot be written", errno));
}

} // namespace octet::tools
