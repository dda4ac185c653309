#pragma once // SPDX-License-Identifier: Apache-2.0

#include "network/graph/graph.hpp"
#include "octet/network.hpp"

namespace octet::model {

/// Whether an input has a size that nobody told.
bool has_open_sizes(const graph &g);

/// Gives the inputs these sizes as far as the file leaves them open or they are named; what is computed does
/// not follow.
void set_input_sizes(graph &g, const network_sizes &sizes);

/// Refuses a graph whose inputs have a first dimension without a size, and says why it is not 1.
void require_first_dimensions(const graph &g);

} // namespace octet::model
