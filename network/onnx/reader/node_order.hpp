#pragma once // SPDX-License-Identifier: Apache-2.0

// The order in which the nodes of an .onnx file can run. The format asks for one, but ONNX Runtime takes any,
// so that files exist whose nodes read what later ones write.

#include <vector>

#include "network/onnx/reader/model_file.hpp"

namespace octet::model {

/// Indices of all nodes, each behind those that write what it reads and otherwise as the file has them. Nodes
/// in a circle are there, too; one of them is before a node whose output it reads.
std::vector<int> order_of_nodes(const onnx::GraphProto &source);

} // namespace octet::model
