#pragma once // SPDX-License-Identifier: Apache-2.0

// Facts about matrix products in ONNX's networks that passes and operators must see alike.

#include "network/graph/graph.hpp"
#include "network/graph/node_marks.hpp"

namespace octet::model {

/// Whether ONNX Runtime packs the matrix of a product of floats ahead: it computes what it dequantizes with
/// each run. The order of a packed one does not depend on the number of rows.
inline bool is_packed_ahead(const node &product, const tensor &matrix) {
    return matrix.is_constant && matrix.dims.size() == 2 && !marks_of(product).has_dequantized;
}

} // namespace octet::model
