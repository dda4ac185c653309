// Random recurrent networks of u8 states through oneDNN's C++ interface in both libraries, in one process. s8 has
// no oracle here: oneDNN computes it on AMX alone.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>

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

} // namespace
} // namespace peers
