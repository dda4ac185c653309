// Nodes as they come, from a file or a program, into nodes as the table of operators has them.
// SPDX-License-Identifier: Apache-2.0
#include "octet/onnx_graph.hpp"

#include "network/graph/file.hpp"
#include "network/onnx/completion/facts.hpp"
#include "network/onnx/completion/operators_in_parts.hpp"
#include "network/onnx/completion/wide_integers.hpp"

namespace octet {
inline namespace v0 {
namespace model {

std::string onnx_operator(const std::string &domain, const std::string &op) {
    const bool is_default = domain.empty() || domain == "ai.onnx", is_own = domain == "com.microsoft";
    const operator_facts *known = dialect_of("onnx").operators().find(op);
    const auto is_there = [&] {
        return !known->is_internal &&
               (known->domain == domains::both || (known->domain == domains::microsoft) == is_own);
    };
    if ((is_default || is_own) && (!known || is_there()))
        return printable(op);
    return printable((is_default ? "ai.onnx" : domain) + "::" + op);
}

bool is_onnx_operator(const std::string &name) {
    const operator_facts *known = dialect_of("onnx").operators().find(name);
    return known && !known->is_internal;
}

summed_products onnx_products(const std::string &name) { return onnx_facts(name).products; }

void complete_onnx_graph(graph &g, std::vector<bool> is_int64) {
    expand_operators_in_parts(g);
    mark_wide_integers(g, std::move(is_int64));
}

} // namespace model
} // namespace v0
} // namespace octet
