// Each pattern is found from a node in its middle that hardly anything else has, and replaces its last node; what then
// nobody reads goes with it. Start at `recognize_float_operators`.

#include "network/passes/float_operators.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "network/graph/graph_editor.hpp"
#include "network/lower/onnx_float_loops.hpp"
#include "network/operators.hpp"

namespace octet::model {
namespace {

class float_operators {
public:
    explicit float_operators(graph &g) : e_(g) {}

    /// Looks at every node of an operator. What is left over goes, so that the next pattern does not see it.
    void for_each(const char *op, void (float_operators::*change)(int)) {
        for (int i = 0; i < static_cast<int>(e_.node_count()); i++)
            if (is(i, op))
                (this->*change)(i);
        e_.finish();
    }

private:
    // ---- Questions

    const tensor &at(int t) const { return e_.tensor_at(t); }
    bool is(int i, const char *op) const {
        return i >= 0 && !e_.is_removed(i) && e_.at(i).op == op && e_.at(i).outputs.size() >= 1;
    }
    int input(int i, std::size_t k) const { return k < e_.at(i).inputs.size() ? e_.at(i).inputs[k] : -1; }
    int output(int i) const { return e_.at(i).outputs[0]; }

    bool is_float(int t) const { return t >= 0 && at(t).type == data_type::f32; }
    bool is_constant(int t) const { return is_float(t) && at(t).is_constant; }

    /// A constant of one value, which may have been rounded.
    bool is_value(int t, double value) const {
        return is_constant(t) && at(t).data.size() == sizeof(float) &&
               std::abs(static_cast<double>(values_of<float>(at(t))[0]) - value) <= 1e-6 * std::abs(value);
    }

    /// The node of an operator that alone reads a tensor; -1.
    int reader(int t, const char *op) const {
        const int i = e_.only_consumer(t);
        return is(i, op) && e_.at(i).inputs.size() >= 2 ? i : -1;
    }
    /// The node of an operator that writes a tensor; -1.
    int writer(int t, const char *op) const {
        const int i = e_.producer(t);
        return is(i, op) && output(i) == t ? i : -1;
    }
    /// The other operand of a node that has two.
    int other(int i, int t) const { return input(i, 0) == t ? input(i, 1) : input(i, 0); }

    /// Whether a constant has one value for each element of t's last dimension.
    bool is_row_of(int constant, int t) const {
        return is_constant(constant) && !at(t).dims.empty() && at(constant).dims.size() == 1 &&
               at(constant).dims[0] == at(t).dims.back() && at(t).dims.back() > 1;
    }

    /// Whether a Mul writes a tensor, which is no x * sigmoid(x) (QuickGelu).
    bool is_plain_product(int t) const {
        const int i = writer(t, "Mul");
        for (std::size_t k = 0; i >= 0 && k < 2; k++)
            if (const int sigmoid = writer(input(i, k), "Sigmoid"); sigmoid >= 0) {
                const int x = input(i, 1 - k), scaled = writer(input(sigmoid, 0), "Mul");
                if (input(sigmoid, 0) == x ||
                    (scaled >= 0 && (input(scaled, 0) == x || input(scaled, 1) == x) &&
                     is_constant(other(scaled, x))))
                    return false;
            }
        return i >= 0;
    }

public:
    // ---- x * 0.5 * (1 + erf(x / sqrt(2))), multiplied in any order that ONNX Runtime knows. It sees none where x is
    // dequantized, since each reader has a DequantizeLinear of its own there, nor where it takes the Mul that writes x for
    // the one by 1/2.

    void gelu(int erf) {
        const int scaled = input(erf, 0), division = writer(scaled, "Div"), product = writer(scaled, "Mul");
        int x = -1;
        if (division >= 0 && is_value(input(division, 1), std::sqrt(2.)))
            x = input(division, 0);
        else if (product >= 0 && is_value(other(product, input(product, 0)), std::sqrt(.5)))
            x = input(product, 0);
        else if (product >= 0 && is_value(input(product, 0), std::sqrt(.5)))
            x = input(product, 1);
        const int sum = x < 0 ? -1 : reader(output(erf), "Add");
        if (sum < 0 || !is_value(other(sum, output(erf)), 1.))
            return;
        const int first = reader(output(sum), "Mul");
        if (first < 0)
            return;
        const int factor = other(first, output(sum)), second = reader(output(first), "Mul");
        if (writer(x, "DequantizeLinear") >= 0 || (factor == x && is_plain_product(x)))
            return;
        const int half = factor == x ? -1 : writer(factor, "Mul");
        if (half >= 0 && other(half, x) >= 0 && (input(half, 0) == x || input(half, 1) == x) &&
            is_value(other(half, x), 0.5))
            become(first, "Gelu", {x});
        else if (second >= 0 && factor == x && is_value(other(second, output(first)), 0.5))
            become(second, "Gelu", {x});
    }

