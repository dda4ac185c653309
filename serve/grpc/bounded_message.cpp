// Walks over the bytes of a message and counts elements and depth, before anything is allocated for them.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/bounded_message.hpp"

#include <limits>
#include <string>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace octet::serve {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

constexpr int most_fields = 16384, deepest = 16;

[[noreturn]] void refuse(const std::string &sentence) { throw refusal(outcome::invalid, sentence); }

class scanner {
public:
    scanner(std::string_view bytes, int raw)
        : bytes_(bytes), raw_(raw),
          in_(reinterpret_cast<const std::uint8_t *>(bytes.data()), static_cast<int>(bytes.size())) {}

    message_extent extent;
    std::size_t kept_from = 0; ///< first byte behind the last raw field

    /// Up to the end of the message that `in_` stands in. `type` is null where the schema has none.
    void scan(const Descriptor *type, int depth) {
        if (depth > deepest)
            refuse("the message is nested deeper than " + std::to_string(deepest) + " levels");
        for (;;) {
            const auto begin = static_cast<std::size_t>(in_.CurrentPosition());
            const std::uint32_t tag = in_.ReadTag();
            if (tag == 0)
                break;
            if (++extent.fields > most_fields)
                refuse("the message has more than " + std::to_string(most_fields) + " fields");
            const auto *field =
                type ? type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag)) : nullptr;
            switch (WireFormatLite::GetTagWireType(tag)) {
            case WireFormatLite::WIRETYPE_VARINT: {
                std::uint64_t ignored = 0;
                check(in_.ReadVarint64(&ignored));
                break;
            }
            case WireFormatLite::WIRETYPE_FIXED64:
                check(in_.Skip(8));
                break;
            case WireFormatLite::WIRETYPE_FIXED32:
                check(in_.Skip(4));
                break;
            case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
                scan_bytes(field, depth);
                if (depth == 0 && raw_ != 0 && WireFormatLite::GetTagFieldNumber(tag) == raw_)
                    leave_out(begin);
                break;
            default: // groups, which no message here has
                refuse("the message has a group");
            }
        }
        check(in_.ConsumedEntireMessage());
    }

private:
    static void check(bool is_good) {
        if (!is_good)
            refuse("the bytes are no message of this method");
    }

    void scan_bytes(const FieldDescriptor *field, int depth) {
        std::uint32_t size = 0;
        check(in_.ReadVarint32(&size) && size <= std::numeric_limits<int>::max());
        last_size_ = size;
        if (field && field->type() == FieldDescriptor::TYPE_MESSAGE) {
            const auto outer = in_.PushLimit(static_cast<int>(size));
            scan(field->message_type(), depth + 1);
            in_.PopLimit(outer);
            return;
        }
        if (field && field->is_packable())
            extent.numbers += size / smallest(field->type());
        check(in_.Skip(static_cast<int>(size)));
    }

    /// The value that ends here: its bytes stay where they are.
    void leave_out(std::size_t begin) {
        const auto end = static_cast<std::size_t>(in_.CurrentPosition());
        extent.raw.push_back(
            {reinterpret_cast<const std::byte *>(bytes_.data()) + end - last_size_, last_size_});
        extent.rest.append(bytes_.substr(kept_from, begin - kept_from));
        kept_from = end;
    }

    static std::size_t smallest(FieldDescriptor::Type type) {
        return type == FieldDescriptor::TYPE_FLOAT ? 4 : type == FieldDescriptor::TYPE_DOUBLE ? 8 : 1;
    }

    const std::string_view bytes_;
    const int raw_;
    std::size_t last_size_ = 0; ///< size of the last bytes
    google::protobuf::io::CodedInputStream in_;
};

} // namespace

message_extent extent_of_message(std::string_view bytes, const Descriptor &type, int raw) {
    scanner s(bytes, raw);
    s.scan(&type, 0);
    if (!s.extent.raw.empty())
        s.extent.rest.append(bytes.substr(s.kept_from));
    return std::move(s.extent);
}

} // namespace octet::serve
