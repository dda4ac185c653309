// Idioms of clients compile against both headers and do the same.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "idioms.hpp"

TEST(compatibility, idioms_do_what_they_do_with_onednn) {
    const idioms::results ours = idioms::octet::run(), theirs = idioms::onednn::run();
    ASSERT_EQ(ours.size(), theirs.size());
    EXPECT_GE(ours.size(), 120u);
    for (std::size_t i = 0; i < ours.size(); i++) {
        EXPECT_EQ(ours[i].first, theirs[i].first);
        if (__builtin_cpu_supports("avx512vnni")) { // else oneDNN's sums saturate
            EXPECT_EQ(ours[i].second, theirs[i].second) << ours[i].first;
        }
    }
}
