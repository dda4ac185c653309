// As `layer_norm_fusion.cc`, `skip_layer_norm_fusion.cc` and `bias_skip_layer_norm_fusion.cc` of ONNX Runtime
// 1.30, levels 1 and 2: norms of rows, which files write in parts, and what is added to their source.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

constexpr std::int64_t norm_opset = 17;
constexpr float default_epsilon = 1e-5f;

/// Returns the source of a ReduceMean over the last dimension alone; -1 for any other. ONNX Runtime does not
/// look whether the dimension stays as 1. An only dimension must be named from the end, as -1.
tensor_id mean_of_rows(const ort_graph &g, node_id mean) {
    const tensor_id x = g.input(mean, 0);
    if (!g.is_float(x) || g.rank(x) < 1)
        return {};
    const auto rank = static_cast<std::int64_t>(g.rank(x));
    std::vector<std::int64_t> axes = g.attribute(mean, "axes", std::vector<std::int64_t>{});
    if (const tensor_id given = g.input(mean, 1); given) {
        const auto integers = g.integers(given);
        if (!integers)
            return {};
        axes = *integers;
    }
    return axes.size() == 1 && (axes[0] == -1 || (axes[0] == rank - 1 && rank > 1)) ? x : tensor_id();
}

/// The Add of epsilon behind a mean of squares v, and its Sqrt; -1 where there is none. Callers decide
/// whether epsilon may be the first operand, too.
struct root_of_sum {
    node_id sum, root;
    float epsilon = default_epsilon;
};

root_of_sum root_behind(const ort_graph &g, tensor_id v) {
    root_of_sum r;
    r.sum = g.reader(v, "Add");
    r.root = g.reader(g.output(r.sum), "Sqrt");
    return r;
}

bool is_row(const ort_graph &g, tensor_id t) { return g.is_float(t) && g.rank(t) == 1; }

/// Returns the scale or shift of node i: its last operand that has one dimension; -1 if there is none. If the
/// normalized source itself has one dimension, it may be that operand.
tensor_id row_operand(const ort_graph &g, node_id i) {
    return is_row(g, g.input(i, 1)) ? g.input(i, 1) : is_row(g, g.input(i, 0)) ? g.input(i, 0) : tensor_id();
}
/// The size in the file; of an open one 0.
dim_t known_size(const ort_graph &g, tensor_id row) { return g.is_known(row, 0) ? g.size(row, 0) : 0; }

/// Recognizes (x - mean) / sqrt(mean of squares + epsilon) * scale + shift. As in ONNX Runtime, the value of
/// the exponent does not matter, nor which operand is subtracted or divided; epsilon counts only as the
/// second operand.
void form_layer_norm(ort_graph &g, node_id mean) {
    const tensor_id x = mean_of_rows(g, mean), m = g.output(mean);
    const std::vector<node_id> differences = g.consumers(m);
    if (!x || differences.empty() || differences.size() > 2)
        return;
    for (const node_id i : differences)
        if (!g.is(i, "Sub") || g.other(i, m) != x)
            return;
    std::vector<node_id> readers;
    for (const node_id i : differences)
        readers.insert(readers.end(), g.consumers(g.output(i)).begin(), g.consumers(g.output(i)).end());
    if (readers.size() != 2 || (differences.size() == 2 && !g.only_consumer(g.output(differences[0]))))
        return;
    const node_id power = g.is(readers[0], "Pow") ? readers[0] : readers[1],
                  quotient = readers[0] == power ? readers[1] : readers[0];
    if (!g.is(power, "Pow") || !g.is(quotient, "Div") || !g.is_float(g.input(power, 1)))
        return;
    const node_id variance = g.reader(g.output(power), "ReduceMean");
    if (!mean_of_rows(g, variance))
        return;
    root_of_sum r = root_behind(g, g.output(variance));
    if (!r.root || g.only_consumer(g.output(r.root)) != quotient)
        return;
    const node_id product = g.reader(g.output(quotient), "Mul"), sum = g.reader(g.output(product), "Add");
    if (!sum)
        return;
    tensor_id scale = row_operand(g, product), shift = row_operand(g, sum);
    if (!scale || !shift || known_size(g, scale) != known_size(g, shift))
        return;
    // If the source had one dimension from the start, ONNX Runtime refuses the file. If it lost others, it
    // takes the other operand.
    if (scale == g.output(quotient))
        scale = g.other(product, scale);
    if (shift == g.output(product))
        shift = g.other(sum, shift);
    if (!is_row(g, scale) || !is_row(g, shift))
        return;
    if (const auto given = g.number(g.input(r.sum, 1)); given && g.input(r.sum, 1) != g.output(variance))
        r.epsilon = *given;
    g.become(sum, node{"LayerNormalization",
                       {x, scale, shift},
                       {},
                       {{"axis", std::int64_t{-1}}, {"epsilon", r.epsilon}}});
    g.give_shape(g.output(sum), g.dims(x)); // an epsilon may have had more dimensions
    for (const node_id i : {mean, power, variance, r.sum, r.root, quotient, product})
        g.remove(i);
    for (const node_id i : differences)
        g.remove(i);
}

} // namespace

void fuse_layer_norm_at_level1(ort_graph &g) {
    if (g.get_graph().opset >= norm_opset)
        g.for_each("ReduceMean", [&](node_id i) { form_layer_norm(g, i); });
}

