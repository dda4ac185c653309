// Reading, writing and the sentences that say why not.
// SPDX-License-Identifier: Apache-2.0
#include "commands/files.hpp"

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <limits>
#include <system_error>

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

} // namespace

// The sentences are those of src/network/graph/file.cpp, which reads networks.
std::vector<std::uint8_t> read_file(const std::string &path) {
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max(), portion = std::size_t{1} << 20;
    std::error_code ignored;
    const fs::file_type type = fs::status(path, ignored).type();
    if (type == fs::file_type::not_found)
        refuse(path, "does not exist");
    if (type == fs::file_type::directory)
        refuse(path, "is a directory");
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file)
        refuse(path, with_reason("cannot be read", errno));
    std::vector<std::uint8_t> bytes;
    while (file && bytes.size() <= most) { // a pipe has no size to ask for
        const std::size_t before = bytes.size();
        bytes.resize(before + portion);
        file.read(reinterpret_cast<char *>(bytes.data() + before), portion);
        bytes.resize(before + static_cast<std::size_t>(file.gcount()));
    }
    if (file.bad())
        refuse(path, with_reason("cannot be read", errno));
    if (bytes.size() > most)
        refuse(path, "is larger than 2 GiB");
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
