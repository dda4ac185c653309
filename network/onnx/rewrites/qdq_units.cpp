// As `qdq_selectors.cc` and `qdq_actions.cc` of ONNX Runtime 1.30, level 2: operators between
// DequantizeLinear and QuantizeLinear get their forms on codes. All inputs of an operator come from
// DequantizeLinear, one QuantizeLinear alone reads its output; the types that its kernels take decide the
// rest. What has no form stays on floats.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

class units {
public:
    explicit units(ort_graph &g) : g_(g) {}

    void form(node_id i) {
        if (g_.facts(i).form == quantized_form::parts)
            return split(i);
        if (g_.at(i).outputs.size() != 1 || is_before_limit(i) || is_quantized_for_some(i))
            return;
        switch (g_.facts(i).form) {
        case quantized_form::convolution:
            return convolution(i);
        case quantized_form::matrix_product:
            return matrix_product(i);
        case quantized_form::gemm:
            return gemm(i);
        case quantized_form::binary:
            return quantize(i, on_codes(i), {0, 1});
        case quantized_form::concatenation:
            return concatenation(i);
        case quantized_form::unary:
            return unary(i);
        case quantized_form::moved:
            return move(i);
        case quantized_form::choice:
            return quantize(i, node{"QLinearWhere", {g_.input(i, 0)}, {}, {}}, {1, 2});
        case quantized_form::index:
            return find(i);
        case quantized_form::parts: // above
        case quantized_form::none:
            return;
        }
    }

private:
    // ---- Pieces of the new nodes

    void append(tensor_numbers &inputs, const quantized &q) {
        inputs.insert(inputs.end(), {q.codes, q.scale, g_.zero_point_tensor(q)});
    }
    void append_output(tensor_numbers &inputs, const quantized &q) {
        inputs.insert(inputs.end(), {q.scale, g_.zero_point_tensor(q)});
    }

    /// The node takes the place of QuantizeLinear: there all its inputs have been written.
    void replace_by(node_id i, node_id quantizer, node n) {
        n.outputs = g_.at(quantizer).outputs;
        n.number = g_.at(i).number;
        g_.remove(i);
        g_.replace(quantizer, std::move(n));
    }

    /// Without tensors.
    node on_codes(node_id i) const { return with_options_of(g_.at(i), g_.facts(i).on_codes); }

