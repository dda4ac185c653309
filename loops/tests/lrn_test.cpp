// Local response normalization: near its formula for every kind of exponent, and some results bit for bit.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "loops/lrn.hpp"
#include "loops/tests/every_form.hpp"

namespace octet::tests {
namespace {

floats normalized(const loops::lrn_loop::parameters &p, const floats &x) {
    return same_everywhere([&] {
        floats y(x.size());
        loops::lrn_loop(p).run(x.data(), y.data());
        return y;
    });
}

TEST(Lrn, IsNearItsFormula) {
    constexpr std::int64_t images = 2, channels = 9, pixels = 301;
    const floats x = numbers(images * channels * pixels, 4.f);
    for (const std::int64_t size : {1, 3, 5, 21})
        for (const float beta : {0.75f, 0.5f, 1.f, 2.f, 3.f, 4.f, 1.3f}) {
            const floats y = normalized({images, channels, pixels, size, 0.5f, beta, 1.5f}, x);
            for (std::int64_t i = 0; i < images * channels * pixels; i++) {
                const std::int64_t c = i / pixels % channels;
                double sum = 0;
                for (std::int64_t k = std::max<std::int64_t>(c - size / 2, 0);
                     k <= std::min(c + size / 2, channels - 1); k++) {
                    const auto v = static_cast<double>(x[static_cast<std::size_t>(i + (k - c) * pixels)]);
                    sum += v * v;
                }
                const auto at = static_cast<std::size_t>(i);
                const double s = 1.5 + 0.5 / static_cast<double>(size) * sum,
                             wanted = static_cast<double>(x[at]) * std::pow(s, -static_cast<double>(beta));
                ASSERT_NEAR(static_cast<double>(y[at]), wanted, 4e-6 * std::max(1., std::abs(wanted)))
                    << i << ", size " << size << ", exponent " << beta;
            }
        }
}

/// Sums that are 0, infinite or below 0; a sum of 1 has the power 1.
TEST(Lrn, KnowsSpecialSums) {
    const float infinite = std::numeric_limits<float>::infinity();
    const floats y =
        normalized({1, 1, 8, 1, 1.f, 0.75f, 0.f}, {0.f, infinite, 1.f, 1e25f, -1.f, 2.f, 4.f, 16.f});
    EXPECT_TRUE(std::isnan(y[0])); // 0 times infinity
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[2], 1.f);
    EXPECT_EQ(y[3], 0.f);
    EXPECT_EQ(y[4], -1.f);
    EXPECT_NEAR(y[7], 0.25f, 1e-6f);
    EXPECT_TRUE(std::isnan(normalized({1, 1, 4, 1, 1.f, 0.75f, -2.f}, floats(4, 1.f))[0]));
}

} // namespace
} // namespace octet::tests
