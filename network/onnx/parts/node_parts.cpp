// Parts have the number of the node that they are of, so that messages and times name it.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/parts/node_parts.hpp"

namespace octet::model {

int node_parts::between(const char *what) {
    tensor t;
    t.name = g_.tensors[at(whole_.outputs[0])].name + " " + what;
    t.foreign_type = "unknown"; // until shapes are inferred
    g_.tensors.push_back(std::move(t));
    return static_cast<int>(g_.tensors.size() - 1);
}

void node_parts::add(node n) {
    n.number = whole_.number;
    while (!n.inputs.empty() && n.inputs.back() < 0)
        n.inputs.pop_back();
    parts_.push_back(std::move(n));
}

void node_parts::refuse(const std::string &what) const {
    refuse_as_unimplemented("node " + std::to_string(whole_.number) + " (" + whole_.op + "): " + what);
}

} // namespace octet::model