void fuse_layer_norm_at_level2(ort_graph &g) {
    if (g.get_graph().opset < norm_opset)
        g.for_each("ReduceMean", [&](node_id i) { form_layer_norm(g, i); });
}

namespace {

/// x / sqrt(mean of squares + epsilon) * scale. An epsilon that is no constant of one element is not looked at.
void form_simplified_layer_norm(ort_graph &g, node_id power) {
    const tensor_id x = g.input(power, 0);
    const node_id mean = g.reader(g.output(power), "ReduceMean");
    const tensor_id exponent = g.input(power, 1);
    if (!(g.number(exponent) == 2.f || g.is_integer(exponent, 2)) || !mean_of_rows(g, mean))
        return;
    root_of_sum r = root_behind(g, g.output(mean));
    const node_id quotient = g.reader(g.output(r.root), "Div");
    if (!quotient || g.input(quotient, 0) != x || g.input(quotient, 1) != g.output(r.root))
        return;
    const float epsilon = g.number(g.other(r.sum, g.output(mean))).value_or(default_epsilon);
    const node_id product = g.reader(g.output(quotient), "Mul");
    const tensor_id scale = row_operand(g, product);
    if (!scale || scale == g.output(quotient) ||
        (g.size(scale, 0) != g.last_size(x) && g.size(scale, 0) != 1))
        return;
    g.become(product, node{"SimplifiedLayerNormalization",
                           {x, scale},
                           {},
                           {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}}});
    g.give_shape(g.output(product), g.dims(x));
    for (const node_id i : {power, mean, r.sum, r.root, quotient})
        g.remove(i);
}

} // namespace

void fuse_simplified_layer_norm(ort_graph &g) {
    g.for_each("Pow", [&](node_id i) { form_simplified_layer_norm(g, i); });
}

namespace {

constexpr std::size_t skip_rank = 3;

/// A sum with one reader of three dimensions and, behind, a constant row: that row.
tensor_id bias_in(const ort_graph &g, tensor_id t) {
    const node_id sum = g.writer(t, "Add");
    if (!sum || !g.only_consumer(t))
        return {};
    const tensor_id row = g.input(sum, 1), x = g.input(sum, 0);
    const bool fits = g.is_float_constant(row) && g.rank(row) == 1 && g.rank(x) == skip_rank &&
                      g.has_size(x, skip_rank - 1, g.size(row, 0));
    return fits ? row : tensor_id();
}

/// Joins the norm and the Add before it. The result normalizes rows whatever dimensions the norm names, since
/// ONNX Runtime does not look at its axis.
void form_skip_layer_norm(ort_graph &g, node_id norm) {
    const node_id sum = g.writer(g.input(norm, 0), "Add");
    if (!sum || g.only_consumer(g.output(sum)) != norm)
        return;
    const tensor_id a = g.input(sum, 0), b = g.input(sum, 1);
    if (!g.is_float(a) || !g.is_float(b) || g.rank(a) != skip_rank || !g.have_equal_sizes(a, b))
        return;
    const tensor_id scale = g.input(norm, 1), shift = g.input(norm, 2);
    if (!scale || g.dims(scale) != memory::dims{g.last_size(g.output(sum))} || (shift && g.rank(shift) != 1))
        return;
    node n{"SkipLayerNormalization", {a, b, scale, shift}, {}, {}};
    n.attributes["epsilon"] = g.attribute(norm, "epsilon", default_epsilon);
    for (std::size_t k = 0; k < 2; k++)
        if (const tensor_id row = bias_in(g, input_of(n, k))) {
            const node_id before = g.producer(input_of(n, k));
            n.inputs[k] = g.input(before, 0);
            n.inputs.push_back(row);
            g.remove(sum);
            g.remove(before);
            break;
        }
    if (!g.is_removed(sum))
        g.remove(sum);
    n.outputs = g.at(norm).outputs;
    n.number = g.at(norm).number;
    g.replace(norm, std::move(n));
}

/// The row that is added to a product takes the fifth input, if it is free.
void add_bias_to_skip(ort_graph &g, node_id i) {
    if (g.at(i).inputs.size() != 4)
        return;
    for (std::size_t k = 0; k < 2; k++) {
        const node_id sum = g.writer(g.input(i, k), "Add");
        if (!sum || g.only_consumer(g.output(sum)) != i)
            continue;
        for (std::size_t j = 0; j < 2; j++) {
            const tensor_id product = g.input(sum, j), row = g.input(sum, 1 - j);
            if (!g.writer(product, "MatMul") || !g.is_float_constant(row) ||
                g.dims(row) != memory::dims{g.last_size(product)})
                continue;
            node n = g.at(i);
            n.inputs[k] = product;
            n.inputs.resize(4, tensor_id());
            n.inputs.push_back(row);
            g.replace(i, std::move(n));
            g.remove(sum);
            return;
        }
    }
}

} // namespace

void fuse_skip_layer_norm(ort_graph &g) {
    g.for_each("LayerNormalization", [&](node_id i) { form_skip_layer_norm(g, i); });
}

void fuse_bias_skip_layer_norm(ort_graph &g) {
    g.for_each("SkipLayerNormalization", [&](node_id i) { add_bias_to_skip(g, i); });
}

} // namespace octet::model::ort
