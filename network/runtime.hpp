#pragma once // SPDX-License-Identifier: Apache-2.0

// The runtime whose bytes a network has. `network_options::profile` names it, the dialect finds it, and whoever
// lowers a node asks it what that runtime computes there.

#include <functional>
#include <memory>

#include "network/dialect.hpp"
#include "network/lower/lowering.hpp"

namespace octet::model {

/// The runtime that the operators' own lowerings repeat, which networks get without a profile. Others derive
/// from it.
class runtime {
public:
    virtual ~runtime() = default;

    /// The runtime in its place where it takes no node of a graph if it cannot take all; null: itself. `at` gives
    /// a node's lowering.
    virtual std::shared_ptr<const runtime> instead_for(const graph &,
                                                       const std::function<lowering(std::size_t)> &) const {
        return nullptr;
    }
    /// The groups of elements of the node's result behind whose last whole one the runtime computes otherwise;
    /// of size 0 where all elements have one code.
    virtual element_groups broken_groups(const lowering &) const { return {}; }
    /// Throws `unimplemented`, with condition and substitute, where the runtime's arithmetic is not known.
    virtual std::unique_ptr<step> lower(const lowering &node) const {
        return facts_of(node.get_graph(), node.get_node()).lower(node);
    }
};

/// Throws octet::error for a profile that there is not, and for one that no network of the framework has.
void check_profile(const std::string &profile, std::string_view framework);

} // namespace octet::model
