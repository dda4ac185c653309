#pragma once // SPDX-License-Identifier: Apache-2.0

// The parts that all vector files share: a JSON file, a blob of tensor bytes beside it, and records that say
// where in the blob a tensor lies. Nothing here depends on what the files are called.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "check/json_value.hpp"
#include "octet/graph.hpp"

namespace octet::vectors {

/// Bytes that belong to someone else.
struct byte_view {
    const std::uint8_t *data = nullptr;
    std::size_t size = 0;
};

/// A tensor of a case, its size checked against type, dimensions and blob.
struct tensor_record {
    std::string name;
    data_type type = data_type::undef;
    memory::dims dims;
    byte_view bytes;
    model::quantization quant;
};

/// `{"dtype", "dims", "offset", "nbytes"}`, and where present `scale`, `zero_point`, `quantized_dimension`.
tensor_record read_tensor(const json_value &record, const std::vector<std::uint8_t> &blob);

/// The same; "s64" is narrowed to s32 in a copy that goes into `copies`, and "bool" is u8.
tensor_record read_wide_tensor(const json_value &record, const std::vector<std::uint8_t> &blob,
                               std::list<std::vector<std::uint8_t>> &copies);

/// A model tensor of that name, type, shape and quantization; a constant one gets a copy of the bytes.
model::tensor as_model_tensor(const tensor_record &record, bool is_constant);

class vector_file {
public:
    /// Parses the file. Throws malformed_file for anything but one JSON object, octet::error if there is no file.
    explicit vector_file(const std::string &path);

    json_value root() const { return {json_, ""}; }
    /// A file named relative to this one.
    std::filesystem::path beside(const std::string &name) const { return path_.parent_path() / name; }
    /// The blob: the file that the member "blob" names or, without one, the file's own name with ".bin".
    /// Throws octet::error if there is none.
    std::vector<std::uint8_t> read_blob() const;

private:
    std::filesystem::path path_;
    nlohmann::json json_;
};

data_type type_from_text(const json_value &text); ///< "s8", "u8", "s16", "s32", "f32", "f16", "bf16"

} // namespace octet::vectors
