// libFuzzer target: any bytes as the body of an inference, with any length of its JSON, and as a config.json.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/model_config.hpp"
#include "http/infer_json.hpp"

using namespace octet::serve;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
    if (size < 3)
        return 0;
    const std::string body(reinterpret_cast<const char *>(bytes) + 3, size - 3);
    std::uint16_t length;
    std::memcpy(&length, bytes, 2);
    try {
        if (bytes[2] % 4 == 0) {
            read_config(body);
        } else {
            reply_form form;
            const infer_request r = read_infer_request(body, bytes[2] % 4 == 1 ? body.size() : length, form);
            for (const given_tensor &t : r.inputs) // tensors inside the body lie inside it
                if (t.bytes && t.bytes->size > 0 &&
                    (t.bytes->data < reinterpret_cast<const std::byte *>(body.data()) ||
                     t.bytes->data + t.bytes->size >
                         reinterpret_cast<const std::byte *>(body.data() + body.size())))
                    std::abort();
        }
    } catch (const refusal &) {
    } catch (const octet::error &) {
    }
    return 0;
}
