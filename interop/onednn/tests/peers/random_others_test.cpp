// lrn, shuffle, logsoftmax and the depthwise post-op in both libraries, in one process. What a level of oneDNN computes
// in another order is a deviation (deviations.cpp), so that all but the last also run
// where AVX-512 is missing.
// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"
#include "support/effort.hpp"

namespace peers {
namespace {

void compare_others(operation op, std::int64_t problems) {
    tally count;
    for (unsigned seed = 1; seed <= ::octet::test::problem_count(problems) && !::testing::Test::HasFailure();
         seed++)
        expect_equal(random_problem(op, {}, range::typical, seed), "seed " + std::to_string(seed), count);
    std::cout << "    " << count.problems << " problems, " << count.answers << " answers compared, "
              << count.deviating << " known to deviate, " << count.without_oracle
              << " problems without an exact answer, " << count.refused << " refused by oneDNN\n";
    EXPECT_GE((count.problems - count.without_oracle) * 3, problems);
}

TEST(other_operations, lrn_gives_the_same_bytes) { compare_others(operation::lrn, 600); }
TEST(other_operations, shuffle_gives_the_same_bytes) { compare_others(operation::shuffle, 600); }
TEST(other_operations, logsoftmax_gives_the_same_bytes) { compare_others(operation::logsoftmax, 600); }
TEST(other_operations, the_depthwise_post_op_gives_the_same_bytes) {
    SKIP_WITHOUT_VNNI();
    compare_others(operation::fused_depthwise, 600);
}

} // namespace
} // namespace peers
