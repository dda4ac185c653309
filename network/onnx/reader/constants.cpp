// Sizes are checked against dimensions before anything is read; a file beside the model must lie in its directory.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/reader/constants.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "network/graph/file.hpp"

namespace octet::model {
namespace {

namespace format = onnx;

/// Younger than the oldest package of the format that is built with.
constexpr int uint4 = 21, int4 = 22, uint2 = 25, int2 = 26;

/// Both without links and dots.
bool is_inside(const std::filesystem::path &file, const std::filesystem::path &directory) {
    return std::mismatch(directory.begin(), directory.end(), file.begin(), file.end()).first ==
           directory.end();
}

/// The elements of a constant, little-endian.
class constant_reader {
public:
    /// `raw_data` is null where there is none.
    constant_reader(const format::TensorProto &source, const shared_bytes *raw_data, external_files &files,
                    std::string who)
        : source_(source), raw_data_(raw_data), files_(files), who_(std::move(who)) {}

    tensor read() const {
        tensor t = without_elements();
        const std::int64_t count = checked_count();
        if (source_.data_type() == format::TensorProto::INT64) {
            t.type = data_type::s32;
            t.data = narrowed<std::int64_t>(
                elements<std::int64_t>(count, source_.int64_data()), [](std::int64_t v) {
                    return static_cast<std::int32_t>(
                        std::clamp<std::int64_t>(v, std::numeric_limits<std::int32_t>::min(),
                                                 std::numeric_limits<std::int32_t>::max()));
                });
            return t;
        }
        set_type(t, source_.data_type());
        switch (t.type) {
        case data_type::f32:
            t.data = elements<float>(count, source_.float_data());
            break;
        case data_type::s32:
            t.data = elements<std::int32_t>(count, source_.int32_data());
            break;
        case data_type::s16:
            t.data = elements<std::int16_t>(count, source_.int32_data());
            break;
        case data_type::s8:
            t.data = elements<std::int8_t>(count, source_.int32_data());
            break;
        case data_type::u8:
            t.data = elements<std::uint8_t>(count, source_.int32_data());
            break;
        case data_type::f16:
            t.data = elements<std::uint16_t>(count, source_.int32_data());
            break;
        case data_type::s4:
        case data_type::u4:
        case data_type::s2:
        case data_type::u2: // fields hold whole bytes, too
            t.data = elements<std::uint8_t>(bytes_of_codes(count, t.type), source_.int32_data());
            break;
        case data_type::bf16:
        case data_type::undef: // may be there as long as no node reads it
            break;
        }
        return t;
    }

    tensor read_rounded_doubles() const {
        tensor t = without_elements();
        t.type = data_type::f32;
        t.data = narrowed<double>(elements<double>(checked_count(), source_.double_data()),
                                  [](double v) { return static_cast<float>(v); });
        return t;
    }

private:
    tensor without_elements() const {
        tensor t;
        t.name = printable(source_.name());
        t.dims.assign(source_.dims().begin(), source_.dims().end());
        t.is_constant = true;
        return t;
    }

    std::int64_t checked_count() const {
        std::int64_t count = 1;
        for (const std::int64_t d : source_.dims()) {
            if (d < 0 || (d > 0 && count > std::numeric_limits<std::int32_t>::max() / d))
                refuse(who_ + " has dimensions " +
                       to_text(memory::dims(source_.dims().begin(), source_.dims().end())) +
                       ", allowed are at most 2^31 - 1 elements and no negative sizes");
            count *= d;
        }
        return count;
    }

    static std::int64_t bytes_of_codes(std::int64_t count, data_type type) {
        const int shared = elements_per_byte(type);
        return count / shared + (count % shared != 0);
    }

    void need_size(std::size_t size, std::size_t expected, const char *unit) const {
        if (size != expected)
            refuse(who_ + " holds " + std::to_string(size) + " " + unit + ", but its dimensions give " +
                   std::to_string(expected));
    }

    template <typename T, typename Field>
    shared_bytes elements(std::int64_t count, const Field &typed) const {
        const auto expected = static_cast<std::size_t>(count);
        if (source_.data_location() == format::TensorProto::EXTERNAL)
            return external_bytes(expected * sizeof(T));
        if (raw_data_) {
            need_size(raw_data_->size(), expected * sizeof(T), "bytes of data");
            return *raw_data_;
        }
        need_size(static_cast<std::size_t>(typed.size()), expected, "elements");
        std::vector<T> values(expected);
        std::transform(typed.begin(), typed.end(), values.begin(), [](auto v) { return static_cast<T>(v); });
        return bytes_of(values);
    }

