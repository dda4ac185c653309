#pragma once // SPDX-License-Identifier: Apache-2.0

#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "core/job.hpp"

namespace octet::serve {

/// The sizes of a message of Protobuf, from a scan of its bytes that makes no objects.
struct message_extent {
    int fields = 0;              ///< also of the messages in it
    std::size_t numbers = 0;     ///< packed ones, at most
    std::vector<byte_range> raw; ///< values of the field `raw`, in the message
    std::string rest;            ///< the message without them, if there are any
};

/// Throws refusal for bytes that are no such message, and for more fields than any request has: one of two
/// bytes becomes an object of a hundred. `raw` is the number of a field of bytes that needs no objects; 0:
/// none.
message_extent extent_of_message(std::string_view bytes, const google::protobuf::Descriptor &type,
                                 int raw = 0);

} // namespace octet::serve
