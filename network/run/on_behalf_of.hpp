#pragma once // SPDX-License-Identifier: Apache-2.0

#include <new>
#include <stdexcept>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Does something for a node; what it throws is an octet::error with the node's name in front.
template <typename Work> auto on_behalf_of(const graph &g, std::size_t node, const Work &work) {
    try {
        return work();
    } catch (const error &e) {
        throw error(e.status, node_text(g, node) + ": " + e.what());
    } catch (const std::out_of_range &) {
        throw error(status::invalid_arguments,
                    node_text(g, node) + ": names an input, output or dimension that there is not");
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory, node_text(g, node) + ": not enough memory for its tensors");
    }
}

} // namespace octet::model
