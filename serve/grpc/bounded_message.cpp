// Walks over the bytes of a message and counts elements and depth, before anything is allocated for them.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/bounded_message.hpp"

#include <limits>
#include <string>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "core/job.hpp"

namespace octet::serve {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

constexpr int most_fields = 16384, deepest = 16;

[[noreturn]] void refuse(const std::string &sentence) { throw refusal(outcome::invalid, sentence); }

class scanner {
public:
    explicit scanner(google::protobuf::io::ZeroCopyInputStream &bytes) : in_(&bytes) {
        in_.SetTotalBytesLimit(std::numeric_limits<int>::max());
    }

    message_extent extent;

    /// Up to the end of the message that `in_` stands in. `type` is null where the schema has none.
    void scan(const Descriptor *type, int depth) {
        if (depth > deepest)
            refuse("the message is nested deeper than " + std::to_string(deepest) + " levels");
        while (const std::uint32_t tag = in_.ReadTag()) {
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

    static std::size_t smallest(FieldDescriptor::Type type) {
        return type == FieldDescriptor::TYPE_FLOAT ? 4 : type == FieldDescriptor::TYPE_DOUBLE ? 8 : 1;
    }

    google::protobuf::io::CodedInputStream in_;
};

} // namespace

message_extent extent_of_message(google::protobuf::io::ZeroCopyInputStream &bytes, const Descriptor &type) {
    scanner s(bytes);
    s.scan(&type, 0);
    return s.extent;
}

} // namespace octet::serve