    /// Elements of 64 bits, each as 32 that `f` makes of it.
    template <typename T, typename F> static shared_bytes narrowed(const shared_bytes &wide, const F &f) {
        std::vector<std::uint8_t> bytes(wide.size() / 2);
        for (std::size_t i = 0; i < wide.size() / sizeof(T); i++) {
            T value;
            std::memcpy(&value, wide.data() + i * sizeof value, sizeof value);
            const auto narrow = f(value);
            static_assert(sizeof narrow == sizeof value / 2);
            std::memcpy(bytes.data() + i * sizeof narrow, &narrow, sizeof narrow);
        }
        return bytes;
    }

    /// A number among the entries of `external_data`.
    std::uint64_t external_number(const std::string &key, const std::string &text) const {
        const bool is_number =
            !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string::npos;
        if (!is_number)
            refuse(who_ + " has external data with " + key + " " + quoted(text) + ", which is no number");
        return std::stoull(text);
    }

    shared_bytes external_bytes(std::size_t size) const {
        std::filesystem::path location;
        std::uint64_t offset = 0, length = size;
        for (const auto &entry : source_.external_data()) {
            if (entry.key() == "location")
                location = entry.value();
            else if (entry.key() == "offset")
                offset = external_number("offset", entry.value());
            else if (entry.key() == "length")
                length = external_number("length", entry.value());
        }
        need_size(length, size, "bytes of external data");
        const std::string where = who_ + " has its data in file " + quoted(location.string());
        if (files_.directory.empty())
            refuse(where + ", but a network in memory has no directory");
        // A model must not reach out of its directory.
        if (location.empty() || location.is_absolute() ||
            std::find(location.begin(), location.end(), "..") != location.end())
            refuse(where + ", allowed are files in the directory of the network");
        const shared_bytes &file = external_file(location, where);
        if (offset > file.size() || size > file.size() - offset)
            refuse(where + " at byte " + std::to_string(offset) + " with " + std::to_string(size) +
                   " bytes, but that file has " + std::to_string(file.size()));
        return file.part(offset, size);
    }

    /// No bytes for a file that is not there.
    const shared_bytes &external_file(const std::filesystem::path &location, const std::string &where) const {
        const auto [entry, is_new] = files_.mapped.emplace(location, shared_bytes());
        if (!is_new) // a file may have the data of thousands of constants
            return entry->second;
        std::error_code failure;
        const std::filesystem::path path = std::filesystem::canonical(files_.directory / location, failure);
        if (failure || !std::filesystem::is_regular_file(path, failure))
            return entry->second;
        if (std::none_of(files_.allowed.begin(), files_.allowed.end(),
                         [&](const std::filesystem::path &d) { return is_inside(path, d); }))
            refuse(where + ", a link to " + quoted(path.string()) +
                   ", allowed are files in the directory of the network");
        entry->second = map_file(path.string());
        return entry->second;
    }

    const format::TensorProto &source_;
    const shared_bytes *raw_data_;
    external_files &files_;
    std::string who_;
};

} // namespace

external_files::external_files(const std::filesystem::path &network) : directory(network.parent_path()) {
    if (directory.empty())
        directory = ".";
    std::error_code failure; // a part that cannot be resolved allows nothing
    for (const std::filesystem::path &real : {std::filesystem::canonical(directory, failure),
                                              std::filesystem::canonical(network, failure).parent_path()})
        if (!real.empty())
            allowed.push_back(real);
}

data_type octet_type(int type) {
    switch (type) {
    case uint4:
        return data_type::u4;
    case int4:
        return data_type::s4;
    case uint2:
        return data_type::u2;
    case int2:
        return data_type::s2;
    case format::TensorProto::FLOAT16:
        return data_type::f16;
    case format::TensorProto::FLOAT:
        return data_type::f32;
    case format::TensorProto::INT32:
    case format::TensorProto::INT64:
        return data_type::s32;
    case format::TensorProto::INT16:
        return data_type::s16;
    case format::TensorProto::INT8:
        return data_type::s8;
    case format::TensorProto::UINT8:
    case format::TensorProto::BOOL:
        return data_type::u8;
    default:
        return data_type::undef;
    }
}

/// Protobuf knows them, too, but parses a description of the whole format before it names the first.
std::string type_name(int type) {
    static constexpr const char *names[] = {
        "UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
        "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
        "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
        "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
        "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0",
        "UINT2",          "INT2"};
    return type >= 0 && type < static_cast<int>(std::size(names)) ? names[type]
                                                                  : "TYPE(" + std::to_string(type) + ")";
}

void set_type(tensor &t, int type) {
    t.type = octet_type(type);
    t.foreign_type = t.type == data_type::undef ? type_name(type) : "";
}

tensor read_constant(const format::TensorProto &source, const shared_bytes *raw_data, external_files &files,
                     const std::string &who) {
    return constant_reader(source, raw_data, files, who).read();
}

tensor read_rounded_doubles(const format::TensorProto &source, const shared_bytes *raw_data,
                            external_files &files, const std::string &who) {
    return constant_reader(source, raw_data, files, who).read_rounded_doubles();
}

} // namespace octet::model
