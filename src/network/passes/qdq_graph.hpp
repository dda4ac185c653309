#pragma once

// A graph in QDQ form as its passes see it: an editor that knows which tensors are floats between a
// DequantizeLinear and a QuantizeLinear, and what stands behind them. Only pairs with constant parameters count.

#include <optional>

#include "network/graph/graph_editor.hpp"
#include "network/operators.hpp"

namespace octet::model {

/// Codes with their scale and zero point: what a DequantizeLinear reads, or a QuantizeLinear writes.
struct quantized {
    int codes, scale, zero_point;
    std::int64_t axis; ///< of a scale per channel
};

class qdq_graph : public graph_editor {
public:
    using graph_editor::graph_editor;

    int count() const { return static_cast<int>(node_count()); }
    bool is(int i, const char *op) const { return i >= 0 && !is_removed(i) && at(i).op == op; }
    const operator_facts &facts(int i) const { return facts_of("onnx", at(i).op); }
    int input(int i, std::size_t k) const { return k < at(i).inputs.size() ? at(i).inputs[k] : -1; }
    data_type type(int t) const { return tensor_at(t).type; }
    bool is_constant(int t) const { return t >= 0 && tensor_at(t).is_constant; }

    /// Whether scale and zero point of a DequantizeLinear or QuantizeLinear are constants that fit each other and
    /// the codes.
    bool is_plain(int i) const;
    bool has_one_scale(const quantized &q) const { return element_count(tensor_at(q.scale).dims) == 1; }

    /// What stands behind a float tensor that a DequantizeLinear writes.
    std::optional<quantized> dequantized(int t) const;
    /// The same with one scale and 8-bit codes.
    std::optional<quantized> activation(int t) const;
    /// The QuantizeLinear that alone reads a tensor; -1.
    int quantizer_of(int t) const;
    /// What a QuantizeLinear writes.
    quantized written(int i) const { return {at(i).outputs[0], input(i, 1), input(i, 2), 0}; }

    float scale_of(const quantized &q) const { return values_of<float>(tensor_at(q.scale)).at(0); }
    std::int32_t zero_point_of(const quantized &q) const;
    bool are_equal(const quantized &a, const quantized &b) const;

    int add_constant(const std::string &name, data_type type, const memory::dims &dims,
                     std::vector<std::uint8_t> data);
    /// The zero point as a tensor, also where the node left it out.
    int zero_point_tensor(const quantized &q);
};

} // namespace octet::model
