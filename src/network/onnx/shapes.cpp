// Walks over the nodes in order, so that each finds the shapes of its inputs; what an operator gives is in
// shape_functions.hpp.

#include "network/onnx/shapes.hpp"

#include "network/onnx/node_shapes.hpp"
#include "network/operators.hpp"

namespace octet::model {
namespace {

void check_operators(const graph &g) {
    std::string unknown;
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (!facts_of("onnx", g.nodes[i].op).infer)
            unknown += (unknown.empty() ? "" : ", ") + node_text(g, i);
    if (!unknown.empty())
        refuse_as_unimplemented("unsupported operators: " + unknown);
}

} // namespace

void infer_onnx_shapes(graph &g) {
    check_operators(g);
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        check_tensor(g, static_cast<int>(t)); // outputs are still scalars
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        try {
            node_shapes n(g, g.nodes[i]);
            facts_of("onnx", g.nodes[i].op).infer(n);
        } catch (const error &e) {
            throw error(e.status, node_text(g, i) + ": " + e.what());
        }
        for (const int output : g.nodes[i].outputs)
            check_tensor(g, output);
    }
}

} // namespace octet::model
