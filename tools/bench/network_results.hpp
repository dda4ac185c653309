#pragma once // SPDX-License-Identifier: Apache-2.0

// Measured networks as people and programs read them; doc/bench.md explains the columns.

#include <string>
#include <vector>

#include "base/json.hpp"
#include "bench/measured_network.hpp"

namespace octet::tools {

/// Results of a network with each count of threads, as two tables: the whole, with the baseline, and its nodes.
std::string network_text(const std::vector<network_result> &results);

/// Lines of a file of results: the network, the sums of its layers, then each node warm, cold and in the network.
std::vector<measurement> rows_of(const network_result &result);

/// {"threads", "network_over_layers", "rows"}: of one count of threads.
json to_json(const network_result &result);

/// The gain by Octet's provider in ONNX Runtime: for each count of threads, the median time of a session by
/// itself over that with the provider. `results` are in such pairs.
struct provider_gain {
    int threads;
    double ratio;
};
std::vector<provider_gain> provider_gains(const std::vector<network_result> &results);

/// Sets the scaling of what was measured with several counts.
void set_scaling(std::vector<network_result> &results);

} // namespace octet::tools
