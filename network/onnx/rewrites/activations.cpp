// As `gelu_fusion.cc`, `bias_gelu_fusion.cc`, `fast_gelu_fusion.cc` and `quick_gelu_fusion.cc` of ONNX
// Runtime 1.30, levels 1 and 2: functions of Gelu's kin, which files write in parts. Constants are compared
// as scalars, with ONNX Runtime's tolerance.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

constexpr std::int64_t gelu_opset = 20; ///< of the standard operator

/// The operand x of a Mul or Add of x and the given value; none of another node.
tensor_id scaled_by(const ort_graph &g, node_id i, double value) {
    for (std::size_t k = 0; i && k < 2; k++)
        if (g.is_value(g.input(i, k), value))
            return g.input(i, 1 - k);
    return {};
}

/// x * 1/2 * (1 + erf(x / sqrt(2))), from the quotient on.
void form_gelu(ort_graph &g, node_id quotient) {
    const tensor_id x = g.input(quotient, 0), divisor = g.input(quotient, 1);
    constexpr double approximate_root = 1.4142099618911743;
    if (!g.is_float(x) || !(g.is_value(divisor, std::sqrt(2.)) || g.is_value(divisor, approximate_root)))
        return;
    const node_id erf = g.reader(g.output(quotient), "Erf"), sum = g.reader(g.output(erf), "Add");
    if (!sum || scaled_by(g, sum, 1.) != g.output(erf))
        return;
    const node_id product = g.reader(g.output(sum), "Mul");
    if (!product)
        return;
    // Any product that is an operand is taken for that by 1/2, also one that x is.
    node_id half;
    for (const tensor_id t : g.inputs(product))
        if (!half)
            half = g.writer(t, "Mul");
    if (half) {
        if (scaled_by(g, half, 0.5) != x || g.only_consumer(g.output(half)) != product)
            return;
        g.become(product, "Gelu", {x});
        for (const node_id i : {quotient, erf, sum, half})
            g.remove(i);
        return;
    }
    const node_id last =
        g.other(product, g.output(sum)) == x ? g.reader(g.output(product), "Mul") : node_id();
    if (!last || scaled_by(g, last, 0.5) != g.output(product))
        return;
    g.become(last, "Gelu", {x});
    for (const node_id i : {quotient, erf, sum, product})
        g.remove(i);
}

} // namespace

void fuse_gelu_at_level1(ort_graph &g) {
    if (g.get_graph().opset >= gelu_opset)
        g.for_each("Div", [&](node_id i) { form_gelu(g, i); });
}

void fuse_gelu_at_level2(ort_graph &g) {
    if (g.get_graph().opset < gelu_opset)
        g.for_each("Div", [&](node_id i) { form_gelu(g, i); });
}

namespace {

/// A sum with a row, which alone Gelu or FastGelu reads; of rank 1 is the bias, and the first of two such.
void add_bias_to_gelu(ort_graph &g, node_id sum) {
    const node_id gelu = g.only_consumer(g.output(sum));
    const bool is_fast =
        g.is(gelu, "FastGelu") ||
        (g.is(gelu, "Gelu") && g.attribute<std::string>(gelu, "approximate", "none") == "tanh");
    if (!is_fast && !g.is(gelu, "Gelu"))
        return;
    if (g.at(gelu).inputs.size() != 1 || !g.is_float(g.output(sum)))
        return;
    for (std::size_t k = 0; k < 2; k++) {
        const tensor_id bias = g.input(sum, k), x = g.input(sum, 1 - k);
        if (g.rank(bias) != 1 || g.rank(x) == 0)
            continue;
        if (g.are_equal(bias, 0, x, g.rank(x) - 1)) {
            g.become(gelu, is_fast ? "FastGelu" : "BiasGelu", {x, bias});
            g.remove(sum);
        }
        return;
    }
}

} // namespace

void fuse_bias_gelu(ort_graph &g) {
    g.for_each("Add", [&](node_id i) { add_bias_to_gelu(g, i); });
}

