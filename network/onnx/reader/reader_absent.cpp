// In place of onnx/reader/reader.cpp where the ONNX packages are missing.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/graph.hpp"

namespace octet {
inline namespace v0 {
namespace model {

graph read_onnx(const std::string &path) { return read_onnx(nullptr, 0, path); }

graph read_onnx_structure(const std::string &path) { return read_onnx(path); }

graph read_onnx(const std::uint8_t *, std::size_t, const std::string &name) {
    throw error(status::unimplemented,
                name + ": this program was built without .onnx files (libonnx-dev, libprotobuf-dev)");
}

} // namespace model
} // namespace v0
} // namespace octet
