#pragma once // SPDX-License-Identifier: Apache-2.0

// For programs that have an ONNX network in a form of their own and not in a file; `read_onnx` calls the same
// functions for a file's nodes. Fill an `octet::model::graph` with constants, inputs, nodes under ONNX's
// names and computed tensors without a type, complete it, infer its shapes, and make an `octet::network` of
// it.

#include <string>
#include <vector>

#include "octet/graph.hpp"

namespace octet {
inline namespace v0 {
namespace model {

/// The name of an operator in a graph: its own where Octet has the operator of that domain ("" and "ai.onnx"
/// are the standard's, "com.microsoft" ONNX Runtime's), otherwise with the domain in front, which no
/// supported operator has.
OCTET_API std::string onnx_operator(const std::string &domain, const std::string &op);

/// Returns whether Octet has an operator, by its name in a graph. Operators that compute shapes, or that
/// become others, count too.
OCTET_API bool is_onnx_operator(const std::string &name);

/// The products that an operator sums up: of 8-bit codes (matrix products or convolutions), of floats (matrix
/// products), or none.
enum class summed_products { none, of_codes, of_floats };
/// Returns the products that the operator of this name in a graph sums up; `none` for an operator that Octet
/// does not have.
OCTET_API summed_products onnx_products(const std::string &name);

/// Turns an ONNX graph into the form that `read_onnx` gives a file's: operators that ONNX Runtime has no kernel
/// for (Mish) and QAttention are replaced by their parts, and INT64 arithmetic is marked, because its results
/// must fit into 32 bits. Nodes have no absent inputs at the end of their lists. `is_int64` tells by
/// tensor index which inputs and constants, s32 here, are INT64 in the network; tensors beyond its end are
/// not. Throws octet::error, with the node, for an operator that cannot be taken apart.
OCTET_API void complete_onnx_graph(graph &g, std::vector<bool> is_int64);

} // namespace model
} // namespace v0
} // namespace octet
