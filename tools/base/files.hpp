#pragma once // SPDX-License-Identifier: Apache-2.0

// Files and standard output as the command treats them: what cannot be read or written is found out before
// any work, and said in one sentence that starts with the path.

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace octet::tools {

/// All bytes of a file or a pipe, at most 2 GiB. A pipe to which nobody writes is refused after three
/// seconds. Throws octet::error.
std::vector<std::uint8_t> read_file(const std::string &path);
/// Reads a file of which `size` bytes are allowed: a larger file is refused without being read. "FILE: has 5
/// bytes, but READER 4".
std::vector<std::uint8_t> read_file_of_size(const std::string &path, std::size_t size,
                                            const std::string &reader);

/// A file or a pipe for results that arrive one by one, opened before the work that makes them: emptied, or
/// written to from its end. (A file that is written as a whole is a storage::replacement.) Everything throws
/// octet::error.
class output_stream {
public:
    enum class start { empty, end };
    explicit output_stream(std::string path, start from = start::empty);

    const std::string &path() const { return path_; }
    /// Hands the text over to the system at once: who watches the file sees it, an interrupted run keeps it.
    void write(const std::string &text) { write(text.data(), text.size()); }
    void write(const char *bytes, std::size_t size);

private:
    std::string path_;
    std::ofstream file_;
};

/// Makes a directory with all those above it, unless it exists.
void make_directory(const std::string &path);

/// Throws octet::error if standard output is closed or takes nothing.
void require_standard_output();
/// Throws octet::error if something that was printed did not arrive.
void flush_standard_output();

} // namespace octet::tools
