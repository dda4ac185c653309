// Random recurrent networks through oneDNN's C++ interface, as a client that knows nothing of Octet: it prints what
// it got, and is run alone and with liboctet_dnnl in front.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "random_rnn.hpp"

namespace {

void print(const char *name, const std::vector<std::uint8_t> &bytes) {
    std::printf(" %s ", name);
    for (const std::uint8_t byte : bytes)
        std::printf("%02x", static_cast<unsigned>(byte));
}

} // namespace

int main() {
    for (unsigned seed = 1; seed <= 200; seed++) {
        const peers::rnn_answer got = peers::onednn::ask_rnn(peers::rnn_source(seed).draw());
        std::printf("seed %u: %s", seed, got.refusal.c_str());
        print("dst_layer", got.dst_layer);
        print("dst_iter", got.dst_iter);
        print("dst_iter_c", got.dst_iter_c);
        std::printf("\n");
    }
}
