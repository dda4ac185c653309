#pragma once // SPDX-License-Identifier: Apache-2.0

// The contract finder's entry in the module.

#include <pybind11/pybind11.h>

namespace octet::python {

/// _MatchSubject, behind octet.match.
void bind_matching(pybind11::module_ &m);

} // namespace octet::python
