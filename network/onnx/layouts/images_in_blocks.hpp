#pragma once // SPDX-License-Identifier: Apache-2.0

// Images whose channels ONNX Runtime keeps in blocks of 16 (its NchwcTransformer): sums have another order
// there.

#include "network/onnx/rewrites/ort_graph.hpp"

namespace octet::model {

/// Writes what is computed in blocks so that it has ONNX Runtime's bytes.
void note_images_in_blocks(ort_graph &g);

} // namespace octet::model
