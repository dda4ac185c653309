#pragma once // SPDX-License-Identifier: Apache-2.0

// Finds the facts of an operator (graph/operator_facts.hpp) by its name.

#include <string_view>

#include "network/graph/operator_facts.hpp"

namespace octet::model {

/// An operator of a framework; null for one that is not known.
const operator_facts *find_operator(std::string_view framework, std::string_view op);

/// The facts of an operator where it is known, and none where it is not.
const operator_facts &facts_of(std::string_view framework, std::string_view op);

/// Whether .onnx files may have an operator of this name in ONNX Runtime's domain, or otherwise in the default one.
bool is_onnx_operator(const std::string &op, bool in_microsoft);

/// Operators that files may have, in the order of their names. Throws octet::error for an unknown framework.
std::vector<std::string> listed_operators(const std::string &framework);

} // namespace octet::model
