// Reads records and the bytes that they name, within the limits of the blob.
// SPDX-License-Identifier: Apache-2.0
#include "check/vector_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "base/files.hpp"

namespace octet::vectors {
namespace {

/// Bytes of a dense tensor. No record of a sane file is larger than its blob, so larger products need no
/// exact value.
std::size_t tensor_bytes(const memory::dims &dims, std::size_t element, std::size_t largest) {
    std::size_t bytes = element;
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
    for (const data_type type : {data_type::s8, data_type::u8, data_type::s16, data_type::s32, data_type::f32,
                                 data_type::f16, data_type::bf16})
        if (model::to_text(type) == text.text())
            return type;
    text.fail("is '" + text.text() + "', allowed: s8, u8, s16, s32, f32, f16, bf16");
}

namespace {

/// A record of elements of `size` bytes, its type aside.
tensor_record read_place(const json_value &record, const std::vector<std::uint8_t> &blob, std::size_t size) {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    tensor_record t;
    if (record.has("name"))
        t.name = record["name"].text();
    for (const json_value &d : record["dims"].items())
        t.dims.push_back(d.integer(0, any));
    if (t.dims.size() > max_ndims)
        record["dims"].fail("has more than " + std::to_string(max_ndims) + " dimensions");

    const auto offset = static_cast<std::size_t>(record["offset"].integer(0, any));
    const auto bytes = static_cast<std::size_t>(record["nbytes"].integer(0, any));
    if (offset > blob.size() || bytes > blob.size() - offset)
        record.fail("lies at bytes " + std::to_string(offset) + " + " + std::to_string(bytes) +
                    ", but the blob has " + std::to_string(blob.size()));
    if (bytes != tensor_bytes(t.dims, size, blob.size()))
        record.fail("has " + std::to_string(bytes) + " bytes, which is not the size of " +
                    record["dtype"].text() + " " + model::to_text(t.dims));
    t.bytes = {blob.data() + offset, bytes};
    return t;
}

} // namespace

tensor_record read_tensor(const json_value &record, const std::vector<std::uint8_t> &blob) {
    const data_type type = type_from_text(record["dtype"]);
    tensor_record t = read_place(record, blob, memory::data_type_size(type));
    t.type = type;
    t.quant = read_quantization(record);
    return t;
}

tensor_record read_wide_tensor(const json_value &record, const std::vector<std::uint8_t> &blob,
                               std::list<std::vector<std::uint8_t>> &copies) {
    const std::string type = record["dtype"].text();
    if (type != "s64" && type != "bool")
        return read_tensor(record, blob);
    tensor_record t = read_place(record, blob, type == "s64" ? 8 : 1);
    t.type = type == "s64" ? data_type::s32 : data_type::u8;
    if (type == "bool")
        return t;
    std::vector<std::uint8_t> &narrow = copies.emplace_back(t.bytes.size / 2);
    for (std::size_t i = 0; i < narrow.size(); i += 4) {
        std::int64_t wide = 0;
        std::memcpy(&wide, t.bytes.data + 2 * i, 8);
        const auto value = static_cast<std::int32_t>(wide);
        if (value != wide)
            record.fail("has an element " + std::to_string(wide) + ", allowed: those of 32 bits");
        std::memcpy(narrow.data() + i, &value, 4);
    }
    t.bytes = {narrow.data(), narrow.size()};
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
