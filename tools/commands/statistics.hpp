#pragma once

// Times of repeated runs in four numbers. The median is what a run takes; the minimum shows what it could
// take on a quiet machine, the percentiles what it takes on this one when something else runs.

#include <vector>

namespace octet::tools {

struct time_summary {
    double minimum = 0, median = 0, p90 = 0, p99 = 0; ///< seconds
};

/// Of at least one time. P90 and P99 are of the nearest rank: the smallest time that at least 90 % (99 %) of
/// all do not exceed, so one of the times themselves, and the largest where there are few. The median of an
/// even number is the mean of the two in the middle.
time_summary summarize(std::vector<double> seconds);

} // namespace octet::tools
