#pragma once // SPDX-License-Identifier: Apache-2.0

// EXPECT_EQ for loops over millions of cases: cheap while all is well, and a broken function reports its
// first few cases instead of all of them.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <type_traits>

namespace octet::test {

template <typename Got, typename Wanted, typename... Context>
void expect_same(Got got, Wanted wanted, const Context &...context) {
    if constexpr (std::is_floating_point_v<Got>) { // as bytes: zeros have signs, NaNs are one
        if (got == wanted ? std::signbit(got) == std::signbit(wanted) : std::isnan(got) && std::isnan(wanted))
            return;
    } else if (got == wanted) {
        return;
    }
    constexpr int reported_cases = 5;
    const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
    if (test->result()->total_part_count() >= reported_cases)
        return;
    std::ostringstream where;
    where.precision(17);
    (where << ... << context);
    ADD_FAILURE() << where.str() << ": got " << got << ", wanted " << static_cast<Got>(wanted);
}

} // namespace octet::test
