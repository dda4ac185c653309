#pragma once // SPDX-License-Identifier: Apache-2.0

// If, Loop and Scan whose way is known from the file: the nodes of their graphs take their place.

#include <optional>

#include "network/onnx/reader/model_file.hpp"

namespace octet::model {

/// The file's graph with the branch that a constant condition chooses, and with bodies repeated for a constant trip
/// count or the size of what Scan goes over. Nothing if there is no such node. Nodes whose way depends on
/// computed values stay; throws octet::error for one that would become too many nodes.
std::optional<onnx::GraphProto> with_inlined_graphs(const onnx_file &file);

} // namespace octet::model
