#pragma once // SPDX-License-Identifier: Apache-2.0

// What a program says of an ONNX network that it has in a form of its own, and not in a file: `read_onnx` does the same with
// a file's nodes. Fill an `octet::model::graph` with constants, inputs, nodes under ONNX's names and computed tensors
// without a type, complete it, infer its shapes, and make an `octet::network` of it.

#include <string>
#include <vector>

#include "octet/graph.hpp"

namespace octet {
inline namespace v0 {
namespace model {

/// The name of an operator in a graph: its own where Octet has the operator of that domain ("" and "ai.onnx" are the
/// standard's, "com.microsoft" ONNX Runtime's), otherwise with the domain in front, which no supported operator has.
OCTET_API std::string onnx_operator(const std::string &domain, const std::string &op);

/// Whether Octet has an operator, by its name in a graph; also those that compute shapes and those that become others.
OCTET_API bool is_onnx_operator(const std::string &name);

/// What an operator sums up: products of 8-bit codes (of matrices or of windows), products of matrices of floats, or neither.
enum class summed_products { none, of_codes, of_floats };
/// What the operator of this name in a graph sums up; `none` for one that Octet does not have.
OCTET_API summed_products onnx_products(const std::string &name);

/// Makes of the nodes of an ONNX graph, without absent inputs at their ends, what `read_onnx` makes of a
/// file's: operators that are several others (Attention, DynamicQuantizeMatMul, …) give way to them, and
/// arithmetic of INT64 is marked, so that its results must fit into 32 bits. `is_int64` tells by tensor which
/// inputs and constants, that are s32 here, are INT64 in the network; tensors behind its end are not. Throws
/// octet::error for an operator that cannot be taken apart, with its node.
OCTET_API void complete_onnx_graph(graph &g, std::vector<bool> is_int64);

} // namespace model
} // namespace v0
} // namespace octet