    /// The node becomes `n` with these inputs behind those that it has, if all are of the type that is written.
    void quantize(node_id i, node n, std::initializer_list<std::size_t> inputs) {
        const node_id quantizer = quantizer_of(i);
        std::vector<quantized> operands;
        for (const std::size_t k : inputs) {
            const auto x = g_.activation(g_.input(i, k));
            if (!quantizer || !x || !writes(quantizer, type_of(*x)))
                return;
            operands.push_back(*x);
        }
        for (const quantized &x : operands)
            append(n.inputs, x);
        append_output(n.inputs, g_.written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    // ---- Questions

    /// Whether one node reads the output, a Relu or Clip that one node alone reads: had codes implied it, it
    /// would have gone. Whether the output itself is the network's, too, does not matter.
    bool is_before_limit(node_id i) const {
        const node_id limit = g_.only_edge(g_.output(i));
        return (g_.is(limit, "Relu") || g_.is(limit, "Clip")) && g_.only_consumer(g_.output(limit));
    }

    /// Whether QuantizeLinear is one of several readers.
    bool is_quantized_for_some(node_id i) const {
        const std::vector<node_id> &readers = g_.consumers(g_.output(i));
        return readers.size() > 1 && any_of(readers, [&](node_id r) { return g_.is(r, "QuantizeLinear"); });
    }

    node_id quantizer_of(node_id i) const { return g_.quantizer_of(g_.output(i)); }
    bool writes(node_id quantizer, data_type type) const { return g_.type(g_.output(quantizer)) == type; }
    data_type type_of(const quantized &q) const { return g_.type(q.codes); }

    /// Equal parameters, also by name: a zero point that was left out makes no pair.
    bool are_a_pair(const quantized &x, const quantized &y) const {
        return x.zero_point && y.zero_point && g_.are_equal(x, y);
    }

    /// Weights with one scale, or as many as there are indices of `axis`, whose they become, whatever axis
    /// the node names.
    std::optional<quantized> weights(tensor_id t, std::size_t axis) const {
        const auto q = g_.dequantized(t);
        const bool fits =
            q && is_code(type_of(*q)) &&
            (g_.has_one_scale(*q) || g_.dims(q->scale) == memory::dims{g_.size(q->codes, axis)});
        return fits ? q : std::nullopt;
    }

    /// The s32 codes of a bias, none where it is absent; nothing for one of floats.
    std::optional<tensor_id> bias(tensor_id t) const {
        if (!t)
            return tensor_id();
        const auto q = g_.dequantized(t);
        return q && type_of(*q) == data_type::s32 ? std::optional<tensor_id>(q->codes) : std::nullopt;
    }

    /// The bias of a Gemm as s32 codes; its scale does not matter.
    std::optional<tensor_id> gemm_bias(tensor_id t) const {
        const node_id dq = g_.writer(t, "DequantizeLinear");
        const tensor_id codes = g_.input(dq, 0);
        if (!t)
            return tensor_id();
        return codes && g_.type(codes) == data_type::s32 ? std::optional<tensor_id>(codes) : std::nullopt;
    }

    /// Whether a bias of codes has the scale of the convolution's sums, as nearly as ONNX Runtime asks, and
    /// no zero point.
    bool fits_sums(tensor_id bias, const quantized &x, const quantized &w) const {
        constexpr float absolute = 1e-6f, relative = 0.01f;
        const auto b = g_.dequantized(bias);
        if (!b)
            return !bias;
        const std::vector<float> given = g_.values(b->scale), scales = g_.values(w.scale);
        if (given.size() != 1 && scales.size() != 1 && given.size() != scales.size())
            return false;
        const std::size_t count = std::max(given.size(), scales.size());
        const float scale = g_.scale_of(x);
        for (std::size_t c = 0; c < count; c++) {
            const float sum = scale * scales[scales.size() == 1 ? 0 : c];
            if (!(std::abs(given[given.size() == 1 ? 0 : c] - sum) <= absolute + relative * std::abs(sum)))
                return false;
        }
        if (!b->zero_point)
            return true;
        const std::vector<std::int32_t> points = values_of<std::int32_t>(g_.tensor_at(b->zero_point));
        return std::all_of(points.begin(), points.end(), [](std::int32_t z) { return z == 0; });
    }

    /// Codes on u8 with weights of either type; on s8, where the session allows it, with s8.
    bool are_multiplied(const quantized &x, const quantized &w) const {
        return type_of(x) == data_type::u8 ||
               (g_.options.qdq_is_int8_allowed && type_of(x) == data_type::s8 && type_of(w) == data_type::s8);
    }

    // ---- Forms

    void convolution(node_id i) {
        const node_id quantizer = quantizer_of(i);
        const auto x = g_.activation(g_.input(i, 0)), w = weights(g_.input(i, 1), 0);
        const auto b = bias(g_.input(i, 2));
        if (!quantizer || !x || !w || !b || !are_multiplied(*x, *w) || !writes(quantizer, type_of(*x)) ||
            !fits_sums(g_.input(i, 2), *x, *w))
            return;
        node n = on_codes(i);
        append(n.inputs, *x);
        append(n.inputs, *w);
        append_output(n.inputs, g_.written(quantizer));
        if (*b)
            n.inputs.push_back(*b);
        replace_by(i, quantizer, std::move(n));
    }

    /// Without a QuantizeLinear behind it the product becomes MatMulIntegerToFloat.
    void matrix_product(node_id i) {
        if (!g_.input(i, 1)) // whoever lowers the node refuses it
            return;
        const node_id follower = g_.reader(g_.output(i), "QuantizeLinear"), quantizer = quantizer_of(i);
        const auto a = g_.activation(g_.input(i, 0));
        const auto b = weights(g_.input(i, 1), g_.rank(g_.input(i, 1)) - 1);
        if (!a)
            return form_product_of_blocks(g_, i);
        if (!b || !are_multiplied(*a, *b))
            return;
        if (!follower) {
            const tensor_id a_zero = g_.zero_point_tensor(*a), b_zero = g_.zero_point_tensor(*b);
            g_.become(i, "MatMulIntegerToFloat", {a->codes, b->codes, a->scale, b->scale, a_zero, b_zero});
            return;
        }
        if (!quantizer || !writes(quantizer, type_of(*a)))
            return;
        node n{g_.facts(i).on_codes, {}, {}, {}};
        append(n.inputs, *a);
        append(n.inputs, *b);
        append_output(n.inputs, g_.written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    void gemm(node_id i) {
        const node_id follower = g_.reader(g_.output(i), "QuantizeLinear"), quantizer = quantizer_of(i);
        const auto a = g_.activation(g_.input(i, 0));
        if (!a)
            return form_product_of_blocks(g_, i);
        const std::size_t columns = g_.attribute<std::int64_t>(i, "transB", 0) != 0 ? 0 : 1;
        const auto b = weights(g_.input(i, 1), columns);
        const bool has_bias = g_.input(i, 2).has_value();
        const auto c = gemm_bias(g_.input(i, 2));
        if (!b || !c || !a->zero_point || !b->zero_point || g_.rank(b->scale) != g_.rank(b->zero_point) ||
            (type_of(*a) == data_type::s8 && type_of(*b) != data_type::s8) ||
            (has_bias && (g_.attribute(i, "beta", 1.f) != 1.f || g_.attribute(i, "alpha", 1.f) != 1.f)) ||
            (follower && (!quantizer || !writes(quantizer, type_of(*a)))))
            return;
        node n = on_codes(i);
        n.outputs = g_.at(i).outputs;
        n.attributes.erase("beta");
        append(n.inputs, *a);
        append(n.inputs, *b);
        n.inputs.push_back(*c);
        if (!quantizer)
            return g_.replace(i, std::move(n));
        append_output(n.inputs, g_.written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    void concatenation(node_id i) {
        const node_id quantizer = quantizer_of(i);
        if (!quantizer)
            return;
        node n = on_codes(i);
        append_output(n.inputs, g_.written(quantizer));
        for (std::size_t k = 0; k < g_.at(i).inputs.size(); k++) {
            const auto x = g_.activation(g_.input(i, k));
            if (!x || !writes(quantizer, type_of(*x)))
                return;
            append(n.inputs, *x);
        }
        replace_by(i, quantizer, std::move(n));
    }

    void unary(node_id i) {
        node n = on_codes(i);
        if (g_.facts(i).depends_on_opset)
            n.attributes["opset"] = g_.get_graph().opset;
        quantize(i, std::move(n), {0});
    }

    void find(node_id i) {
        if (const auto x = g_.activation(g_.input(i, 0)); x && x->zero_point)
            g_.set_input(i, 0, x->codes);
    }

    /// An operator that only moves elements, or chooses among them, runs on codes if they have one scale.
    void move(node_id i) {
        const auto x = g_.activation(g_.input(i, 0));
        const bool mixes = g_.is(i, "Resize") && // then it stays on floats
                           g_.attribute<std::string>(i, "mode", "nearest") != "nearest";
        constexpr std::int64_t pool_opset = 12;
        const bool is_early = g_.is(i, "MaxPool") && g_.get_graph().opset < pool_opset;
        if (mixes || is_early)
            return;
        const node_id quantizer = quantizer_of(i);
        if (!quantizer || !x || !are_a_pair(*x, g_.written(quantizer)))
            return;
        const bool compares = g_.is(i, "MaxPool") || g_.is(i, "ReduceMax") || g_.is(i, "ReduceMin");
        if (compares && !(g_.scale_of(*x) > 0))
            return;
        node n = g_.at(i);
        n.inputs[0] = x->codes;
        replace_by(i, quantizer, std::move(n));
    }

    /// All outputs are quantized as the input is.
    void split(node_id i) {
        const auto x = g_.activation(g_.input(i, 0));
        std::vector<node_id> quantizers;
        for (const tensor_id t : g_.outputs(i)) {
            quantizers.push_back(g_.quantizer_of(t));
            if (!x || !quantizers.back() || !are_a_pair(*x, g_.written(quantizers.back())))
                return;
        }
        node n = g_.at(i);
        n.inputs[0] = x->codes;
        for (std::size_t k = 0; k < quantizers.size(); k++) {
            n.outputs[k] = g_.output(quantizers[k]);
            g_.remove(quantizers[k]);
        }
        g_.replace(i, std::move(n));
    }

    ort_graph &g_;
};

} // namespace

void split_choice(ort_graph &g, node_id i) {
    if (!g.is(i, "QLinearWhere"))
        return;
    const tensor_numbers in = g.at(i).inputs;
    tensor_id real[2];
    for (std::size_t k = 0; k < 2; k++) {
        tensor t = g.tensor_at(tensor_ids(in)[1 + 3 * k]);
        t.type = data_type::f32;
        t.is_constant = false;
        t.data = {};
        real[k] = g.add_tensor(std::move(t));
        g.insert_before(i,
                        {"DequantizeLinear", {in[1 + 3 * k], in[2 + 3 * k], in[3 + 3 * k]}, {real[k]}, {}});
    }
    tensor chosen = g.tensor_at(g.output(i));
    chosen.type = data_type::f32;
    const tensor_id y = g.add_tensor(std::move(chosen));
    g.insert_before(i, {"Where", {in[0], real[0], real[1]}, {y}, {}});
    g.become(i, "QuantizeLinear", {y, in[7], in[8]});
}

void form_units(ort_graph &g) {
    units all(g);
    g.for_each([&](node_id i) { all.form(i); });
}

} // namespace octet::model::ort
