// Files come from outside: a directory, a pipe or a name with control characters must end in one sentence.

#include "network/graph/file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

namespace octet::model {

std::vector<std::uint8_t> read_file(const std::string &path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        refuse(path + ": does not exist");
    if (std::filesystem::is_directory(path, ignored)) // opens, but has no usable size
        refuse(path + ": is a directory");
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    if (size < 0)
        refuse(path + ": cannot be opened");
    if (size > std::numeric_limits<std::int32_t>::max())
        refuse(path + ": is larger than 2 GiB");
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    file.seekg(0);
    if (!file.read(reinterpret_cast<char *>(bytes.data()), size))
        refuse(path + ": cannot be read");
    return bytes;
}

std::string printable(std::string text) {
    constexpr std::size_t max_length = 120;
    text.resize(std::min(text.size(), max_length));
    for (char &c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    return text;
}

} // namespace octet::model
