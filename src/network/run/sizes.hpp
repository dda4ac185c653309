#pragma once

#include "network/graph/graph.hpp"

namespace octet::model {

/// Refuses a graph whose inputs have a first dimension without a size, and says why it is not 1.
void require_first_dimensions(const graph &g);

} // namespace octet::model
