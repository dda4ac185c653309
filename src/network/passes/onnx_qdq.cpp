// Which float operators become operators on codes, in steps over the graph (qdq_passes.hpp); start at `fuse_qdq`.
//
//   1. Two pairs of QuantizeLinear and DequantizeLinear in a row become one.
//   2. Weights that are stored as floats and quantized by the network itself are quantized now.
//   3. MatMul and Add become a Gemm.
//   4. DequantizeLinear goes down and QuantizeLinear up through operators that move elements.
//   5. Constant weights and biases in front of a QuantizeLinear are rounded to s8 and s32 codes.
//   6. A Relu or Clip that the quantized range implies is dropped, a pair with equal parameters cancels.
//   7. An operator between the two becomes its quantized form.

#include "network/passes/onnx_qdq.hpp"

#include <algorithm>

#include "network/passes/qdq_passes.hpp"

namespace octet::model {
namespace {

/// Weights stored as floats with a QuantizeLinear of their own: quantized once, by the operator itself.
void quantize_constants(graph &g, const evaluator &evaluate) {
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        const bool all_constant =
            n.op == "QuantizeLinear" && std::all_of(n.inputs.begin(), n.inputs.end(), [&](int t) {
                return t < 0 || g.tensors[static_cast<std::size_t>(t)].is_constant;
            });
        if (!all_constant)
            continue;
        tensor &y = g.tensors[static_cast<std::size_t>(n.outputs[0])];
        y.data = evaluate(g, n, 0, g.tensors[static_cast<std::size_t>(n.inputs[0])].data, {});
        y.is_constant = true;
        g.nodes.erase(g.nodes.begin() + static_cast<std::ptrdiff_t>(i--));
    }
}

} // namespace

std::map<int, std::string> fuse_qdq(graph &g, const evaluator &evaluate) {
    qdq_graph doubled(g);
    merge_double_pairs(doubled);
    doubled.finish();
    quantize_constants(g, evaluate);
    make_unsigned(g);
    qdq_graph pairs(g);
    form_gemms(pairs);
    move_codes(pairs);
    quantize_weights_and_biases(pairs, evaluate);
    drop_implied_limits(pairs);
    cancel_pairs(pairs);
    std::map<int, std::string> reasons = compute_on_codes(pairs);
    pairs.finish();
    return reasons;
}

} // namespace octet::model
