#pragma once // SPDX-License-Identifier: Apache-2.0

// A node that is written as several: what the classes that do so for an operator have in common.

#include "network/graph/graph.hpp"

namespace octet::model {

class node_parts {
public:
    /// Tensors between the parts are added to `g`, which must outlive this, as `whole` must.
    node_parts(graph &g, const node &whole) : g_(g), whole_(whole) {}

    /// In the order in which they run.
    std::vector<node> take_parts() { return std::move(parts_); }

protected:
    /// None where the node has no such input or output.
    ///@{
    tensor_id input(std::size_t i) const { return input_of(whole_, i); }
    tensor_id output(std::size_t i = 0) const { return output_of(whole_, i); }
    ///@}

    /// A tensor between two parts, named after the output.
    tensor_id between(const char *what);
    /// The next part, under the number of the whole; absent inputs at the end are left out.
    void add(node n);
    /// Throws octet::error (unimplemented), which names the node.
    [[noreturn]] void refuse(const std::string &what) const;

    graph &g_;
    const node &whole_;
    std::vector<node> parts_;
};

} // namespace octet::model
