// As `ensure_unique_dq_for_node_unit.cc`, `qdq_propagation.cc`, `where_dummy_dq.cc`, `qdq_s8_to_u8.cc`,
// `clip_quantizelinear.cc`, `relu_quantizelinear.cc` and `qdq_final_cleanup.cc` of ONNX Runtime 1.30, levels
// 0 to 2: QuantizeLinear and DequantizeLinear themselves: how many there are, where they stand, with which
// type. What they make of operators is in qdq_units.cpp, of constants in qdq_weights.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

/// Adds a DequantizeLinear of the same codes and returns its output.
tensor_id add_same(ort_graph &g, node_id dq) {
    const tensor_id t = g.add_like(g.output(dq));
    node copy = g.at(dq);
    copy.outputs = {t};
    g.insert_after(dq, std::move(copy));
    return t;
}

} // namespace

/// One for each input that reads it, and for an output of the network.
void ensure_unique_dq(ort_graph &g) {
    g.for_each("DequantizeLinear", [&](node_id dq) {
        const tensor_id t = g.output(dq);
        bool is_taken = g.is_graph_output(t);
        const std::vector<node_id> consumers = g.consumers(t);
        for (const node_id r : std::set<node_id>(consumers.begin(), consumers.end()))
            if (r && (is_taken || !g.only_consumer(t))) {
                node n = g.at(r);
                for (std::size_t k = 0; k < n.inputs.size(); k++)
                    if (input_of(n, k) == t && std::exchange(is_taken, true))
                        n.inputs[k] = add_same(g, dq);
                g.replace(r, std::move(n));
            }
    });
}

// ---- Past operators that move elements

namespace {

/// MaxPool of earlier opsets is not among them.
bool moves_elements(ort_graph &g, node_id i) {
    constexpr std::int64_t pool_opset = 12;
    return i && !g.is_removed(i) && g.facts(i).moves_pairs && g.at(i).outputs.size() == 1 &&
           g.is_float(g.output(i)) && (!g.is(i, "MaxPool") || g.get_graph().opset >= pool_opset);
}

class propagation {
public:
    explicit propagation(ort_graph &g) : g_(g) {}

    /// Before each operator that moves, up from a QuantizeLinear.
    void go_up(node_id q) {
        if (!is_plain(q))
            return;
        for (tensor_id t = g_.input(q, 0);;) {
            const node_id i = g_.producer(t);
            if (!moves_elements(g_, i) || g_.consumers(t).size() != 1 || !g_.only_consumer(t))
                return;
            const tensor_id x = g_.input(i, 0);
            if (!g_.is_float(x) || g_.is(g_.producer(x), "DequantizeLinear") ||
                (g_.producer(x) && !g_.only_consumer(x))) // an input may have other readers
                return;
            const auto [codes, real] = insert_before(i, x, q);
            g_.set_input(i, 0, real);
            (void)codes;
            t = x;
            if (g_.consumers(t).size() != 1)
                return;
        }
    }

    /// Behind each, down from a DequantizeLinear of computed codes.
    void go_down(node_id dq) {
        if (g_.is_constant(g_.input(dq, 0)))
            return;
        std::vector<node_id> waiting = {dq};
        while (!waiting.empty()) {
            const node_id from = waiting.back();
            waiting.pop_back();
            const node_id i = is_plain(from) ? g_.only_consumer(g_.output(from)) : node_id();
            if (!moves_elements(g_, i) || g_.input(i, 0) != g_.output(from))
                continue;
            const tensor_id y = g_.output(i);
            const std::vector<node_id> readers = g_.consumers(y);
            if (readers.empty() || any_of(readers, [&](node_id r) { return g_.is(r, "QuantizeLinear"); }))
                continue;
            const std::vector<node_id> made = insert_behind(i, from);
            waiting.insert(waiting.end(), made.begin(), made.end());
        }
    }

private:
    bool is_plain(node_id i) const {
        return g_.is_plain(i) && element_count(g_.dims(g_.input(i, 1))) == 1 &&
               is_code(g_.is(i, "QuantizeLinear") ? g_.type(g_.output(i)) : g_.type(g_.input(i, 0)));
    }

