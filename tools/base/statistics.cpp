// Order statistics and the binomial distribution of a fair coin.
// SPDX-License-Identifier: Apache-2.0
#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace octet::tools {
namespace {

/// The probability that exactly `k` of `n` fall to one side. Computed from logarithms, since binomial
/// coefficients leave the doubles at n = 1030.
double exactly(std::int64_t k, std::int64_t n) {
    const auto log_factorial = [](std::int64_t i) { return std::lgamma(static_cast<double>(i) + 1); };
    return std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) -
                    static_cast<double>(n) * std::log(2.0));
}

} // namespace

time_summary summarize(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const std::size_t n = seconds.size();
    const auto percentile = [&](std::size_t percent) { return seconds.at((percent * n + 99) / 100 - 1); };
    const interval around = median_interval(seconds);
    return {seconds.at(0),  (seconds.at((n - 1) / 2) + seconds.at(n / 2)) / 2,
            percentile(90), percentile(99),
            around.low,     around.high};
}

double median_of(std::vector<double> values) {
    return values.empty() ? 0 : summarize(std::move(values)).median;
}

interval median_interval(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto n = static_cast<std::int64_t>(values.size());
    std::int64_t below = 0; // values left out on each side
    double outside = exactly(0, n);
    while (2 * (outside += exactly(below + 1, n)) <= 0.05)
        below++;
    const auto at = [&](std::int64_t i) { return values.at(static_cast<std::size_t>(i)); };
    return {at(below), at(n - 1 - below)};
}

double sign_test(std::int64_t wins, std::int64_t losses) {
    double tail = 0;
    for (std::int64_t k = 0; k <= std::min(wins, losses); k++)
        tail += exactly(k, wins + losses);
    return std::min(1.0, 2 * tail);
}

} // namespace octet::tools
