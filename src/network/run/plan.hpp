#pragma once

// A network made ready for one set of sizes: what the passes made of its graph, a step per node, and where its
// tensors lie in the memory of a context. It never changes, so contexts in any number of threads share it.

#include <memory>

#include "network/lower/step.hpp"
#include "octet/network.hpp"

namespace octet::model {

struct plan {
    model::graph graph;
    std::vector<std::unique_ptr<step>> steps; ///< one per node
    std::vector<buffer> buffers;              ///< one per tensor; none for those that vanished
    memory_plan memory;
};

/// Checks the graph, makes operators on codes, joins, assigns layouts, lowers, packs, places the buffers. Sizes are
/// those of the graph; of `options` all else counts. Throws octet::error, and what `options.progress` throws.
std::shared_ptr<const plan> make_plan(model::graph g, const network_options &options,
                                      packed_weights &weights);

} // namespace octet::model