namespace {

/// x and the nodes of what tanh(u) is of; no nodes where it is another u.
struct tanh_argument {
    tensor_id x;
    std::vector<node_id> nodes = {};
};

constexpr double cubic = 0.044715, root_of_2_by_pi = 0.7978845834732056;

/// (x * 0.044715 * x + 1) * (x * 0.79788)
tanh_argument cube_of_products(const ort_graph &g, node_id u) {
    for (std::size_t k = 0; k < 2; k++) {
        const node_id sum = g.writer(g.input(u, k), "Add"), linear = g.writer(g.input(u, 1 - k), "Mul");
        const tensor_id x = scaled_by(g, linear, root_of_2_by_pi);
        if (!sum || !x)
            continue;
        const node_id square = g.writer(scaled_by(g, sum, 1.), "Mul");
        for (std::size_t j = 0; square && j < 2; j++) {
            const node_id inner = g.writer(g.input(square, j), "Mul");
            if (g.input(square, 1 - j) == x && scaled_by(g, inner, cubic) == x)
                return {x, {sum, linear, square, inner}};
        }
    }
    return {};
}

/// (x + x^3 * 0.044715) * 0.79788. A Cast that wrote x would have to have no other reader than the power and the sum.
tanh_argument cube_of_power(const ort_graph &g, node_id u) {
    const node_id sum = g.writer(scaled_by(g, u, root_of_2_by_pi), "Add");
    for (std::size_t k = 0; sum && k < 2; k++) {
        const tensor_id x = g.input(sum, k);
        const node_id scaled = g.writer(g.input(sum, 1 - k), "Mul");
        const node_id power = g.writer(scaled_by(g, scaled, cubic), "Pow");
        if (power && g.input(power, 0) == x && g.is_value(g.input(power, 1), 3.) && !g.writer(x, "Cast"))
            return {x, {sum, scaled, power}};
    }
    return {};
}

/// Not even the last product may be an output of the network.
void form_fast_gelu(ort_graph &g, node_id tanh) {
    const node_id u = g.writer(g.input(tanh, 0), "Mul"), sum = g.reader(g.output(tanh), "Add");
    if (!u || !sum || scaled_by(g, sum, 1.) != g.output(tanh))
        return;
    tanh_argument argument = cube_of_products(g, u);
    if (!argument.x)
        argument = cube_of_power(g, u);
    const node_id last = argument.x ? g.reader(g.output(sum), "Mul") : node_id();
    const node_id half = g.writer(g.other(last, g.output(sum)), "Mul");
    if (!half || scaled_by(g, half, 0.5) != argument.x || g.is_graph_output(g.output(last)) ||
        !g.is_float(argument.x))
        return;
    argument.nodes.insert(argument.nodes.end(), {tanh, u, sum, half});
    for (const node_id i : argument.nodes)
        if (!g.only_consumer(g.output(i)))
            return;
    g.become(last, "FastGelu", {argument.x});
    for (const node_id i : argument.nodes)
        g.remove(i);
}

/// x * sigmoid(x) or x * sigmoid(alpha x).
void form_quick_gelu(ort_graph &g, node_id sigmoid) {
    const node_id product = g.reader(g.output(sigmoid), "Mul");
    if (!product || !g.is_float(g.output(sigmoid)))
        return;
    const tensor_id x = g.other(product, g.output(sigmoid)), inner = g.input(sigmoid, 0);
    float alpha = 1.f;
    const node_id scaled = g.writer(inner, "Mul");
    if (inner != x) {
        if (!scaled || g.only_consumer(inner) != sigmoid ||
            (g.input(scaled, 0) != x && g.input(scaled, 1) != x))
            return;
        const auto factor = g.scalar(g.other(scaled, x));
        if (!factor)
            return;
        alpha = *factor;
    }
    g.become(product, node{"QuickGelu", {x}, {}, {{"alpha", alpha}}});
    g.remove(sigmoid);
    if (inner != x)
        g.remove(scaled);
}

} // namespace

void fuse_fast_gelu(ort_graph &g) {
    g.for_each("Tanh", [&](node_id i) { form_fast_gelu(g, i); });
}

void fuse_quick_gelu(ort_graph &g) {
    g.for_each("Sigmoid", [&](node_id i) { form_quick_gelu(g, i); });
}

} // namespace octet::model::ort