    // ---- (x - mean) / sqrt(mean of squares + epsilon) * gamma + beta

    /// x, if a tensor is the mean of its rows.
    int mean_of_rows(int t) const {
        const int i = writer(t, "ReduceMean");
        if (i < 0 || !is_float(input(i, 0)))
            return -1;
        memory::dims rows = at(input(i, 0)).dims;
        if (rows.empty() || rows.back() == 1)
            return -1;
        rows.back() = 1;
        return at(t).dims == rows ? input(i, 0) : -1;
    }

    /// x, if a tensor is x minus the mean of its rows.
    int centred(int t) const {
        const int i = writer(t, "Sub");
        return i >= 0 && input(i, 0) == mean_of_rows(input(i, 1)) ? input(i, 0) : -1;
    }

    int squared(int t) const {
        const int power = writer(t, "Pow"), product = writer(t, "Mul");
        if (power >= 0 && is_value(input(power, 1), 2.))
            return input(power, 0);
        return product >= 0 && input(product, 0) == input(product, 1) ? input(product, 0) : -1;
    }

    void layer_normalization(int root) {
        const int sum = writer(input(root, 0), "Add"), division = reader(output(root), "Div");
        if (sum < 0 || division < 0 || input(division, 1) != output(root))
            return;
        const std::size_t k = is_constant(input(sum, 0)) ? 0 : 1;
        const int epsilon = input(sum, k), deviation = mean_of_rows(input(sum, 1 - k));
        const int difference = deviation < 0 ? -1 : squared(deviation),
                  x = difference < 0 ? -1 : centred(difference);
        if (x < 0 || !is_constant(epsilon) || at(epsilon).data.size() != sizeof(float) ||
            centred(input(division, 0)) != x)
            return;
        const int product = reader(output(division), "Mul");
        const int gamma = product < 0 ? -1 : other(product, output(division));
        if (gamma < 0 || !is_row_of(gamma, x))
            return;
        node n{"LayerNormalization", {x, gamma}, {}, {{"epsilon", values_of<float>(at(epsilon))[0]}}};
        const int shift = reader(output(product), "Add");
        const int beta = shift < 0 ? -1 : other(shift, output(product));
        const bool has_shift = beta >= 0 && is_row_of(beta, x);
        if (has_shift)
            n.inputs.push_back(beta);
        become(has_shift ? shift : product, std::move(n));
    }

    // ---- Matrix products

    /// The factor of a product with one constant, or of a quotient by it, and the other operand; see ONNX Runtime's
    /// MatMulScaleFusion.
    std::optional<std::pair<float, int>> scaling(int i) const {
        if (!is(i, "Mul") && !is(i, "Div"))
            return std::nullopt;
        for (std::size_t k = is(i, "Div") ? 1 : 0; k < 2; k++) {
            const int constant = input(i, k), scaled = input(i, 1 - k);
            if (!is_constant(constant) || at(constant).data.size() != sizeof(float) || !is_float(scaled) ||
                at(constant).dims.size() > at(scaled).dims.size() || at(scaled).dims.empty())
                continue;
            const float factor = values_of<float>(at(constant))[0];
            return std::pair(is(i, "Div") ? 1.f / factor : factor, scaled);
        }
        return std::nullopt;
    }

    /// Factors of the operands and of the product become one, which is not the same to the last bit.
    void scaled_product(int i) {
        if (!is_float(output(i)) || !is_float(input(i, 0)) || !is_float(input(i, 1)))
            return;
        node n{"FusedMatMul", {input(i, 0), input(i, 1)}, {}, {}};
        float alpha = 1.f;
        bool is_scaled = false;
        const auto scale = [&](int node) {
            const auto found = node < 0 ? std::nullopt : scaling(node);
            if (found)
                alpha *= found->first;
            is_scaled = is_scaled || found;
            return found;
        };
        for (int &operand : n.inputs)
            if (const auto found = scale(e_.producer(operand)))
                operand = found->second;
        const int follower = e_.only_consumer(output(i));
        const bool is_behind = follower >= 0 && scale(follower);
        n.attributes["alpha"] = alpha;
        if (is_scaled)
            become(is_behind ? follower : i, std::move(n));
    }

