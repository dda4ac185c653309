// Operators between DequantizeLinear and QuantizeLinear, in the forms on codes that ONNX Runtime gives them. Each
// form says in a sentence what kept an operator from it; the sentence reaches the user if nothing else can run the
// operator, because "Conv is not supported" would be no help.

#include "network/passes/qdq_passes.hpp"

namespace octet::model {
namespace {

class operators_on_codes {
public:
    explicit operators_on_codes(qdq_graph &g) : g_(g) {}

    std::map<int, std::string> run() {
        std::map<int, std::string> reasons;
        for (int i = 0; i < g_.count(); i++) {
            if (g_.is_removed(i) || g_.at(i).outputs.size() != 1)
                continue;
            const int output = g_.at(i).outputs[0];
            const std::string reason = change(i);
            if (!reason.empty())
                reasons[output] = reason;
        }
        return reasons;
    }

private:
    /// Empty, or why the operator stays on floats.
    std::string change(int i) {
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
            break;
        }
        return "";
    }

    // ---- Reasons

    std::string name(int t) const { return t < 0 ? "absent" : "'" + g_.tensor_at(t).name + "'"; }

    std::string no_quantizer(int i) const {
        return "its output " + name(g_.at(i).outputs[0]) +
               " is not read by one QuantizeLinear alone, to 8 bits with one constant scale";
    }
    std::string no_codes(int i, std::size_t k) const {
        return "its input " + name(g_.input(i, k)) +
               " does not come from a DequantizeLinear of 8 bits with one constant scale";
    }
    std::string no_weights(int i) const {
        return "its weights " + name(g_.input(i, 1)) +
               " do not come from a DequantizeLinear with constant scales, one or one per output channel, of "
               "a "
               "type that goes with the input's";
    }
    std::string no_bias(int i) const {
        return "its bias " + name(g_.input(i, 2)) + " is neither constant floats nor dequantized s32 codes";
    }
    std::string other_type(const quantized &x, const quantized &y) const {
        return "its input is " + to_text(g_.type(x.codes)) + " and its output " + to_text(g_.type(y.codes)) +
               ", allowed are equal types";
    }

    // ---- Pieces of the new nodes

    void append(std::vector<int> &inputs, const quantized &q) {
        inputs.insert(inputs.end(), {q.codes, q.scale, g_.zero_point_tensor(q)});
    }
    void append_output(std::vector<int> &inputs, const quantized &q) {
        inputs.insert(inputs.end(), {q.scale, g_.zero_point_tensor(q)});
    }

    /// The node takes the place of QuantizeLinear: there all its inputs have been written.
    std::string replace_by(int i, int quantizer, node n) {
        n.outputs = g_.at(quantizer).outputs;
        n.number = g_.at(i).number;
        g_.remove(i);
        g_.replace(quantizer, std::move(n));
        return "";
    }

    bool are_of_one_type(const quantized &x, const quantized &y) const {
        return g_.type(x.codes) == g_.type(y.codes);
    }

    /// Types that ONNX Runtime's accumulating operators take.
    static bool fits(data_type src, data_type weights) {
        return src == data_type::u8 ? is_code(weights) : src == data_type::s8 && weights == data_type::s8;
    }

    /// Weights with one scale, or one per index of `axis`.
    std::optional<quantized> weights(int t, std::int64_t axis, data_type src) const {
        const auto q = g_.dequantized(t);
        if (!q || !fits(src, g_.type(q->codes)))
            return {};
        const auto rank = static_cast<std::int64_t>(g_.tensor_at(q->codes).dims.size());
        if (!g_.has_one_scale(*q) && (q->axis < 0 ? q->axis + rank : q->axis) != axis)
            return {};
        return q;
    }

    /// The s32 codes of a bias; constant floats are codes by now, where they become any.
    std::optional<int> bias(int t) const {
        const auto q = g_.dequantized(t);
        return q && g_.type(q->codes) == data_type::s32 ? std::optional<int>(q->codes) : std::nullopt;
    }

    // ---- Forms

    std::string convolution(int i) {
        const int quantizer = g_.quantizer_of(g_.at(i).outputs[0]);
        const auto x = g_.activation(g_.input(i, 0));
        const auto w = x ? weights(g_.input(i, 1), 0, g_.type(x->codes)) : std::nullopt;
        if (!x)
            return no_codes(i, 0);
        if (!w)
            return no_weights(i);
        if (quantizer < 0)
            return no_quantizer(i);
        if (!are_of_one_type(*x, g_.written(quantizer)))
            return other_type(*x, g_.written(quantizer));
        node n{g_.facts(i).on_codes, {}, {}, g_.at(i).attributes};
        append(n.inputs, *x);
        append(n.inputs, *w);
        append_output(n.inputs, g_.written(quantizer));
        if (g_.input(i, 2) >= 0) {
            const auto b = bias(g_.input(i, 2));
            if (!b)
                return no_bias(i);
            n.inputs.push_back(*b);
        }
        return replace_by(i, quantizer, std::move(n));
    }

