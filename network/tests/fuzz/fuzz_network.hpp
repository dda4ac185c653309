#pragma once // SPDX-License-Identifier: Apache-2.0

// The steps of fuzzing with a file: read it, build its network, run it. Only octet::error may come out.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "octet/graph.hpp"

namespace octet::tests {

using graph_reader = model::graph (*)(const std::uint8_t *bytes, std::size_t size, const std::string &name);

enum class fuzz_outcome { refused, too_large, ran };

/// Networks that would take longer than a test may are read and checked, but not built.
fuzz_outcome fuzz_network(graph_reader read, const std::uint8_t *bytes, std::size_t size);
/// The same of a graph.
fuzz_outcome fuzz_graph(const std::function<model::graph()> &make);

} // namespace octet::tests
