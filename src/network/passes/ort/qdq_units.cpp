// Operators between DequantizeLinear and QuantizeLinear, in the forms on codes that ONNX Runtime gives them. All inputs of
// an operator come from DequantizeLinear, its output is read by one QuantizeLinear alone; the types that its kernels take
// decide the rest. What has no form stays on floats.

#include <set>
#include <string_view>

#include "network/passes/ort/ort_graph.hpp"
#include "network/passes/ort/transformers.hpp"

namespace octet::model::ort {
namespace {

class units {
public:
    explicit units(ort_graph &g) : g_(g) {}

    void form(int i) {
        if (g_.at(i).outputs.size() != 1)
            return;
        switch (g_.facts(i).form) {
        case quantized_form::convolution:
            return convolution(i);
        case quantized_form::matrix_product:
            return matrix_product(i);
        case quantized_form::gemm:
            return gemm(i);
        case quantized_form::binary:
            return binary(i);
        case quantized_form::concatenation:
            return concatenation(i);
        case quantized_form::unary:
            return unary(i);
        case quantized_form::none:
            return move(i);
        }
    }

private:
    // ---- Pieces of the new nodes

    void append(std::vector<int> &inputs, const quantized &q) {
        inputs.insert(inputs.end(), {q.codes, q.scale, g_.zero_point_tensor(q)});
    }
    void append_output(std::vector<int> &inputs, const quantized &q) {
        inputs.insert(inputs.end(), {q.scale, g_.zero_point_tensor(q)});
    }

    /// The node takes the place of QuantizeLinear: there all its inputs have been written.
    void replace_by(int i, int quantizer, node n) {
        n.outputs = g_.at(quantizer).outputs;
        n.number = g_.at(i).number;
        g_.remove(i);
        g_.replace(quantizer, std::move(n));
    }

    // ---- Questions

    int quantizer_of(int i) const { return g_.quantizer_of(g_.output(i)); }
    bool writes(int quantizer, data_type type) const { return g_.type(g_.output(quantizer)) == type; }
    data_type type_of(const quantized &q) const { return g_.type(q.codes); }

    /// Weights with one scale, or one per index of `axis`.
    std::optional<quantized> weights(int t, std::int64_t axis) const {
        const auto q = g_.dequantized(t);
        if (!q || !is_code(type_of(*q)))
            return {};
        const auto rank = static_cast<std::int64_t>(g_.rank(q->codes));
        if (!g_.has_one_scale(*q) && (q->axis < 0 ? q->axis + rank : q->axis) != axis)
            return {};
        return q;
    }

    /// The s32 codes of a bias, -1 for one that is absent; none for one of floats.
    std::optional<int> bias(int t) const {
        if (t < 0)
            return -1;
        const auto q = g_.dequantized(t);
        return q && type_of(*q) == data_type::s32 ? std::optional<int>(q->codes) : std::nullopt;
    }

    // ---- Forms

    void convolution(int i) {
        const int quantizer = quantizer_of(i);
        const auto x = g_.activation(g_.input(i, 0)), w = weights(g_.input(i, 1), 0);
        const auto b = bias(g_.input(i, 2));
        if (quantizer < 0 || !x || !w || !b || type_of(*x) != data_type::u8 ||
            !writes(quantizer, data_type::u8))
            return;
        node n{g_.facts(i).on_codes, {}, {}, g_.at(i).attributes};
        append(n.inputs, *x);
        append(n.inputs, *w);
        append_output(n.inputs, g_.written(quantizer));
        if (*b >= 0)
            n.inputs.push_back(*b);
        replace_by(i, quantizer, std::move(n));
    }

