// libFuzzer target: any bytes as a .tflite file.
// SPDX-License-Identifier: Apache-2.0
#include "network/tests/fuzz/fuzz_network.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
    octet::tests::fuzz_network(octet::model::read_tflite, bytes, size);
    return 0;
}
