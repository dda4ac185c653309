#pragma once // SPDX-License-Identifier: Apache-2.0

// The primitives as functions of arrays. Arrays have oneDNN's logical order (batch, channels, pixels; weights: output
// channels, input channels, pixels) in any memory order; what NumPy says in strides is a layout here.

#include "arrays.hpp"

namespace octet::python {

/// Binds operations with weights that may be packed, and `Weights`.
void bind_products(py::module_ &m);
/// The others.
void bind_operations(py::module_ &m);

} // namespace octet::python
