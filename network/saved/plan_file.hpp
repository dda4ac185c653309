#pragma once // SPDX-License-Identifier: Apache-2.0

// Plans in files (plan.fbs): a network that was saved starts without reading its model, without passes and without
// packing; its weights stay in the mapped file, which processes share.

#include <vector>

#include "network/graph/file.hpp"
#include "network/graph/graph.hpp"
#include "network/lower/packed_weights.hpp"
#include "octet/network.hpp"

namespace octet::model {

/// The content of a saved plan besides its graph; `graph::saved` of one that was read.
struct saved_plan {
    network_options options; ///< those that decide its bytes; others are as by default
    std::vector<saved_constant> weights;
    graph source;       ///< the network before the passes; what is only packed is zeros in it, too
    shared_bytes zeros; ///< all of them, in both graphs
};

/// The graph to save, after all passes, and what was made of it.
struct plan_to_save {
    const graph &g;
    const graph &source; ///< of the same sizes before all passes; `g` has the bytes of its constants
    const network_options &options;
    cpu_isa isa; ///< that its primitives were made for
    const std::vector<std::shared_ptr<const packed_constant>> &weights;
    std::vector<bool> is_only_packed; ///< per tensor: nobody needs its elements in the plain order
};

/// Hands over the bytes of a saved plan, one range after the other.
void write_plan(const byte_sink &put, const plan_to_save &plan);

/// Reads and checks a saved plan: lengths, checksums, version, instruction set, FlatBuffers' verifier, every index
/// and size, `check_graph`. Elements of constants that are only packed are zeros. `bytes` are aligned to 64.
graph read_plan(const shared_bytes &bytes, const std::string &name);

} // namespace octet::model
