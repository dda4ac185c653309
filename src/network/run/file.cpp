#include "network/run/file.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

#include "network/graph/graph.hpp"

namespace octet::model {

std::vector<std::uint8_t> read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    // A directory opens, but has no usable size.
    if (size < 0 || size > std::numeric_limits<std::int32_t>::max())
        throw error(status::invalid_arguments, path + ": the file cannot be opened, or is larger than 2 GiB");
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    file.seekg(0);
    if (!file.read(reinterpret_cast<char *>(bytes.data()), size))
        throw error(status::invalid_arguments, path + ": the file cannot be read");
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

graph read_network(const std::string &path) {
    const auto ends_with = [&](const std::string &end) {
        return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
    };
    if (ends_with(".onnx"))
        return read_onnx(path);
    if (ends_with(".tflite"))
        return read_tflite(path);
    const std::vector<std::uint8_t> bytes = read_file(path);
    const bool is_tflite = bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
    return is_tflite ? read_tflite(path) : read_onnx(path);
}

} // namespace octet::model
