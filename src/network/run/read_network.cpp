// Which reader a network's file gets: its name says so, and where it does not, its first bytes.

#include <cstring>

#include "network/graph/file.hpp"

namespace octet::model {
namespace {

bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// FlatBuffers put a format's identifier behind the first offset; protobuf has none.
bool is_tflite(const std::uint8_t *bytes, std::size_t size) {
    return size >= 8 && std::memcmp(bytes + 4, "TFL3", 4) == 0;
}

} // namespace

graph read_network(const std::string &path) {
    if (ends_with(path, ".onnx"))
        return read_onnx(path);
    if (ends_with(path, ".tflite"))
        return read_tflite(path);
    const shared_bytes bytes = map_file(path);
    return is_tflite(bytes.data(), bytes.size()) ? read_tflite(path) : read_onnx(path);
}

graph read_network(const std::uint8_t *bytes, std::size_t size, const std::string &name) {
    return is_tflite(bytes, size) ? read_tflite(bytes, size, name) : read_onnx(bytes, size, name);
}

} // namespace octet::model
