// Pairs of DequantizeLinear and QuantizeLinear move towards the operators that compute, and vanish where they meet
// or where nothing is left between them to compute.

#include <algorithm>
#include <limits>

#include "network/passes/qdq_passes.hpp"

namespace octet::model {
namespace {

class code_moves {
public:
    explicit code_moves(qdq_graph &g) : g_(g) {}

    /// DequantizeLinear, Move  ->  Move, DequantizeLinear.
    void push_down() {
        for (int i = 0; i < g_.count(); i++) {
            const auto q = lets_codes_down(i) ? g_.activation(g_.input(i, 0)) : std::nullopt;
            if (!q)
                continue;
            const int real = g_.at(i).outputs[0], codes = tensor_like(real, g_.type(q->codes));
            g_.replace(i, on_codes(g_.at(i), *q, q->codes, codes));
            g_.insert_after(i, {"DequantizeLinear", {codes, q->scale, g_.zero_point_tensor(*q)}, {real}, {}});
        }
    }

    /// Move, QuantizeLinear  ->  QuantizeLinear, Move; not for codes, and not where floats come in from
    /// outside.
    void pull_up() {
        for (int i = g_.count(); i-- > 0;) {
            const int quantizer = lets_codes_up(i) ? g_.quantizer_of(g_.at(i).outputs[0]) : -1;
            const int src = quantizer < 0 ? -1 : g_.input(i, 0);
            if (quantizer < 0 || g_.type(src) != data_type::f32 || g_.producer(src) < 0 ||
                g_.only_consumer(src) != i)
                continue;
            const quantized q = g_.written(quantizer);
            const int codes = tensor_like(src, g_.type(q.codes));
            node quantize = g_.at(quantizer), move = on_codes(g_.at(i), q, codes, q.codes);
            quantize.inputs[0] = src;
            quantize.outputs = {codes};
            g_.remove(quantizer);
            g_.replace(i, quantize);
            g_.insert_after(i, move);
        }
    }

private:
    /// Both directions give the same bytes. A QuantizeLinear goes up only where ONNX Runtime moves it,
    /// because the operator before it then computes on codes.
    bool moves(int i) const { return !g_.is_removed(i) && g_.at(i).outputs.size() == 1; }
    bool lets_codes_down(int i) const {
        return moves(i) && g_.facts(i).moves != code_move::none &&
               (!g_.facts(i).pads || pads_with_codes(g_.at(i)));
    }
    bool lets_codes_up(int i) const { return moves(i) && g_.facts(i).moves == code_move::both; }
    bool pads_with_codes(const node &n) const {
        if (attribute_or<std::string>(n, "mode", "constant") != "constant")
            return true; // with elements, whatever the value
        if (n.inputs.size() < 3 || n.inputs[2] < 0)
            return n.attributes.count("value") == 0;
        const tensor &value = g_.tensor_at(n.inputs[2]);
        return value.is_constant && value.type == data_type::f32 &&
               values_of<float>(value) == std::vector<float>{0};
    }

    /// The node on codes instead of floats; real zero is the zero point.
    node on_codes(node n, const quantized &q, int src, int dst) {
        n.inputs[0] = src;
        n.outputs = {dst};
        if (facts_of("onnx", n.op).pads) {
            n.inputs.resize(std::max<std::size_t>(n.inputs.size(), 3), -1);
            n.inputs[2] = g_.zero_point_tensor(q);
        }
        return n;
    }
    int tensor_like(int t, data_type type) {
        tensor copy = g_.tensor_at(t);
        copy.type = type;
        return g_.add_tensor(std::move(copy));
    }

    qdq_graph &g_;
};

/// The limits of a Relu or Clip; an open end is infinite.
std::optional<std::pair<float, float>> limits_of(const qdq_graph &g, int i) {
    const float infinity = std::numeric_limits<float>::infinity();
    if (g.is(i, "Relu"))
        return {{0.f, infinity}};
    if (!g.is(i, "Clip"))
        return {};
    const auto limit = [&](std::size_t k, const char *name, float open) -> std::optional<float> {
        const auto found = g.at(i).attributes.find(name);
        if (found != g.at(i).attributes.end() && std::holds_alternative<float>(found->second))
            return std::get<float>(found->second);
        if (g.input(i, k) < 0)
            return open;
        const tensor &t = g.tensor_at(g.input(i, k));
        if (!t.is_constant || t.type != data_type::f32 || t.data.size() != sizeof(float))
            return {};
        return values_of<float>(t)[0];
    };
    const auto low = limit(1, "min", -infinity), high = limit(2, "max", infinity);
    if (!low || !high)
        return {};
    return {{*low, *high}};
}

void drop_if_implied(qdq_graph &g, int i) {
    const auto limits = limits_of(g, i);
    const int quantizer = limits ? g.quantizer_of(g.at(i).outputs[0]) : -1;
    if (quantizer < 0)
        return;
    const quantized q = g.written(quantizer);
    const bool is_signed = g.type(q.codes) == data_type::s8;
    const float lowest = g.scale_of(q) * static_cast<float>((is_signed ? -128 : 0) - g.zero_point_of(q)),
                highest = g.scale_of(q) * static_cast<float>((is_signed ? 127 : 255) - g.zero_point_of(q));
    // Scales come out of a division of the range, so the ends meet only nearly. Half a step would still
    // give the same codes.
    const float slack = 1e-5f * g.scale_of(q);
    if (limits->first > lowest + slack || limits->second < highest - slack)
        return;
    node n = g.at(quantizer);
    n.inputs[0] = g.input(i, 0);
    g.remove(i);
    g.replace(quantizer, n);
}

/// DequantizeLinear, QuantizeLinear with equal parameters: readers of the second read what the first
/// reads.
void cancel(qdq_graph &g, int i) {
    if (!g.is(i, "QuantizeLinear") || !g.is_plain(i))
        return;
    const quantized q = g.written(i);
    const auto source = g.activation(g.input(i, 0));
    if (source && g.are_equal(*source, q))
        g.replace(i, {"Identity", {source->codes}, {q.codes}, {}});
}

} // namespace

void move_codes(qdq_graph &g) {
    code_moves moves(g);
    moves.push_down();
    moves.pull_up();
}

void drop_implied_limits(qdq_graph &g) {
    for (int i = 0; i < g.count(); i++)
        drop_if_implied(g, i);
}

void cancel_pairs(qdq_graph &g) {
    for (int i = 0; i < g.count(); i++)
        cancel(g, i);
}

} // namespace octet::model
