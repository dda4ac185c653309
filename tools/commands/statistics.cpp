// Order statistics and the binomial distribution of a fair coin.

#include "commands/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace octet::tools {
namespace {

/// That at most `k` of `n` fall to one side. Of logarithms, since binomial coefficients leave the doubles at n = 1030.
double at_most(std::int64_t k, std::int64_t n) {
    const auto log_factorial = [](std::int64_t i) { return std::lgamma(static_cast<double>(i) + 1); };
    double sum = 0;
    for (std::int64_t i = 0; i <= k; i++)
        sum += std::exp(log_factorial(n) - log_factorial(i) - log_factorial(n - i) -
                        static_cast<double>(n) * std::log(2.0));
    return sum;
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

interval median_interval(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto n = static_cast<std::int64_t>(values.size());
    std::int64_t below = 0; // values left out on each side
    while (2 * at_most(below + 1, n) <= 0.05)
        below++;
    const auto at = [&](std::int64_t i) { return values.at(static_cast<std::size_t>(i)); };
    return {at(below), at(n - 1 - below)};
}

double sign_test(std::int64_t wins, std::int64_t losses) {
    return std::min(1.0, 2 * at_most(std::min(wins, losses), wins + losses));
}

} // namespace octet::tools
