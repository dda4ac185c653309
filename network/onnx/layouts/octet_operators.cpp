// Each step is one walk over the nodes; start at `use_octet_operators`.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/layouts/octet_operators.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "network/onnx/layouts/images_in_blocks.hpp"
#include "network/onnx/layouts/narrow_types.hpp"
#include "network/onnx/parts/attention_parts.hpp"
#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"
#include "network/onnx/shapes/images.hpp"
#include "network/onnx/shapes/matrices.hpp"
#include "network/shapes/node_shapes.hpp"

namespace octet::model {
namespace {

// ---- Operators in parts, and parts as operators

/// BiasGelu and FastGelu are sums and Gelu.
void split_gelu(ort_graph &g) {
    g.for_each([&](node_id i) {
        const bool is_fast = g.is(i, "FastGelu");
        if (!is_fast && !g.is(i, "BiasGelu"))
            return;
        tensor_id x = g.input(i, 0);
        if (const tensor_id bias = g.input(i, 1); bias) {
            const tensor_id sum = g.add_like(g.output(i));
            g.insert_before(i, {"Add", {x, bias}, {sum}, {}});
            x = sum;
        }
        node gelu{"Gelu", {x}, {}, {}};
        if (is_fast) {
            gelu.attributes = {{"approximate", std::string("tanh")}};
            set_mark(gelu, &node_marks::was_fast_gelu, true);
        }
        g.become(i, std::move(gelu));
    });
}

/// Writes as parts what is one operator in ONNX Runtime.
void split_attention(graph &g) {
    std::vector<node> nodes;
    for (node &n : g.nodes) {
        if (!is_attention(n.op)) {
            nodes.push_back(std::move(n));
            continue;
        }
        for (node &part : attention_parts(g, n)) {
            node_shapes shapes(g, part);
            facts_of(g, part).infer(shapes);
            nodes.push_back(std::move(part));
        }
    }
    g.nodes = std::move(nodes);
}

/// Products that others are fused to.
void split_products(ort_graph &g) {
    g.for_each([&](node_id i) {
        ort::split_choice(g, i);
        ort::split_scale_of_zero(g, i);
        ort::split_activation(g, i);
        ort::split_batch_transpose(g, i);
        ort::split_dynamic_quantize_matmul(g, i);
        ort::order_scales(g, i);
        ort::split_scales(g, i);
    });
}

/// ReduceMax, ReduceMin, ArgMax and ArgMin of codes run on the codes as numbers, for which there are loops.
/// The result is the same, because a code grows with the number that it stands for.
void widen_codes(ort_graph &g) {
    g.for_each([&](node_id i) {
        const bool is_index = g.is(i, "ArgMax");
        const tensor_id x = g.input(i, 0);
        if ((!is_index && !g.is(i, "ReduceMax") && !g.is(i, "ReduceMin")) || !is_code(g.type(x)))
            return;
        constexpr std::int64_t as_f32 = 1, as_u8 = 2, as_s8 = 3;
        tensor wide = g.tensor_at(x);
        wide.type = data_type::f32;
        const tensor_id numbers = g.add_tensor(wide);
        g.insert_before(i, {"Cast", {x}, {numbers}, {{"to", as_f32}}});
        node n = g.at(i);
        n.inputs[0] = numbers;
        if (is_index)
            return g.replace(i, std::move(n));
        wide.dims = g.dims(g.output(i));
        n.outputs = {g.add_tensor(wide)};
        const tensor_id extreme = output_of(n);
        g.insert_before(i, std::move(n));
        g.become(i, node{"Cast", {extreme}, {}, {{"to", g.type(x) == data_type::u8 ? as_u8 : as_s8}}});
    });
}

/// x * hard_sigmoid(x) was a HardSwish in most files.
void fuse_hard_swish(ort_graph &g) {
    g.for_each("HardSigmoid", [&](node_id i) {
        const tensor_id x = g.input(i, 0);
        const node_id product = g.reader(g.output(i), "Mul");
        if (!product || g.other(product, g.output(i)) != x || g.attribute(i, "alpha", 0.2f) != 1.f / 6.f ||
            g.attribute(i, "beta", 0.5f) != 0.5f)
            return;
        g.become(product, "HardSwish", {x});
        g.remove(i);
    });
}

/// A Gemm between two Reshapes is a product of any dimensions and a row.
void fuse_reshaped_gemm(ort_graph &g) {
    g.for_each("Gemm", [&](node_id i) {
        const node_id before = g.writer(g.input(i, 0), "Reshape"), behind = g.reader(g.output(i), "Reshape");
        if (!before || !behind || !g.at(i).attributes.empty() || has_marks(g.at(i)) || !g.input(i, 2) ||
            g.only_consumer(g.input(i, 0)) != i ||
            g.dims(g.input(i, 2)) != memory::dims{g.dims(g.output(i)).back()})
            return;
        const tensor_id a = g.input(before, 0);
        memory::dims dims = g.dims(a);
        if (dims.size() < 3 || g.dims(g.input(i, 0)).back() != dims.back())
            return;
        dims.back() = g.dims(g.output(i)).back();
        if (g.dims(g.output(behind)) != dims)
            return;
        g.become(behind, "MatMulAdd", {a, g.input(i, 1), g.input(i, 2)});
        g.remove(i);
        g.remove(before);
    });
}

/// Selu is gamma x above zero, else (gamma alpha) (e^x - 1), +0 for both zeros: Elu without -0, and a slope
/// for what is positive.
void split_selu(ort_graph &g) {
    g.for_each("Selu", [&](node_id i) {
        constexpr float usual_alpha = 1.67326319217681884765625f, usual_gamma = 1.05070102214813232421875f;
        const float alpha = g.attribute(i, "alpha", usual_alpha),
                    gamma = g.attribute(i, "gamma", usual_gamma);
        const tensor_id x = g.input(i, 0), slope = g.add_floats("gamma", {}, {gamma}),
                        zero = g.add_floats("zero", {}, {0.f});
        const tensor_id elu = g.add_like(x), summed = g.add_like(x), negative = g.add_like(x),
                        sloped = g.add_like(x);
        g.insert_before(i, {"Elu", {x}, {elu}, {{"alpha", gamma * alpha}}});
        g.insert_before(i, {"Add", {elu, zero}, {summed}, {}});
        g.insert_before(i, {"Neg", {summed}, {negative}, {}});
        g.insert_before(i, {"PRelu", {negative, slope}, {sloped}, {}});
        g.become(i, "Neg", {sloped});
    });
}

/// A LeakyRelu whose slope is 0 keeps -0; the primitive is a Relu then.
void split_flat_leaky_relu(ort_graph &g) {
    g.for_each("LeakyRelu", [&](node_id i) {
        constexpr float usual_alpha = 0.01f;
        if (g.is_float(g.input(i, 0)) && g.attribute(i, "alpha", usual_alpha) == 0.f)
            g.become(i, "PRelu", {g.input(i, 0), g.add_floats("slope", {}, {0.f})});
    });
}

/// Gemm's sums begin with beta times C.
void scale_summand(ort_graph &g) {
    g.for_each("Gemm", [&](node_id i) {
        const tensor_id c = g.input(i, 2);
        const float beta = g.attribute(i, "beta", 1.f);
        if (!c || beta == 1.f || beta == 0.f)
            return;
        const tensor_id scaled = g.add_like(c);
        g.insert_before(i, {"Mul", {c, g.add_floats("beta", {}, {beta})}, {scaled}, {}});
        g.set_input(i, 2, scaled);
        g.set_attribute(i, "beta", 1.f);
        g.set_mark(i, &node_marks::has_scaled_summand, true);
    });
}

// ---- Codes

/// One DequantizeLinear for all readers again.
void share_dequantized(ort_graph &g) {
    std::map<std::tuple<tensor_numbers, std::map<std::string, attribute>>, node_id> first;
    g.for_each("DequantizeLinear", [&](node_id i) {
        const auto [found, is_new] = first.emplace(std::make_tuple(g.at(i).inputs, g.at(i).attributes), i);
        if (is_new || g.is_graph_output(g.output(i)))
            return;
        g.redirect(g.output(i), g.output(found->second));
        g.remove(i);
    });
}

/// Real zero is the zero point.
bool pads_with_codes(const ort_graph &g, const node &n) {
    if (attribute_or<std::string>(n, "mode", "constant") != "constant")
        return true; // with elements, whatever the value
    if (!input_of(n, 2))
        return n.attributes.count("value") == 0;
    return g.number(input_of(n, 2)) == 0.f;
}

/// DequantizeLinear, Move  ->  Move, DequantizeLinear.
void move_codes_down(ort_graph &g) {
    for (std::size_t k = 0; k < g.node_count(); k++) { // also what is inserted
        const node_id i(k);
        if (g.is_removed(i) || g.at(i).outputs.size() != 1 || g.facts(i).moves == code_move::none ||
            (g.facts(i).pads && !pads_with_codes(g, g.at(i))))
            continue;
        const auto q = g.activation(g.input(i, 0));
        if (!q)
            continue;
        const tensor_id real = g.output(i), zero_point = g.zero_point_tensor(*q);
        tensor moved = g.tensor_at(real);
        moved.type = g.type(q->codes);
        const tensor_id codes = g.add_tensor(std::move(moved));
        node n = g.at(i);
        n.inputs[0] = q->codes;
        n.outputs = {codes};
        if (g.facts(i).pads) {
            n.inputs.resize(std::max<std::size_t>(n.inputs.size(), 3), tensor_id());
            n.inputs[2] = zero_point;
        }
        g.replace(i, std::move(n));
        g.insert_after(i, {"DequantizeLinear", {codes, q->scale, zero_point}, {real}, {}});
    }
}

// ---- Constants

bool is_matrix_product(const graph &g, const node &n) {
    return facts_of(g, n).products == summed_products::of_floats;
}

/// Products remember that their matrix, or a convolution's bias, was dequantized or may be given: ONNX
/// Runtime computes it with each run, and adds in another order. So do convolutions whose file names an
/// absent bias, and what normalizes their images.
void compute_constants(graph &g, const evaluator &evaluate) {
    const auto at = [&](tensor_id t) -> tensor & { return tensor_at(g, t); };
    std::vector<node> kept;
    std::set<tensor_id> dequantized;
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        if (std::exchange(g.tensors[t].is_variable, false) && g.tensors[t].is_constant)
            dequantized.emplace(t);
    for (node &n : g.nodes) {
        const bool has_dequantized =
            any_of(inputs_of(n), [&](tensor_id t) { return dequantized.count(t) != 0; });
        const bool is_computed = !input_of(n, 0) || n.outputs.size() != 1 ||
                                 any_of(inputs_of(n), [&](tensor_id t) { return t && !at(t).is_constant; }) ||
                                 element_count(at(input_of(n, 0)).dims) == 0 || !facts_of(g, n).lower;
        if (is_computed) {
            const bool has_bias = n.op == "Conv" && n.inputs.size() > 2,
                       names_no_bias = n.op == "Conv" && marks_of(n).absent_inputs != 0;
            if ((n.op == "Conv" || n.op == "ConvTranspose" || is_matrix_product(g, n)) &&
                n.inputs.size() > 1 &&
                (dequantized.count(input_of(n, 1)) != 0 ||
                 (has_bias && dequantized.count(input_of(n, 2)) != 0) || names_no_bias))
                set_mark(n, &node_marks::has_dequantized, true);
            if (n.op == "BatchNormalization" && has_dequantized)
                set_mark(n, &node_marks::has_dequantized, true);
            kept.push_back(std::move(n));
            continue;
        }
        tensor &y = at(output_of(n));
        y.data = evaluate(g, n, 0, at(input_of(n, 0)).data, {});
        y.is_constant = true;
        if (n.op == "DequantizeLinear" || has_dequantized)
            dequantized.insert(output_of(n));
    }
    g.nodes = std::move(kept);
}

/// Other convolutions with a bias, of images of two dimensions, begin with what is added to them
/// (ConvAddActivationFusion).
void begin_with_summands(ort_graph &g) {
    g.for_each("Conv", [&](node_id i) {
        const tensor_id y = g.output(i);
        const node_id sum = g.reader(y, "Add");
        const tensor_id z = g.other(sum, y);
        if (!sum || z == y || !g.input(i, 2) || g.rank(y) != 4 || g.rank(z) != 4 ||
            computes_in_blocks(g.get_graph(), g.at(i)))
            return;
        for (std::size_t d = 0; d < 4; d++)
            if (!g.are_equal(y, d, z, d))
                return;
        const node_id other = g.writer(z, "Conv"); // of two the first
        if (other && other < i && g.only_consumer(z) == sum && g.input(other, 2))
            return;
        node n = g.at(i);
        n.op = "ConvAdd";
        n.inputs.resize(3, tensor_id());
        n.inputs.push_back(z);
        g.remove(i);
        g.become(sum, std::move(n));
    });
}

/// DequantizeLinear and QuantizeLinear with equal parameters that have come together.
void cancel_moved_pairs(ort_graph &g) {
    g.for_each("QuantizeLinear", [&](node_id q) {
        const auto x = g.is_plain(q) ? g.activation(g.input(q, 0)) : std::nullopt;
        const bool has_range = g.at(q).attributes.count("output_dtype") != 0; // of fewer bits, maybe
        if (x && !has_range && g.are_equal(*x, g.written(q)))
            g.become(q, "Identity", {x->codes});
    });
}

/// Whether ONNX Runtime sums up a single row in an order of its own.
bool has_order_of_single_rows(const graph &g, const node &n) {
    return facts_of(g, n).sums_single_rows ||
           (is_matrix_product(g, n) && input_of(n, 1) && !is_packed_ahead(n, tensor_at(g, input_of(n, 1))));
}

} // namespace

void use_octet_operators(graph &g, const evaluator &evaluate) {
    const auto take = [&](std::initializer_list<void (*)(ort_graph &)> steps) {
        std::optional<ort_graph> editor(std::in_place, g, evaluate);
        for (void (*const step)(ort_graph &) : steps) {
            step(*editor);
            if (editor->finish())
                editor.emplace(g, evaluate);
        }
    };
    split_attention(g);
    take({use_wide_types});
    widen_shared_codes(g);
    take({split_products, widen_codes, split_gelu, split_selu, split_flat_leaky_relu, fuse_hard_swish,
          scale_summand, fuse_reshaped_gemm, share_dequantized, move_codes_down, cancel_moved_pairs});
    compute_constants(g, evaluate);
    take({note_images_in_blocks, begin_with_summands});
}

void note_sums(graph &g, const network_options &options) {
    for (node &n : g.nodes)
        if (n.op == "MatMulNBits" && options.nbits == "ordered")
            set_mark(n, &node_marks::sums_blocks_in_order, true);
        else if (!options.rows_alike && has_order_of_single_rows(g, n))
            set_mark(n, &node_marks::sums_rows_alone, true);
}

} // namespace octet::model
