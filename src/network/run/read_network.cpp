// Which reader a network's file gets: a saved plan begins with its mark, of others the name tells or the first bytes.
// And what a plan was made of.

#include <cstring>

#include "network/graph/file.hpp"
#include "network/saved/format.hpp"
#include "network/saved/plan_file.hpp"
#include "network/shapes/known_shapes.hpp"

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
    const shared_bytes bytes = map_file(path);
    if (is_saved_plan(bytes.data(), bytes.size()))
        return read_plan(bytes, path);
    if (ends_with(path, ".onnx"))
        return read_onnx(path);
    if (ends_with(path, ".tflite"))
        return read_tflite(path);
    return is_tflite(bytes.data(), bytes.size()) ? read_tflite(path) : read_onnx(path);
}

graph read_network(const std::uint8_t *bytes, std::size_t size, const std::string &name) {
    if (is_saved_plan(bytes, size))
        return read_plan(aligned_copy(bytes, size), name);
    return is_tflite(bytes, size) ? read_tflite(bytes, size, name) : read_onnx(bytes, size, name);
}

graph source_of(const graph &g) {
    if (!g.saved)
        return g;
    graph source = g.saved->source;
    // Integers that follow from sizes are in no file.
    if (source.framework == "onnx")
        infer_shapes(source);
    else
        follow_shapes(source);
    return source;
}

} // namespace octet::model
