// libFuzzer target: any bytes as a saved plan, with checksums that are right.
// SPDX-License-Identifier: Apache-2.0
#include "network/tests/fuzz/fuzz_network.hpp"
#include "network/tests/fuzz/saved_plans.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
    const std::vector<std::uint8_t> plan = octet::tests::resealed({bytes, bytes + size});
    octet::tests::fuzz_network(octet::model::read_network, plan.data(), plan.size());
    return 0;
}
