#pragma once // SPDX-License-Identifier: Apache-2.0

// The times of a network's nodes: kept run by run, shown as tables and as a Chrome trace.

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/statistics.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tools {

class run_profile {
public:
    explicit run_profile(const network &net) : net_(net) {}

    void begin_run() { runs_.emplace_back(); }
    void add(std::size_t node, double seconds);

    /// "12 runs: minimum 1.204 ms, median …, P90 …, P99 …"
    std::string runs_text() const;
    /// One line per node: its times in these runs, the share of the medians' sum, what it runs on.
    std::string nodes_text() const;
    /// The profile summed over the nodes with one operator, longest first.
    std::string operators_text() const;
    /// Complete events in Chrome's trace format: one per run, with one per node inside. Times in
    /// microseconds, from the first run's start.
    std::string trace() const;
    /// {"runs", "times", "nodes": [{"node", "operator", "output", "implementation", "times", "share"}]}
    json to_json() const;

private:
    time_summary run_times() const;
    std::vector<time_summary> node_times() const;

    const network &net_;
    std::vector<std::vector<double>> runs_; ///< seconds of each node, per run
};

} // namespace octet::tools