    node with_parameters(const char *op, tensor_id x, tensor_id y, node_id like) const {
        return {op, {x, g_.input(like, 1), g_.input(like, 2)}, {y}, {}};
    }
    tensor_id add_codes(tensor_id real, node_id like) {
        constexpr std::int64_t typed_opset = 21; // of QuantizeLinear's output_dtype
        tensor t = g_.tensor_at(real);
        t.type = g_.is(like, "QuantizeLinear") ? g_.type(g_.output(like))
                 : !g_.input(like, 2) && g_.get_graph().opset < typed_opset
                     ? data_type::u8 // of a QuantizeLinear without a zero point
                     : g_.type(g_.input(like, 0));
        t.is_constant = false;
        t.data = {};
        return g_.add_tensor(std::move(t));
    }

    std::pair<tensor_id, tensor_id> insert_before(node_id i, tensor_id x, node_id like) {
        const tensor_id codes = add_codes(x, like), real = g_.add_like(x);
        g_.insert_before(i, with_parameters("QuantizeLinear", x, codes, like));
        g_.insert_before(i, with_parameters("DequantizeLinear", codes, real, like));
        return {codes, real};
    }

    std::vector<node_id> insert_behind(node_id i, node_id like) {
        const tensor_id y = g_.output(i), moved = g_.add_like(y), codes = add_codes(y, like);
        const std::vector<node_id> consumers = g_.consumers(y);
        const bool is_output = g_.is_graph_output(y);
        node n = g_.at(i);
        n.outputs = {moved};
        g_.replace(i, std::move(n));
        g_.insert_after(i, with_parameters("QuantizeLinear", moved, codes, like));
        std::vector<node_id> made;
        for (const node_id r : std::set<node_id>(consumers.begin(), consumers.end()))
            if (r) {
                node reader = g_.at(r);
                for (std::size_t k = 0; k < reader.inputs.size(); k++)
                    if (input_of(reader, k) == y) {
                        const tensor_id x = g_.add_like(y);
                        reader.inputs[k] = x;
                        made.push_back(
                            g_.insert_after(i, with_parameters("DequantizeLinear", codes, x, like)));
                    }
                g_.replace(r, std::move(reader));
            }
        if (is_output)
            g_.insert_after(i, with_parameters("DequantizeLinear", codes, y, like));
        return made;
    }

    ort_graph &g_;
};

} // namespace

void propagate_qdq(ort_graph &g) {
    propagation pairs(g);
    g.for_each("QuantizeLinear", [&](node_id i) { pairs.go_up(i); });
    g.for_each("DequantizeLinear", [&](node_id i) { pairs.go_down(i); });
}

/// A constant beside a DequantizeLinear gets one, so that a Where between codes may be a quantized one. That
/// the network gives out the choice, too, does not matter.
void dequantize_where(ort_graph &g) {
    g.for_each("Where", [&](node_id i) {
        node_id q = g.only_node_reading(g.output(i));
        if (!g.is(q, "QuantizeLinear"))
            q = {};
        for (std::size_t k = 1; q && k <= 2; k++) {
            const auto x = g.activation(g.input(i, 3 - k));
            const auto c = g.number(g.input(i, k));
            if (!x || !c || !x->zero_point || g.rank(g.input(i, k)) != 0 ||
                g.type(x->codes) != g.type(g.output(q)))
                continue;
            const bool is_signed = g.type(x->codes) == data_type::s8;
            const int zero_point = is_signed ? 0 : 127, code = *c == 0.f   ? zero_point
                                                               : *c > 0.f  ? (is_signed ? 127 : 255)
                                                               : is_signed ? -128
                                                                           : 0;
            const float scale = *c == 0.f ? 1.f : *c / static_cast<float>(code - zero_point);
            const auto byte = [](int value) {
                return std::vector<std::uint8_t>{static_cast<std::uint8_t>(value)};
            };
            const data_type type = g.type(x->codes);
            const tensor_id real = g.add_like(g.input(i, k)),
                            codes = g.add_constant("code", type, g.dims(real), byte(code));
            g.insert_before(i, {"DequantizeLinear",
                                {codes, g.add_floats("scale", {}, {scale}),
                                 g.add_constant("zero point", type, {}, byte(zero_point))},
                                {real},
                                {}});
            g.set_input(i, k, real);
            return;
        }
    });
}

// ---- Types

namespace {

/// A zero point that is known and common to all elements; of a DequantizeLinear it may be left out.
bool has_signed_zero_point(const ort_graph &g, node_id i) {
    const tensor_id z = g.input(i, 2);
    if (!z)
        return g.is(i, "DequantizeLinear") && g.type(g.input(i, 0)) == data_type::s8;
    return g.is_constant(z) && g.type(z) == data_type::s8 && g.tensor_at(z).data.size() == 1;
}

void set_zero_point(ort_graph &g, node_id i, tensor_id t) {
    node n = g.at(i);
    n.inputs.resize(3, tensor_id());
    n.inputs[2] = t;
    n.attributes.erase("output_dtype");
    g.replace(i, std::move(n));
}

} // namespace

