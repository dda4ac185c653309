// Four numbers of many times.

#include "commands/statistics.hpp"

#include <algorithm>

namespace octet::tools {

time_summary summarize(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const std::size_t n = seconds.size();
    const auto percentile = [&](std::size_t percent) { return seconds.at((percent * n + 99) / 100 - 1); };
    return {seconds.at(0), (seconds.at((n - 1) / 2) + seconds.at(n / 2)) / 2, percentile(90), percentile(99)};
}

} // namespace octet::tools
