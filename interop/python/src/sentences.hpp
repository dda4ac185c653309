#pragma once // SPDX-License-Identifier: Apache-2.0

// The library's sentences in terms of Python: they name C++'s functions and arguments, a user of Python knows
// keyword arguments.

#include <string>

namespace octet::python {

/// A sentence with C++'s functions and execution arguments replaced by keyword arguments.
std::string in_terms_of_python(std::string text);

/// A sentence about an operation, in which tensors are also called as the functions of octet.operations call
/// them, and types as NumPy does.
std::string in_terms_of_operations(const std::string &given);

} // namespace octet::python