/// s8 becomes u8 where a DequantizeLinear alone reads what a QuantizeLinear writes, pair by pair: x86
/// multiplies it faster.
void make_unsigned(ort_graph &g) {
    if (g.options.qdq_is_int8_allowed)
        return;
    g.for_each("QuantizeLinear", [&](node_id q) {
        const tensor_id codes = g.output(q);
        const node_id dq = g.reader(codes, "DequantizeLinear");
        if (!dq || !has_signed_zero_point(g, q) || !has_signed_zero_point(g, dq) ||
            g.zero_point_of(g.written(q)) != g.zero_point_of(g.read(dq)))
            return;
        tensor z = g.tensor_at(g.input(q, 2));
        z.type = data_type::u8;
        z.data = std::vector<std::uint8_t>{static_cast<std::uint8_t>(z.data[0] ^ 0x80)}; // + 128
        z.dims = {};
        const tensor_id unsigned_zero = g.add_tensor(std::move(z));
        set_zero_point(g, q, unsigned_zero);
        set_zero_point(g, dq, unsigned_zero);
        tensor_at(g.get_graph(), codes).type = data_type::u8;
    });
}

// ---- Limits that codes imply

namespace {

/// A constant, which may be in codes.
std::optional<float> limit_of(const ort_graph &g, tensor_id t) {
    const auto codes = g.activation(t);
    if (!codes || !g.is_constant(codes->codes) || !codes->zero_point ||
        element_count(g.dims(codes->codes)) != 1)
        return g.number(t);
    const std::int32_t code = g.zero_point_of({{}, {}, codes->codes, 0});
    return g.scale_of(*codes) * static_cast<float>(code - g.zero_point_of(*codes));
}

/// The limits of a Clip; an open end is infinite.
std::optional<std::pair<float, float>> limits_of(const ort_graph &g, node_id i) {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto limit = [&](std::size_t k, const char *name, float open) -> std::optional<float> {
        const auto found = g.at(i).attributes.find(name);
        if (found != g.at(i).attributes.end() && std::holds_alternative<float>(found->second))
            return std::get<float>(found->second);
        return !g.input(i, k) ? open : limit_of(g, g.input(i, k));
    };
    const auto low = limit(1, "min", -infinity), high = limit(2, "max", infinity);
    if (!low || !high)
        return {};
    return {{*low, *high}};
}

} // namespace

/// A Relu or Clip that the quantized range behind it implies.
void drop_implied_limit(ort_graph &g, node_id i) {
    const bool is_relu = g.is(i, "Relu");
    const node_id q = is_relu || g.is(i, "Clip") ? g.quantizer_of(g.output(i)) : node_id();
    if (!q || !g.input(q, 2))
        return;
    const quantized y = g.written(q);
    const bool is_signed = g.type(y.codes) == data_type::s8;
    const std::int32_t lowest = is_signed ? -128 : 0, highest = lowest + 255;
    if (is_relu) {
        if (g.zero_point_of(y) == lowest)
            g.drop(i, g.input(i, 0));
        return;
    }
    const auto limits = limits_of(g, i);
    if (!limits || !g.producer(g.input(i, 0)) || g.rank(y.scale) != 0 || g.rank(y.zero_point) != 0)
        return;
    const auto real = [&](std::int32_t code) {
        return g.scale_of(y) * static_cast<float>(code - g.zero_point_of(y));
    };
    constexpr float slack = std::numeric_limits<float>::epsilon();
    if (!(limits->first - real(lowest) > slack || real(highest) - limits->second > slack))
        g.drop(i, g.input(i, 0));
}

/// DequantizeLinear, QuantizeLinear with equal parameters: the one that reads the second, or takes it as the
/// network's output, gets what the first reads.
void cancel_pairs(ort_graph &g) {
    g.for_each("QuantizeLinear", [&](node_id q) {
        const auto x = g.is_plain(q) ? g.activation(g.input(q, 0)) : std::nullopt;
        if (!x || !g.are_equal(*x, g.written(q)) || g.only_consumer(g.input(q, 0)) != q ||
            g.consumers(g.output(q)).size() != 1)
            return;
        if (g.is_graph_output(g.output(q)))
            return g.become(q, "Identity", {x->codes});
        g.redirect(g.output(q), x->codes);
        g.remove(q);
    });
}

} // namespace octet::model::ort
