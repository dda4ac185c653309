#pragma once // SPDX-License-Identifier: Apache-2.0

// Images whose channels ONNX Runtime keeps in blocks of 16 (its NchwcTransformer): sums have another order there.

#include "network/passes/ort/ort_graph.hpp"

namespace octet::model {

/// Attribute of a Gelu: it was FastGelu, of which there is no form in blocks.
inline constexpr const char *was_fast_gelu = "octet.was_fast_gelu";

/// Writes what is computed in blocks so that it has ONNX Runtime's bytes.
void note_images_in_blocks(ort_graph &g);

} // namespace octet::model
