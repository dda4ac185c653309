// As `gemm_activation_fusion.cc` and `conv_activation_fusion.cc` of ONNX Runtime 1.30, level 2: the product
// before an activation computes it, too. Bytes are those of both operators; but other passes find another
// graph.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string_view>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

/// The limits of a Clip as attributes, as they were before opset 11; none where they are computed.
std::optional<std::map<std::string, attribute>> limits_of_clip(const ort_graph &g, node_id clip) {
    std::map<std::string, attribute> limits = g.at(clip).attributes;
    const char *const names[] = {"min", "max"};
    for (std::size_t k = 0; k < 2; k++)
        if (const tensor_id t = g.input(clip, k + 1); t) {
            const auto limit = g.number(t);
            if (!limit)
                return {};
            limits[names[k]] = *limit;
        }
    return limits;
}

/// Node i and what alone reads it, one of `activations`, become `fused`.
void fuse_activation(ort_graph &g, node_id i, const std::set<std::string_view> &activations,
                     const char *fused) {
    const node_id behind = g.is_float(g.output(i)) ? g.only_consumer(g.output(i)) : node_id();
    if (!behind || g.at(behind).outputs.size() != 1 || activations.count(g.at(behind).op) == 0)
        return;
    const auto parameters =
        g.is(behind, "Clip") ? limits_of_clip(g, behind) : std::optional(g.at(behind).attributes);
    if (!parameters)
        return;
    node n = g.at(i);
    n.op = fused;
    set_mark(n, &node_marks::activation, fused_activation{g.at(behind).op, *parameters});
    g.remove(i);
    g.become(behind, std::move(n));
}

} // namespace

void fuse_gemm_activation(ort_graph &g) {
    static const std::set<std::string_view> activations = {"Elu",  "HardSigmoid",    "LeakyRelu", "Relu",
                                                           "Selu", "Sigmoid",        "Softplus",  "Softsign",
                                                           "Tanh", "ThresholdedRelu"};
    g.for_each("Gemm", [&](node_id i) { fuse_activation(g, i, activations, "FusedGemm"); });
}

void fuse_conv_activation(ort_graph &g) {
    static const std::set<std::string_view> activations = {"Clip", "HardSigmoid", "LeakyRelu",
                                                           "Relu", "Sigmoid",     "Tanh"};
    g.for_each("Conv", [&](node_id i) { fuse_activation(g, i, activations, "FusedConv"); });
}

void split_activation(ort_graph &g, node_id i) {
    if (!g.is(i, "FusedGemm") && !g.is(i, "FusedConv"))
        return;
    const auto fused = marks_of(g.at(i)).activation;
    if (!fused)
        return; // no pass has made it: it is refused
    node product = g.at(i);
    product.op = g.is(i, "FusedGemm") ? "Gemm" : "Conv";
    set_mark(product, &node_marks::activation, std::nullopt);
    product.outputs = {g.add_like(g.output(i))};
    node activation{fused->op, product.outputs, {}, fused->attributes};
    set_mark(activation, &node_marks::is_own_activation, true);
    g.insert_before(i, std::move(product));
    g.become(i, std::move(activation));
}

} // namespace octet::model::ort
