#pragma once // SPDX-License-Identifier: Apache-2.0

// Times of repeated runs in a few numbers, and what chance alone can make of two of them. The median is what
// a run takes; the minimum shows what it could take on a quiet machine, the percentiles what it takes on this
// one when something else runs.

#include <cstdint>
#include <vector>

namespace octet::tools {

struct time_summary {
    double minimum = 0, median = 0, p90 = 0, p99 = 0; ///< seconds
    double low = 0, high = 0;                         ///< `median_interval`
};

/// Sums up at least one time. P90 and P99 are of the nearest rank: the smallest time that at least 90 % (99 %) of
/// all do not exceed, so one of the times themselves, and the largest where there are few. The median of an
/// even number is the mean of the two in the middle.
time_summary summarize(std::vector<double> seconds);
/// 0 of no values.
double median_of(std::vector<double> values);

/// Two of the values between which the median of what they are samples of lies with a probability of at least 95 %,
/// whatever its distribution: by the binomial distribution of how many samples lie below it. Of fewer than 6 values
/// the first and the last, which hold it less often. Of at least one value.
struct interval {
    double low, high;
};
interval median_interval(std::vector<double> values);

/// The sign test: the probability that a fair coin, thrown as often as there are `wins` and `losses`, falls as
/// unevenly as that or more, to either side. Exact; 1 for none of either.
double sign_test(std::int64_t wins, std::int64_t losses);

} // namespace octet::tools
