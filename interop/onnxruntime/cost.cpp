// Counts of what ONNX Runtime would run follow from its graph, so that a plan from the cache is judged as the
// one that it was.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime/cost.hpp"

#include <algorithm>

#include "octet/onnx_graph.hpp"

namespace octet::onnxruntime {
namespace {

std::string counted(std::int64_t count, const char *what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace

run_cost cost_of(const graph &g, const std::vector<int> &nodes, const model::graph &runs) {
    const selection part = select(g, nodes);
    const auto is_among = [](const std::vector<int> &border, const std::vector<int> &values) {
        return std::any_of(values.begin(), values.end(),
                           [&](int v) { return std::count(border.begin(), border.end(), v) != 0; });
    };
    run_cost c;
    c.kernels = std::count_if(nodes.begin(), nodes.end(), [&](int i) {
        const node &n = g.nodes[static_cast<std::size_t>(i)];
        if (n.op == "QuantizeLinear") // others are joined with the operator before
            return is_among(part.inputs, n.inputs);
        return n.op != "DequantizeLinear" || is_among(part.outputs, n.outputs);
    });
    for (const model::node &n : runs.nodes) {
        c.products += model::onnx_products(n.op) == model::summed_products::of_codes ? 1 : 0;
        for (const int t : n.outputs)
            c.elements += t < 0 ? 0 : model::element_count(runs.tensors[static_cast<std::size_t>(t)].dims);
    }
    return c;
}

std::string text_of(const run_cost &cost) {
    return "a run would save " + std::to_string(static_cast<int>(cost.saved())) +
           " ns of ONNX Runtime's time (" + counted(cost.kernels, "operator") + ", " +
           counted(cost.products, "product") + ", " + counted(cost.elements, "element") + ") and cost " +
           std::to_string(static_cast<int>(run_cost::border)) + " ns for its call";
}

} // namespace octet::onnxruntime
