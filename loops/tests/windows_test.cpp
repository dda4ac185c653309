// Windows of convolutions: what they read, and what those of a transposed convolution write.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include "loops/parallel.hpp"
#include "loops/tests/every_form.hpp"
#include "loops/windows.hpp"

namespace octet::tests {
namespace {

std::size_t at(dim_t i) { return static_cast<std::size_t>(i); }

/// Small integers, whose sums of products are exact.
floats integers(dim_t count, unsigned seed) {
    floats x = numbers(count, 9.f, seed);
    for (float &v : x)
        v = std::round(v);
    return x;
}

TEST(Windows, ScatteredTapsAreTheTransposeOfGatheredOnes) {
    for (const dim_t stride : {1, 2, 3})
        for (const dim_t step : {1, 2})
            for (const dim_t pad : {0, 1, 4}) {
                loops::window_axes w;
                w.axes[0] = {3, 2, 2, 1, 1, 0};
                w.axes[1] = {5, 6, 3, stride, step, pad};
                w.axes[2] = {7, 4, 2, stride, step, pad};
                const dim_t taps = w.taps(), pixels = w.outputs();
                const floats x = integers(w.inputs(), 1), given = integers(taps * pixels, 2);
                floats met(given.size()), sums(x.size());
                loops::gather_taps(w, x.data(), 0, taps, 0, pixels, met.data());
                loops::scatter_taps(w, given.data(), sums.data());
                EXPECT_EQ(std::inner_product(met.begin(), met.end(), given.begin(), 0.f),
                          std::inner_product(x.begin(), x.end(), sums.begin(), 0.f))
                    << stride << ", " << step << ", " << pad;
            }
}

TEST(Windows, TheFirstTapGivesFirst) {
    constexpr float large = 0x1p25f; // 1 is lost beside it, 3 is not
    loops::window_axes w;
    w.axes[1] = w.axes[2] = {1, 2, 2, 1, 1, 1}; // windows 1 and 0 meet the one pixel, with taps 0 and 1
    const auto sum_with = [&](std::size_t place) {
        floats given(16, 1.f), sum(1);
        given[place] = large;
        loops::scatter_taps(w, given.data(), sum.data());
        return sum[0];
    };
    EXPECT_EQ(sum_with(3), large);      // the last window, by the first tap
    EXPECT_EQ(sum_with(12), large + 4); // the first window, by the last tap
}

TEST(Parallel, PartsCoverEachItem) {
    for (const dim_t size : {0, 1, 99, 100, 101, 350}) {
        constexpr dim_t items = 5, part = 100;
        floats seen(at(items * size));
        loops::for_parts(items, size, part, 1 << 12, [&](dim_t item, dim_t first, dim_t count) {
            EXPECT_LE(count, part);
            EXPECT_LE(first + count, size);
            for (dim_t i = first; i < first + count; i++)
                seen[at(item * size + i)]++;
        });
        EXPECT_EQ(seen, floats(seen.size(), 1.f)) << size;
    }
}

} // namespace
} // namespace octet::tests
