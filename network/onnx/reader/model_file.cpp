// Messages are walked with protobuf's own decoder, which checks every length against what contains it. A field that
// occurs several times has the meaning that protobuf gives it: messages are merged, of bytes the last ones count.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/reader/model_file.hpp"

#include <limits>
#include <string>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

namespace octet::model {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr std::uint32_t tag_of(int field) {
    return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}
constexpr std::uint32_t graph_tag = tag_of(onnx::ModelProto::kGraphFieldNumber),
                        initializer_tag = tag_of(onnx::GraphProto::kInitializerFieldNumber),
                        raw_data_tag = tag_of(onnx::TensorProto::kRawDataFieldNumber);

class file_parser {
public:
    explicit file_parser(const shared_bytes &bytes)
        : bytes_(bytes), input_(bytes.data(), static_cast<int>(bytes.size())) {}

    bool parse(onnx_file &file) {
        std::string model, graph;
        bool has_graph = false;
        const bool is_whole = split(model, graph_tag, [&] {
            has_graph = true;
            return enter([&] { return read_graph(graph, file.initializers); });
        });
        return is_whole && file.model.ParseFromString(model) &&
               (!has_graph || file.model.mutable_graph()->ParseFromString(graph));
    }

private:
    /// Copies the fields of a message to `rest`, except those with `special`'s tag, which it is called for.
    template <typename Special> bool split(std::string &rest, std::uint32_t special_tag, Special special) {
        StringOutputStream stream(&rest);
        CodedOutputStream output(&stream);
        while (const std::uint32_t tag = input_.ReadTag())
            if (!(tag == special_tag ? special() : WireFormatLite::SkipField(&input_, tag, &output)))
                return false;
        return input_.ConsumedEntireMessage();
    }

    /// Lets `read` see a message inside of this one, and no byte behind it.
    template <typename Read> bool enter(Read read) {
        std::uint32_t length = 0;
        if (!read_length(length))
            return false;
        const CodedInputStream::Limit outer = input_.PushLimit(static_cast<int>(length));
        const bool is_whole = read();
        input_.PopLimit(outer);
        return is_whole;
    }

    bool read_length(std::uint32_t &length) {
        if (!input_.ReadVarint32(&length))
            return false;
        const int limit = input_.BytesUntilLimit(); // -1: none but the end of the bytes
        const std::size_t left = limit >= 0 ? static_cast<std::size_t>(limit) : bytes_.size() - position();
        return length <= left;
    }

    std::size_t position() const { return static_cast<std::size_t>(input_.CurrentPosition()); }

    bool read_graph(std::string &rest, std::deque<onnx_initializer> &initializers) {
        return split(rest, initializer_tag,
                     [&] { return enter([&] { return read_initializer(initializers.emplace_back()); }); });
    }

    bool read_initializer(onnx_initializer &result) {
        std::string rest;
        const bool is_whole = split(rest, raw_data_tag, [&] {
            std::uint32_t length = 0;
            if (!read_length(length))
                return false;
            result.raw_data = bytes_.part(position(), length);
            return input_.Skip(static_cast<int>(length));
        });
        return is_whole && result.tensor.ParseFromString(rest);
    }

    const shared_bytes &bytes_;
    CodedInputStream input_;
};

} // namespace

std::optional<onnx_file> parse_onnx(const shared_bytes &bytes) {
    onnx_file file;
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) ||
        !file_parser(bytes).parse(file))
        return {};
    return file;
}

} // namespace octet::model
