// ONNX Runtime's choice of u8 for s8 activations of QDQ networks, which x86 multiplies faster.

#include <algorithm>

#include "network/graph/graph_editor.hpp"
#include "network/passes/onnx_qdq.hpp"

namespace octet::model {
namespace {

/// A zero point that is known and common to all elements.
bool has_zero_point(const graph_editor &e, const node &n) {
    if (n.inputs.size() != 3 || n.inputs[2] < 0)
        return false;
    const tensor &t = e.tensor_at(n.inputs[2]);
    return t.is_constant && t.type == data_type::s8 && t.data.size() == 1;
}

/// The DequantizeLinear that alone reads codes of a QuantizeLinear, and alone is read; -1.
int partner_of(const graph_editor &e, const node &quantize) {
    if (quantize.op != "QuantizeLinear" || quantize.outputs.size() != 1)
        return -1;
    const int reader = e.only_consumer(quantize.outputs[0]);
    if (reader < 0 || e.at(reader).op != "DequantizeLinear")
        return -1;
    const bool is_known = has_zero_point(e, quantize) && has_zero_point(e, e.at(reader));
    return is_known && e.consumers(e.at(reader).outputs[0]).size() <= 1 ? reader : -1;
}

/// All nodes of such pairs, or none if other nodes write codes in s8, or they come from outside.
std::vector<int> signed_pairs(graph_editor &e) {
    std::vector<int> nodes;
    for (const int t : e.get_graph().inputs)
        if (e.tensor_at(t).type == data_type::s8)
            return {};
    for (int i = 0; i < static_cast<int>(e.node_count()); i++) {
        const auto &outputs = e.at(i).outputs;
        if (std::none_of(outputs.begin(), outputs.end(),
                         [&](int t) { return t >= 0 && e.tensor_at(t).type == data_type::s8; }))
            continue;
        const int reader = partner_of(e, e.at(i));
        if (reader < 0)
            return {};
        nodes.insert(nodes.end(), {i, reader});
    }
    return nodes;
}

/// The zero point that stands for the same number.
int unsigned_zero_point(graph_editor &e, int zero_point) {
    tensor t = e.tensor_at(zero_point);
    t.name += " unsigned";
    t.type = data_type::u8;
    t.data = std::vector<std::uint8_t>{static_cast<std::uint8_t>(t.data[0] ^ 0x80)};
    return e.add_tensor(std::move(t));
}

} // namespace

void make_unsigned(graph &g) {
    graph_editor e(g);
    for (const int i : signed_pairs(e)) {
        node n = e.at(i);
        n.inputs[2] = unsigned_zero_point(e, n.inputs[2]);
        n.attributes.erase("output_dtype");
        if (n.op == "QuantizeLinear")
            g.tensors[static_cast<std::size_t>(n.outputs[0])].type = data_type::u8;
        e.replace(i, std::move(n));
    }
    e.finish();
}

} // namespace octet::model
