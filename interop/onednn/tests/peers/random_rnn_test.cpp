// Random recurrent networks of u8 states through oneDNN's C++ interface in both libraries, in one process. s8 has
// no oracle here: oneDNN computes it on AMX alone.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "octet/octet.hpp"
#include "random.hpp"
#include "random_rnn.hpp"
#include "support/effort.hpp"

namespace peers {
namespace {

TEST(recurrent_networks, give_the_same_bytes) {
    int compared = 0, refused = 0;
    const std::int64_t problems = ::octet::test::problem_count(1000);
    for (std::int64_t seed = 1; seed <= problems; seed++) {
        const rnn_problem p = rnn_source(static_cast<unsigned>(seed)).draw();
        const rnn_answer expected = onednn::ask_rnn(p), got = octet::ask_rnn(p);
        ASSERT_EQ(got.refusal, "") << "seed " << seed;
        if (!expected.refusal.empty()) {
            refused++;
            continue;
        }
        compared++;
        ASSERT_EQ(got.dst_layer, expected.dst_layer) << "seed " << seed;
        ASSERT_EQ(got.dst_iter, expected.dst_iter) << "seed " << seed;
        ASSERT_EQ(got.dst_iter_c, expected.dst_iter_c) << "seed " << seed;
    }
    std::cout << "    " << compared << " networks compared, " << refused << " refused by oneDNN\n";
    EXPECT_GT(compared, 9 * refused);
}

/// Prints times, for doc/performance.md: --gtest_also_run_disabled_tests, with OMP_NUM_THREADS=1.
TEST(recurrent_networks, DISABLED_take_so_long) {
    ::octet::set_num_threads(1);
    for (const bool is_gru : {false, true})
        for (const std::int64_t channels : {512, 1024})
            for (const std::int64_t batch : {1, 16}) {
                rnn_problem p;
                p.is_gru = is_gru;
                p.steps = 50;
                p.batch = batch;
                p.inputs = p.channels = channels;
                p.data_scale = 64.f;
                p.data_shift = 128.f;
                p.scales = {127.f};
                random_source r(1);
                for (std::int64_t i = p.steps * batch * channels; i > 0; i--)
                    p.src_layer.push_back(static_cast<std::uint8_t>(r.between(0, 255)));
                for (std::int64_t i = channels * p.gates() * channels; i > 0; i--)
                    p.weights_layer.push_back(r.real(-0.5f, 0.5f));
                p.weights_iter = p.weights_layer;
                p.has_bias = true;
                p.bias.assign(static_cast<std::size_t>(p.gates() * channels), 0.f);
                p.timed_runs = batch == 1 ? 20 : 3;
                double octet_best = 1e9, onednn_best = 1e9; // in turn, since the machine may have other work
                for (int round = 0; round < 5; round++) {
                    octet_best = std::min(octet_best, octet::ask_rnn(p).milliseconds);
                    onednn_best = std::min(onednn_best, onednn::ask_rnn(p).milliseconds);
                }
                std::cout << "    " << (is_gru ? "GRU" : "LSTM") << ", " << channels << " channels, batch "
                          << batch << ": Octet " << octet_best << " ms, oneDNN " << onednn_best
                          << " ms, ratio " << onednn_best / octet_best << "\n";
            }
    ::octet::set_num_threads(0);
}

} // namespace
} // namespace peers
