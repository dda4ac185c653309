// Reads records and the bytes that they name, within the limits of the blob.
// SPDX-License-Identifier: Apache-2.0
#include "check/vector_file.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/files.hpp"

namespace octet::vectors {
namespace {

/// Bytes of a dense tensor. No record of a sane file is larger than its blob, so larger products need no
/// exact value.
std::size_t tensor_bytes(const memory::dims &dims, data_type type, std::size_t largest) {
    std::size_t bytes = memory::data_type_size(type);
    for (const dim_t d : dims)
        if (d == 0)
            return 0;
    for (const dim_t d : dims) {
        if (bytes > largest / static_cast<std::size_t>(d))
            return largest + 1;
        bytes *= static_cast<std::size_t>(d);
    }
    return bytes;
}

model::quantization read_quantization(const json_value &record) {
    model::quantization quant;
    if (!record.has("scale"))
        return quant;
    quant.scales = record["scale"].list<float>();
    for (const float scale : quant.scales)
        if (!(std::isfinite(scale) && scale > 0))
            record["scale"].fail("is " + std::to_string(scale) + ", allowed: positive and finite");
    quant.zero_points = record["zero_point"].list<std::int32_t>();
    if (quant.zero_points.size() == 1)
        quant.zero_points.resize(quant.scales.size(), quant.zero_points.front());
    if (quant.zero_points.size() != quant.scales.size())
        record["zero_point"].fail("has " + std::to_string(quant.zero_points.size()) +
                                  " entries, allowed: 1 or " + std::to_string(quant.scales.size()));
    if (record.has("quantized_dimension"))
        quant.axis = static_cast<int>(record["quantized_dimension"].integer(0, max_ndims - 1));
    return quant;
}

/// "line 3, column 14": where a parser stopped that has taken `count` bytes.
std::string position_text(const std::vector<std::uint8_t> &bytes, std::size_t count) {
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(std::min(count, bytes.size()));
    const auto last_line = std::find(std::make_reverse_iterator(end), bytes.rend(), '\n').base();
    return "line " + std::to_string(1 + std::count(bytes.begin(), end, '\n')) + ", column " +
           std::to_string(end - last_line);
}

} // namespace

data_type type_from_text(const json_value &text) {
    for (const data_type type :
         {data_type::s8, data_type::u8, data_type::s16, data_type::s32, data_type::f32})
        if (model::to_text(type) == text.text())
            return type;
    text.fail("is '" + text.text() + "', allowed: s8, u8, s16, s32, f32");
}

tensor_record read_tensor(const json_value &record, const std::vector<std::uint8_t> &blob) {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    tensor_record t;
    if (record.has("name"))
        t.name = record["name"].text();
    t.type = type_from_text(record["dtype"]);
    for (const json_value &d : record["dims"].items())
        t.dims.push_back(d.integer(0, any));
    if (t.dims.size() > max_ndims)
        record["dims"].fail("has more than " + std::to_string(max_ndims) + " dimensions");

    const auto offset = static_cast<std::size_t>(record["offset"].integer(0, any));
    const auto size = static_cast<std::size_t>(record["nbytes"].integer(0, any));
    if (offset > blob.size() || size > blob.size() - offset)
        record.fail("lies at bytes " + std::to_string(offset) + " + " + std::to_string(size) +
                    ", but the blob has " + std::to_string(blob.size()));
    if (size != tensor_bytes(t.dims, t.type, blob.size()))
        record.fail("has " + std::to_string(size) + " bytes, which is not the size of " +
                    model::to_text(t.type) + " " + model::to_text(t.dims));
    t.bytes = {blob.data() + offset, size};
    t.quant = read_quantization(record);
    return t;
}

model::tensor as_model_tensor(const tensor_record &record, bool is_constant) {
    model::tensor t;
    t.name = record.name;
    t.type = record.type;
    t.dims = record.dims;
    t.quant = record.quant;
    t.is_constant = is_constant;
    if (is_constant)
        t.data = std::vector<std::uint8_t>(record.bytes.data, record.bytes.data + record.bytes.size);
    return t;
}

vector_file::vector_file(const std::string &path) : path_(path) {
    const auto refuse = [&](const std::string &complaint) { throw malformed_file(path + ": " + complaint); };
    const std::vector<std::uint8_t> bytes = tools::read_file(path);
    if (bytes.empty())
        refuse("is empty");
    try {
        json_ = nlohmann::json::parse(bytes.begin(), bytes.end());
    } catch (const nlohmann::json::parse_error &e) {
        refuse("is not JSON from " + position_text(bytes, e.byte) + " on");
    } catch (const nlohmann::json::out_of_range &) {
        refuse("holds a number that is out of range");
    }
    if (!json_.is_object())
        refuse("is not a JSON object");
}

std::vector<std::uint8_t> vector_file::read_blob() const {
    if (root().has("blob"))
        return tools::read_file(beside(root()["blob"].text()).string());
    return tools::read_file(std::filesystem::path(path_).replace_extension(".bin").string());
}

} // namespace octet::vectors
