#include "model/fusion.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "model/evaluate.hpp"
#include "model/graph_editor.hpp"

namespace octet::model {
namespace {

template <std::size_t N> bool is_one_of(const char *const (&names)[N], const std::string &op) {
    return std::any_of(std::begin(names), std::end(names), [&](const char *name) { return op == name; });
}

/// Operators that sum products and requantize them to codes.
constexpr const char *accumulating[] = {"BATCH_MATMUL",    "CONV_2D",       "DEPTHWISE_CONV_2D",
                                        "QGemm",           "QLinearConv",   "QLinearMatMul",
                                        "FULLY_CONNECTED", "TRANSPOSE_CONV"};
/// Operators of which each output code depends on one input code alone, the same way everywhere.
constexpr const char *functions[] = {
    "LEAKY_RELU", "LOGISTIC", "QLinearLeakyRelu", "QLinearSigmoid", "QUANTIZE", "RELU", "RELU6", "TANH"};

bool is_code(data_type type) { return type == data_type::u8 || type == data_type::s8; }
std::int32_t lowest_code(data_type type) { return type == data_type::s8 ? -128 : 0; }

/// The value before a rule's post-ops is the code less its zero point, rounded or yet to be rounded.
bool post_ops_see_codes(requantization_rule rule) {
    return rule != requantization_rule::f32 && rule != requantization_rule::f32_v3;
}

// ---- Padding: elements before and after each dimension, in the order of the tensor's dimensions.

struct padding {
    memory::dims before, after;
};

std::vector<std::int32_t> integers_of(const tensor &t) {
    std::vector<std::int32_t> values(t.data.size() / sizeof(std::int32_t));
    if (!values.empty())
        std::memcpy(values.data(), t.data.data(), values.size() * sizeof(std::int32_t));
    return values;
}

class fusion {
public:
    explicit fusion(graph &g) : e_(g) {}

    void run(requantization_rule rule) {
        for (int i = 0; i < static_cast<int>(e_.node_count()); i++) {
            absorb_padding(i);
            if (post_ops_see_codes(rule))
                join_function(i);
        }
        e_.finish();
    }

private:
    const tensor &at(int t) const { return e_.tensor_at(t); }
    int input(const node &n, std::size_t k) const { return k < n.inputs.size() ? n.inputs[k] : -1; }

    /// The only constant code of a tensor.
    std::optional<std::int32_t> code(int t) const {
        if (t < 0 || !at(t).is_constant || !is_code(at(t).type) || at(t).data.size() != 1)
            return {};
        return at(t).type == data_type::s8 ? static_cast<std::int8_t>(at(t).data[0]) : at(t).data[0];
    }

    /// TFLite pads with the code of zero, or PADV2 with a constant. Throws nothing: what is malformed is left
    /// to the node's own lowering.
    std::optional<padding> tflite_padding(const node &pad) const {
        const tensor &x = at(input(pad, 0));
        if (input(pad, 1) < 0 || !at(pad.inputs[1]).is_constant || x.quant.zero_points.size() != 1 ||
            x.quant.zero_points != at(pad.outputs[0]).quant.zero_points ||
            x.quant.scales != at(pad.outputs[0]).quant.scales)
            return {};
        if (input(pad, 2) >= 0 && code(pad.inputs[2]) != x.quant.zero_points[0])
            return {};
        const std::vector<std::int32_t> values = integers_of(at(pad.inputs[1]));
        padding p;
        for (std::size_t i = 0; i < values.size(); i++)
            (i % 2 == 0 ? p.before : p.after).push_back(values[i]);
        return p;
    }

    std::optional<padding> onnx_padding(const node &pad, const node &conv) const {
        const std::optional<std::int32_t> zero_point = input(conv, 2) < 0 ? 0 : code(conv.inputs[2]);
        const std::optional<std::int32_t> value = input(pad, 2) < 0 ? 0 : code(pad.inputs[2]);
        if (!zero_point || value != zero_point ||
            attribute_or<std::string>(pad, "mode", "constant") != "constant")
            return {};
        const auto pads = attribute_or<std::vector<std::int64_t>>(pad, "pads", {});
        const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
        return padding{{pads.begin(), middle}, {middle, pads.end()}};
    }

    /// Whether it pads pixels alone, as a convolution can.
    static bool is_spatial(const padding &p, std::size_t rank, bool is_channels_last) {
        if (p.before.size() != rank || p.after.size() != rank || rank < 3)
            return false;
        const std::size_t channels = is_channels_last ? rank - 1 : 1;
        const auto is_negative = [](dim_t n) { return n < 0; };
        return p.before[0] == 0 && p.after[0] == 0 && p.before[channels] == 0 && p.after[channels] == 0 &&
               std::none_of(p.before.begin(), p.before.end(), is_negative) &&
               std::none_of(p.after.begin(), p.after.end(), is_negative);
    }

