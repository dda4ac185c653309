#pragma once // SPDX-License-Identifier: Apache-2.0

#include "network/dialect.hpp"

namespace octet::model {

/// The facts of an operator by its name in a graph of ONNX.
inline const operator_facts &onnx_facts(std::string_view op) { return facts_of(dialect_of("onnx"), op); }

} // namespace octet::model
