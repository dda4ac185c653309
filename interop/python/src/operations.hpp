#pragma once // SPDX-License-Identifier: Apache-2.0

// The primitives as one function of arrays, which knows no operation: it follows the library's descriptions
// of them. Arrays have oneDNN's logical order (batch, channels, pixels; weights: output channels, input
// channels, pixels) in any memory order; what NumPy says in strides is a layout here. Shapes of results and
// keyword arguments are octet/operations'.

#include "arrays.hpp"

namespace octet::python {

void bind_operations(py::module_ &m);

} // namespace octet::python
