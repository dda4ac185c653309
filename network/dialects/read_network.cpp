// Networks from files: which reader a file gets (a saved plan begins with its mark, of others the name tells
// or the first bytes), and errors with the file's name. Programs that make their graphs themselves are linked
// without this, and so without the formats' libraries.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>

#include "network/graph/file.hpp"
#include "network/saved/format.hpp"
#include "network/saved/plan_file.hpp"
#include "octet/decoder.hpp"
#include "octet/network.hpp"
#include "octet/onnx_graph.hpp"

namespace octet {
inline namespace v0 {
namespace model {
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

} // namespace model

namespace {

/// A network or decoder of a file; what is wrong with it begins with the file's name.
template <typename Network, typename Options>
Network named(const std::string &name, model::graph g, const Options &options) {
    try {
        return Network(std::move(g), options);
    } catch (const error &e) {
        throw error(e.status, name + ": " + e.what());
    }
}

} // namespace

network::network(const std::string &path, const network_options &options)
    : network(named<network>(path, model::read_network(path), options)) {}

network::network(const void *bytes, std::size_t size, const std::string &name, const network_options &options)
    : network(named<network>(name, model::read_network(static_cast<const std::uint8_t *>(bytes), size, name),
                             options)) {}

decoder::decoder(const std::string &path, const decoder_options &options)
    : decoder(named<decoder>(path, model::read_network(path), options)) {}

std::vector<refused_node> refused_nodes(const std::string &path, const network_options &options) {
    std::optional<model::graph> g;
    try {
        g = model::read_network(path);
    } catch (const error &e) {
        if (e.status != status::unimplemented)
            throw;
    }
    return refused_nodes(g ? std::move(*g) : model::read_onnx_structure(path), options);
}

} // namespace v0
} // namespace octet