    /// ONNX Runtime's sums begin with the row that is added to them, see its MatMulAddFusion.
    void biased_product(int i) {
        const int sum = is_float(output(i)) ? reader(output(i), "Add") : -1;
        const int row = sum < 0 ? -1 : other(sum, output(i));
        if (row >= 0 && is_row_of(row, output(i)) && at(input(i, 0)).dims.size() >= 2 &&
            at(input(i, 1)).dims.size() == 2)
            become(sum, {"MatMulAdd", {input(i, 0), input(i, 1), row}, {}, e_.at(i).attributes});
    }

    /// MatMulInteger, Cast, and Mul with a product of two scales.
    void integer_product(int i) {
        const int cast = e_.only_consumer(output(i));
        if (!is(cast, "Cast") || !is_float(output(cast)))
            return;
        const int product = reader(output(cast), "Mul");
        const int factors = product < 0 ? -1 : writer(other(product, output(cast)), "Mul");
        if (factors < 0)
            return;
        int a = input(factors, 0), b = input(factors, 1);
        if (is_constant(a))
            std::swap(a, b);
        const dim_t columns = at(output(i)).dims.empty() ? 0 : at(output(i)).dims.back();
        const auto fits = [&](int t, dim_t count) {
            return is_float(t) && at(t).dims.size() <= 1 && element_count(at(t).dims) == count;
        };
        if (!fits(a, 1) || !is_constant(b) || !(fits(b, 1) || fits(b, columns)))
            return;
        become(product,
               {"MatMulIntegerToFloat", {input(i, 0), input(i, 1), a, b, input(i, 2), input(i, 3)}, {}, {}});
    }

private:
    // ---- Changes

    /// Node i, the last of its pattern, computes the same by one operator.
    void become(int i, node n) {
        n.outputs = {output(i)};
        n.number = e_.at(i).number;
        e_.replace(i, std::move(n));
    }
    void become(int i, const char *op, std::vector<int> inputs) {
        become(i, {op, std::move(inputs), {}, {}});
    }

    graph_editor e_;
};

} // namespace

void recognize_float_operators(graph &g) {
    using p = float_operators;
    const std::pair<const char *, void (p::*)(int)> patterns[] = {
        {"MatMul", &p::scaled_product},
        {"MatMul", &p::biased_product},
        {"MatMulInteger", &p::integer_product},
        {"Sqrt", &p::layer_normalization},
        {"Erf", &p::gelu}, // after those that end with a Mul
    };
    for (const auto &[op, change] : patterns)
        p(g).for_each(op, change);
}

void fold_constants(graph &g, const evaluator &evaluate) {
    const auto at = [&](int t) -> tensor & { return g.tensors[static_cast<std::size_t>(t)]; };
    std::vector<node> kept;
    std::set<int> dequantized;
    for (node &n : g.nodes) {
        const bool is_computed = n.inputs.empty() || n.inputs[0] < 0 || n.outputs.size() != 1 ||
                                 std::any_of(n.inputs.begin(), n.inputs.end(),
                                             [&](int t) { return t >= 0 && !at(t).is_constant; }) ||
                                 element_count(at(n.inputs[0]).dims) == 0 ||
                                 !facts_of(g.framework, n.op).lower;
        if (is_computed) {
            if ((n.op == "MatMul" || n.op == "Gemm") && n.inputs.size() > 1 &&
                dequantized.count(n.inputs[1]) != 0)
                n.attributes[dequantized_matrix] = std::int64_t{1};
            kept.push_back(std::move(n));
            continue;
        }
        tensor &y = at(n.outputs[0]);
        y.data = evaluate(g, n, 0, at(n.inputs[0]).data, {});
        y.is_constant = true;
        if (n.op == "DequantizeLinear")
            dequantized.insert(n.outputs[0]);
    }
    g.nodes = std::move(kept);
}

} // namespace octet::model
