#pragma once // SPDX-License-Identifier: Apache-2.0

// The tests of loops share numbers, and a check that a result is the same at every level and for every number
// of threads.

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "octet/settings.hpp"

namespace octet::tests {

using floats = std::vector<float>;

/// Numbers between -limit and limit with nothing in common.
inline floats numbers(std::int64_t count, float limit, unsigned seed = 1) {
    floats values(static_cast<std::size_t>(count));
    for (float &v : values) {
        seed = seed * 1664525 + 1013904223;
        v = limit * (static_cast<float>(seed >> 8) / 8388608.f - 1.f);
    }
    return values;
}

/// The result of `make`, which is called at each level with 1, 2 and 7 threads and must give the same bytes.
template <typename Make> auto same_everywhere(const Make &make) {
    const int usual = get_num_threads();
    const auto result = make();
    for (const cpu_isa level : get_available_cpu_isas())
        for (const int threads : {1, 2, 7}) {
            set_max_cpu_isa(level);
            set_num_threads(threads);
            const auto other = make();
            EXPECT_EQ(other.size(), result.size());
            EXPECT_EQ(std::memcmp(other.data(), result.data(), result.size() * sizeof(result[0])), 0)
                << "at " << to_string(level) << ", " << threads << " threads";
        }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(usual);
    return result;
}

} // namespace octet::tests
