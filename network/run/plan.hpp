#pragma once // SPDX-License-Identifier: Apache-2.0

// A network made ready for one set of sizes: what the passes made of its graph, a step per node, and where its
// tensors lie in the memory of a context. It never changes, so contexts in any number of threads share it.

#include <memory>

#include "network/graph/file.hpp"
#include "network/lower/lowering.hpp"
#include "network/lower/step.hpp"
#include "network/rewrites.hpp"
#include "octet/network.hpp"

namespace octet::model {

struct plan {
    model::graph graph;
    std::vector<std::unique_ptr<step>> steps; ///< one per node
    std::vector<buffer> buffers;              ///< one per tensor; none for those that vanished
    memory_plan memory;
    std::vector<std::shared_ptr<const packed_constant>> weights; ///< packed, in the order of use
    std::vector<std::shared_ptr<const joint_constants>> joint_weights;
    std::vector<int> packed_reads; ///< per tensor: how many inputs are packed ones
    rewrite_history transformed;   ///< see `network::passes`, `operators_left`
    cpu_isa isa;                   ///< that the steps were made for
};

/// Checks the graph, makes quantized operators, then those that Octet has, fuses, assigns layouts, lowers,
/// packs, places the buffers. Sizes are those of the graph; of `options` all else counts. Throws
/// octet::error, and what `options.progress` throws. Inputs and outputs that are `lent` have no bytes but
/// those that a context is given.
std::shared_ptr<const plan> make_plan(model::graph g, const network_options &options, packed_weights &weights,
                                      const std::vector<tensor_id> &lent = {});

/// For each node of a graph the groups of elements that a profile computes otherwise than what lies behind
/// the last whole one; of size 0 where all elements have one code, and without a profile.
std::vector<element_groups> broken_groups_of(const graph &g, const std::string &profile);

/// Nodes that cannot be lowered, by their numbers, with the sentences that say why, among those that passes
/// leave of a graph. Throws octet::error where a pass fails.
std::vector<std::pair<int, std::string>> refused_lowerings(model::graph g, const network_options &options);

/// See `network::save`. `source` is what the plan was made of, with its sizes.
void save_plan(const byte_sink &put, const plan &p, const graph &source, const network_options &options);

} // namespace octet::model
