// Parts have the number of the node that they are of, so that messages and times name it.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/parts/node_parts.hpp"

namespace octet::model {

tensor_id node_parts::between(const char *what) {
    tensor t;
    t.name = tensor_at(g_, output()).name + " " + what;
    t.foreign_type = "unknown"; // until shapes are inferred
    return add_tensor(g_, std::move(t));
}

void node_parts::add(node n) {
    n.number = whole_.number;
    model::drop_absent_at_end(n.inputs);
    parts_.push_back(std::move(n));
}

void node_parts::refuse(const std::string &what) const {
    refuse_as_unimplemented("node " + std::to_string(whole_.number) + " (" + whole_.op + "): " + what);
}

} // namespace octet::model
