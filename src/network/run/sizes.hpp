#pragma once

// Other sizes of a network's inputs, and of all that is computed from them.

#include "octet/network.hpp"

namespace octet::model {

/// Changes the dimensions of a graph as it was read. Throws octet::error for a name that the inputs lack, for
/// another number of dimensions, and where an operator cannot have these sizes.
void set_sizes(graph &g, const network_sizes &sizes);

} // namespace octet::model