    /// Without a QuantizeLinear behind it the product becomes MatMulIntegerToFloat.
    std::string matrix_product(int i) {
        const int quantizer = g_.quantizer_of(g_.at(i).outputs[0]);
        const auto a = g_.activation(g_.input(i, 0));
        if (!a)
            return no_codes(i, 0);
        const auto columns = static_cast<std::int64_t>(g_.tensor_at(g_.input(i, 1)).dims.size()) - 1;
        const auto b = weights(g_.input(i, 1), columns, g_.type(a->codes));
        if (!b)
            return no_weights(i);
        if (quantizer < 0) {
            const int a_zero = g_.zero_point_tensor(*a), b_zero = g_.zero_point_tensor(*b);
            g_.replace(i, {"MatMulIntegerToFloat",
                           {a->codes, b->codes, a->scale, b->scale, a_zero, b_zero},
                           g_.at(i).outputs,
                           {}});
            return "";
        }
        if (!are_of_one_type(*a, g_.written(quantizer)))
            return other_type(*a, g_.written(quantizer));
        node n{g_.facts(i).on_codes, {}, {}, {}};
        append(n.inputs, *a);
        append(n.inputs, *b);
        append_output(n.inputs, g_.written(quantizer));
        return replace_by(i, quantizer, std::move(n));
    }

    std::string gemm(int i) {
        const int quantizer = g_.quantizer_of(g_.at(i).outputs[0]);
        const auto a = g_.activation(g_.input(i, 0));
        const std::int64_t columns = attribute_or<std::int64_t>(g_.at(i), "transB", 0) != 0 ? 0 : 1;
        const auto b = a ? weights(g_.input(i, 1), columns, g_.type(a->codes)) : std::nullopt;
        const bool has_bias = g_.input(i, 2) >= 0;
        if (!a)
            return no_codes(i, 0);
        if (!b)
            return no_weights(i);
        for (const char *factor : {"alpha", "beta"}) // QGemm's alpha scales the sum of product and bias
            if (has_bias && attribute_or(g_.at(i), factor, 1.f) != 1.f)
                return "its attribute '" + std::string(factor) + "' is not 1";
        if (quantizer >= 0 && !are_of_one_type(*a, g_.written(quantizer)))
            return other_type(*a, g_.written(quantizer));
        node n{g_.facts(i).on_codes, {}, g_.at(i).outputs, g_.at(i).attributes};
        n.attributes.erase("beta");
        append(n.inputs, *a);
        append(n.inputs, *b);
        const auto c = has_bias ? bias(g_.input(i, 2)) : std::optional<int>(-1);
        if (!c)
            return no_bias(i);
        n.inputs.push_back(*c);
        if (quantizer < 0) {
            g_.replace(i, std::move(n));
            return "";
        }
        append_output(n.inputs, g_.written(quantizer));
        return replace_by(i, quantizer, std::move(n));
    }

    std::string binary(int i) {
        const int quantizer = g_.quantizer_of(g_.at(i).outputs[0]);
        const auto a = g_.activation(g_.input(i, 0)), b = g_.activation(g_.input(i, 1));
        if (!a || !b)
            return no_codes(i, a ? 1 : 0);
        if (quantizer < 0)
            return no_quantizer(i);
        if (!are_of_one_type(*a, g_.written(quantizer)) || !are_of_one_type(*b, *a))
            return other_type(are_of_one_type(*a, *b) ? *a : *b, g_.written(quantizer));
        node n{g_.facts(i).on_codes, {}, {}, g_.at(i).attributes};
        append(n.inputs, *a);
        append(n.inputs, *b);
        append_output(n.inputs, g_.written(quantizer));
        return replace_by(i, quantizer, std::move(n));
    }

    std::string concatenation(int i) {
        const int quantizer = g_.quantizer_of(g_.at(i).outputs[0]);
        if (quantizer < 0)
            return no_quantizer(i);
        node n{g_.facts(i).on_codes, {}, {}, g_.at(i).attributes};
        append_output(n.inputs, g_.written(quantizer));
        for (std::size_t k = 0; k < g_.at(i).inputs.size(); k++) {
            const auto x = g_.activation(g_.input(i, k));
            if (!x)
                return no_codes(i, k);
            if (!are_of_one_type(*x, g_.written(quantizer)))
                return other_type(*x, g_.written(quantizer));
            append(n.inputs, *x);
        }
        return replace_by(i, quantizer, std::move(n));
    }

    std::string unary(int i) {
        const int quantizer = g_.quantizer_of(g_.at(i).outputs[0]);
        const auto x = g_.activation(g_.input(i, 0));
        if (!x)
            return no_codes(i, 0);
        if (quantizer < 0)
            return no_quantizer(i);
        if (!are_of_one_type(*x, g_.written(quantizer)))
            return other_type(*x, g_.written(quantizer));
        node n{g_.facts(i).on_codes, {}, {}, g_.at(i).attributes};
        append(n.inputs, *x);
        append_output(n.inputs, g_.written(quantizer));
        return replace_by(i, quantizer, std::move(n));
    }

    qdq_graph &g_;
};

} // namespace

std::map<int, std::string> compute_on_codes(qdq_graph &g) { return operators_on_codes(g).run(); }

} // namespace octet::model
