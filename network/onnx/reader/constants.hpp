#pragma once // SPDX-License-Identifier: Apache-2.0

// The elements of an .onnx file's constants, and its types as Octet's: in the message, in the bytes that were
// left where they are, or in files beside it.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "network/onnx/reader/model_file.hpp"
#include "octet/graph.hpp"

namespace octet::model {

/// undef for a type that Octet lacks. 64-bit integers are sizes, axes and indices, which 32 bits hold.
data_type octet_type(int type);
std::string type_name(int type); ///< of the format
void set_type(tensor &t, int type);

/// Files that a network names beside its own, each mapped once.
struct external_files {
    external_files() = default; ///< there are none
    explicit external_files(const std::filesystem::path &network);

    std::filesystem::path directory; ///< that names start from
    /// Directories of which one must hold the file that a name leads to, with links followed: the network's
    /// directory, and the directory of the file to which the network's own name is a link, since caches of
    /// models keep links to all files.
    std::vector<std::filesystem::path> allowed;
    std::map<std::filesystem::path, shared_bytes> mapped;
};

/// The constant with its elements, little-endian. `raw_data` is null where there is none; messages begin with `who`.
tensor read_constant(const onnx::TensorProto &source, const shared_bytes *raw_data, external_files &files,
                     const std::string &who);
/// Doubles, each rounded to f32.
tensor read_rounded_doubles(const onnx::TensorProto &source, const shared_bytes *raw_data,
                            external_files &files, const std::string &who);

} // namespace octet::model
