// The table of names, in both directions.
// SPDX-License-Identifier: Apache-2.0
#include "core/datatypes.hpp"

namespace octet::serve {

const char *protocol_name(data_type type) {
    switch (type) {
    case data_type::f32:
        return "FP32";
    case data_type::f16:
        return "FP16";
    case data_type::bf16:
        return "BF16";
    case data_type::s32:
        return "INT32";
    case data_type::s16:
        return "INT16";
    case data_type::s8:
        return "INT8";
    case data_type::u8:
        return "UINT8";
    default:
        return "";
    }
}

std::size_t size_of(data_type type) {
    switch (type) {
    case data_type::f32:
    case data_type::s32:
        return 4;
    case data_type::f16:
    case data_type::bf16:
    case data_type::s16:
        return 2;
    default:
        return 1;
    }
}

} // namespace octet::serve