    void absorb_padding(int i) {
        const node &conv = e_.at(i);
        const bool is_tflite = conv.op == "CONV_2D" || conv.op == "DEPTHWISE_CONV_2D";
        if (e_.is_removed(i) || (!is_tflite && conv.op != "QLinearConv"))
            return;
        const int before = e_.producer(input(conv, 0));
        if (before < 0 || e_.only_consumer(conv.inputs[0]) != i)
            return;
        const node &pad = e_.at(before);
        if (is_tflite ? pad.op != "PAD" && pad.op != "PADV2" : pad.op != "Pad")
            return;
        const auto p = is_tflite ? tflite_padding(pad) : onnx_padding(pad, conv);
        if (!p || !is_code(at(conv.inputs[0]).type) ||
            at(pad.inputs[0]).is_channels_last != at(conv.inputs[0]).is_channels_last ||
            !is_spatial(*p, at(conv.inputs[0]).dims.size(), is_tflite))
            return;
        node joined = conv;
        if (!(is_tflite ? pad_tflite(joined, *p) : pad_onnx(joined, *p)))
            return;
        joined.inputs[0] = pad.inputs[0];
        e_.remove(before);
        e_.replace(i, std::move(joined));
    }

    static bool pad_tflite(node &conv, const padding &p) {
        if (attribute_or<std::string>(conv, "padding", "") != "VALID")
            return false;
        conv.attributes["padding"] = std::string("EXPLICIT");
        for (const std::size_t i : {0u, 1u}) {
            const std::string axis = i == 0 ? "_h" : "_w";
            conv.attributes["padding_before" + axis] = p.before[i + 1];
            conv.attributes["padding_after" + axis] = p.after[i + 1];
        }
        return true;
    }

    static bool pad_onnx(node &conv, const padding &p) {
        const std::size_t pixels = p.before.size() - 2;
        auto pads = attribute_or(conv, "pads", std::vector<std::int64_t>(2 * pixels, 0));
        if (attribute_or<std::string>(conv, "auto_pad", "NOTSET") != "NOTSET" || pads.size() != 2 * pixels)
            return false;
        for (std::size_t i = 0; i < pixels; i++) {
            pads[i] += p.before[i + 2];
            pads[pixels + i] += p.after[i + 2];
        }
        conv.attributes["pads"] = pads;
        return true;
    }

    // ---- Functions of codes.

    /// The node that writes a tensor, if it accumulates and nobody else reads its result.
    int accumulator_of(int t, int reader) const {
        const int host = e_.producer(t);
        const bool fits = host >= 0 && !e_.is_removed(host) && e_.only_consumer(t) == reader &&
                          e_.at(host).outputs.size() == 1 && is_one_of(accumulating, e_.at(host).op);
        return fits ? host : -1;
    }

    void join_function(int i) {
        const node &f = e_.at(i);
        if (e_.is_removed(i) || !is_one_of(functions, f.op) || f.outputs.size() != 1 || input(f, 0) < 0)
            return;
        const tensor &x = at(f.inputs[0]), &y = at(f.outputs[0]);
        const int host = accumulator_of(f.inputs[0], i);
        if (host < 0 || !is_code(x.type) || x.type != y.type || x.dims != y.dims ||
            x.is_channels_last != y.is_channels_last)
            return;
        node joined = e_.at(host);
        joined.fused.push_back(f);
        joined.outputs = f.outputs;
        e_.remove(host);
        e_.replace(i, std::move(joined));
    }

    graph_editor e_;
};

/// Output codes of a function for all input codes, lowest first.
std::vector<std::uint8_t> table_of(const graph &g, const node &f) {
    const data_type type = g.tensors[static_cast<std::size_t>(f.inputs[0])].type;
    std::vector<std::uint8_t> codes(256);
    std::iota(codes.begin(), codes.end(), static_cast<std::uint8_t>(lowest_code(type)));
    return evaluate(g, f, 0, codes, memory::dims{256});
}

/// The interval that a table clips to, if that is all it does.
std::optional<post_op::clip> as_clip(const std::vector<std::int32_t> &table, std::int32_t lowest) {
    const auto [low, high] = std::minmax_element(table.begin(), table.end());
    for (std::size_t i = 0; i < table.size(); i++)
        if (table[i] != std::clamp(lowest + static_cast<std::int32_t>(i), *low, *high))
            return {};
    return post_op::clip{*low, *high};
}

} // namespace

void fuse(graph &g, requantization_rule rule) { fusion(g).run(rule); }

void append_fused(primitive_attr &attr, const lowering &l) {
    const std::vector<node> &fused = l.get_node().fused;
    if (fused.empty())
        return;
    const data_type type = l.result().type;
    const std::int32_t lowest = lowest_code(type);
    post_op::table whole;
    whole.type = type;
    std::vector<std::int32_t> codes(256);
    std::iota(codes.begin(), codes.end(), lowest);
    for (const node &f : fused) {
        const std::vector<std::uint8_t> next = table_of(l.get_graph(), f);
        for (std::int32_t &code : codes) {
            const std::uint8_t byte = next[static_cast<std::size_t>(code - lowest)];
            code = type == data_type::s8 ? static_cast<std::int8_t>(byte) : byte;
        }
    }
    post_ops ops = attr.get_post_ops();
    const auto zero_points = attr.zero_points().find(OCTET_ARG_DST);
    const std::int32_t zero_point =
        zero_points == attr.zero_points().end() ? 0 : zero_points->second.values.at(0);
    if (const auto clip = as_clip(codes, lowest)) {
        ops.append_clip(clip->low - zero_point, clip->high - zero_point);
    } else {
        ops.append_add(zero_point); // the table is of codes
        for (std::size_t i = 0; i < codes.size(); i++)
            whole.entries[i] = static_cast<std::uint8_t>(codes[i]);
        ops.append_table(whole);
        attr.set_zero_points(OCTET_ARG_DST, 0, {0});
    }
    attr.set_post_ops(ops);
}

} // namespace octet::model
