// Nodes as they come, from a file or a program, into nodes as the table of operators has them.
// SPDX-License-Identifier: Apache-2.0
#include "octet/onnx_graph.hpp"

#include "network/graph/file.hpp"
#include "network/onnx/contrib_operators.hpp"
#include "network/onnx/wide_integers.hpp"
#include "network/operators.hpp"

namespace octet {
inline namespace v0 {
namespace model {

std::string onnx_operator(const std::string &domain, const std::string &op) {
    const bool is_default = domain.empty() || domain == "ai.onnx", is_own = domain == "com.microsoft";
    const bool is_unknown = !find_operator("onnx", op);
    if ((is_default || is_own) && (is_unknown || is_onnx_operator(op, is_own)))
        return printable(op);
    return printable((is_default ? "ai.onnx" : domain) + "::" + op);
}

bool is_onnx_operator(const std::string &name) {
    const operator_facts *known = find_operator("onnx", name);
    return known && !known->is_internal;
}

summed_products onnx_products(const std::string &name) { return facts_of("onnx", name).products; }

void complete_onnx_graph(graph &g, std::vector<bool> is_int64) {
    expand_contrib_operators(g);
    mark_wide_integers(g, std::move(is_int64));
}

} // namespace model
} // namespace v0
} // namespace octet
