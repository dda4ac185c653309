// Elements of packed constants.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/codes.hpp"

namespace octet::model {

std::vector<std::int32_t> codes_of(const tensor &t) {
    const int bits = code_bits(t.type), in_a_byte = 8 / bits;
    std::vector<std::int32_t> codes(static_cast<std::size_t>(element_count(t.dims)));
    for (std::size_t i = 0; i < codes.size(); i++) {
        const std::size_t byte = i / static_cast<std::size_t>(in_a_byte),
                          place = i % static_cast<std::size_t>(in_a_byte);
        const int code = t.data[byte] >> (static_cast<int>(place) * bits) & ((1 << bits) - 1);
        codes[i] = is_signed_code(t.type) && code >> (bits - 1) != 0 ? code - (1 << bits) : code;
    }
    return codes;
}

} // namespace octet::model
