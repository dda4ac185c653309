#pragma once

// Whether requests may share a batch: only where every output row depends on the input row of the same number alone, so that
// the bytes of an answer are the same in any company.

#include <string>

#include "octet/graph.hpp"

namespace octet::serve {

/// Why rows of this graph, as it was read, are not independent or not known to be; empty if they are. Every operator
/// has to be known to keep rows apart with its attributes; a network that quantizes by the range of a whole tensor,
/// for example, or has a state, is refused. For a saved plan the network that it was made of is asked.
std::string why_not_batched(const model::graph &g);

} // namespace octet::serve
