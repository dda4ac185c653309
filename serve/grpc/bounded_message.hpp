#pragma once // SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

namespace octet::serve {

/// The memory that a message of Protobuf would take, from a look at its bytes that makes no objects.
struct message_extent {
    int fields = 0;          ///< also of the messages in it
    std::size_t numbers = 0; ///< packed ones, at most
};

/// Throws refusal for bytes that are no such message, and for more fields than any request has: one of two bytes becomes an
/// object of a hundred.
message_extent extent_of_message(google::protobuf::io::ZeroCopyInputStream &bytes,
                                 const google::protobuf::Descriptor &type);

} // namespace octet::serve