    /// Without a QuantizeLinear behind it the product becomes MatMulIntegerToFloat.
    void matrix_product(int i) {
        const int follower = g_.reader(g_.output(i), "QuantizeLinear"), quantizer = quantizer_of(i);
        const auto a = g_.activation(g_.input(i, 0));
        const auto b = weights(g_.input(i, 1), static_cast<std::int64_t>(g_.rank(g_.input(i, 1))) - 1);
        if (!a || !b || type_of(*a) != data_type::u8)
            return;
        if (follower < 0) {
            const int a_zero = g_.zero_point_tensor(*a), b_zero = g_.zero_point_tensor(*b);
            g_.become(i, "MatMulIntegerToFloat", {a->codes, b->codes, a->scale, b->scale, a_zero, b_zero});
            return;
        }
        if (quantizer < 0 || !writes(quantizer, data_type::u8))
            return;
        node n{g_.facts(i).on_codes, {}, {}, {}};
        append(n.inputs, *a);
        append(n.inputs, *b);
        append_output(n.inputs, g_.written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    void gemm(int i) {
        const int follower = g_.reader(g_.output(i), "QuantizeLinear"), quantizer = quantizer_of(i);
        const auto a = g_.activation(g_.input(i, 0));
        const std::int64_t columns = g_.attribute<std::int64_t>(i, "transB", 0) != 0 ? 0 : 1;
        const auto b = weights(g_.input(i, 1), columns);
        const bool has_bias = g_.input(i, 2) >= 0;
        const auto c = bias(g_.input(i, 2));
        if (!a || !b || !c || (type_of(*a) == data_type::s8 && type_of(*b) != data_type::s8) ||
            (has_bias && (g_.attribute(i, "beta", 1.f) != 1.f || g_.attribute(i, "alpha", 1.f) != 1.f)) ||
            (follower >= 0 && (quantizer < 0 || !writes(quantizer, type_of(*a)))))
            return;
        node n{g_.facts(i).on_codes, {}, g_.at(i).outputs, g_.at(i).attributes};
        n.attributes.erase("beta");
        append(n.inputs, *a);
        append(n.inputs, *b);
        n.inputs.push_back(*c);
        if (quantizer < 0)
            return g_.replace(i, std::move(n));
        append_output(n.inputs, g_.written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    void binary(int i) {
        const int quantizer = quantizer_of(i);
        const auto a = g_.activation(g_.input(i, 0)), b = g_.activation(g_.input(i, 1));
        if (quantizer < 0 || !a || !b || type_of(*a) != type_of(*b) || !writes(quantizer, type_of(*a)))
            return;
        node n{g_.facts(i).on_codes, {}, {}, g_.at(i).attributes};
        append(n.inputs, *a);
        append(n.inputs, *b);
        append_output(n.inputs, g_.written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    void concatenation(int i) {
        const int quantizer = quantizer_of(i);
        if (quantizer < 0)
            return;
        node n{g_.facts(i).on_codes, {}, {}, g_.at(i).attributes};
        append_output(n.inputs, g_.written(quantizer));
        for (std::size_t k = 0; k < g_.at(i).inputs.size(); k++) {
            const auto x = g_.activation(g_.input(i, k));
            if (!x || !writes(quantizer, type_of(*x)))
                return;
            append(n.inputs, *x);
        }
        replace_by(i, quantizer, std::move(n));
    }

    void unary(int i) {
        const int quantizer = quantizer_of(i);
        const auto x = g_.activation(g_.input(i, 0));
        if (quantizer < 0 || !x || !writes(quantizer, type_of(*x)))
            return;
        node n{g_.facts(i).on_codes, {}, {}, g_.at(i).attributes};
        append(n.inputs, *x);
        append_output(n.inputs, g_.written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    /// What only moves elements, or chooses among them, does so with codes of one scale.
    void move(int i) {
        static const std::set<std::string_view> operators = {
            "MaxPool", "Resize",  "Gather", "Reshape", "Transpose",    "Squeeze",  "Unsqueeze",
            "Slice",   "Flatten", "Expand", "Tile",    "DepthToSpace", "ReduceMax"};
        if (operators.count(g_.at(i).op) == 0)
            return;
        const int quantizer = quantizer_of(i);
        const auto x = g_.activation(g_.input(i, 0));
        if (quantizer < 0 || !x || !g_.are_equal(*x, g_.written(quantizer)))
            return;
        node n = g_.at(i);
        n.inputs[0] = x->codes;
        replace_by(i, quantizer, std::move(n));
    }

    ort_graph &g_;
};

} // namespace

void form_units(ort_graph &g) {
    units all(g);
    g.for_each([&](int i) { all.form(i); });
}

} // namespace octet::model::ort
