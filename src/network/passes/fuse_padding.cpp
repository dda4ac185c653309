// Padding before convolutions; see fusion.hpp. A convolution pads for nothing, because it gathers its rows anyway,
// while a padded copy of the image costs as much as reading it again.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "network/graph/graph_editor.hpp"
#include "network/operators.hpp"
#include "network/passes/fusion.hpp"

namespace octet::model {
namespace {

/// Elements before and after each dimension, in the order of the tensor's dimensions.
struct padding {
    memory::dims before, after;
};

class padding_fusion {
public:
    explicit padding_fusion(graph &g) : e_(g) {}

    void run() {
        for (int i = 0; i < static_cast<int>(e_.node_count()); i++)
            if (!e_.is_removed(i))
                absorb_padding(i);
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
        const std::vector<std::int32_t> values = values_of<std::int32_t>(at(pad.inputs[1]));
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
        const std::string &framework = e_.get_graph().framework;
        const bool is_tflite = framework == "tflite";
        if (!facts_of(framework, conv.op).takes_padding)
            return;
        const int before = e_.producer(input(conv, 0));
        if (before < 0 || e_.only_consumer(conv.inputs[0]) != i)
            return;
        const node &pad = e_.at(before);
        if (input(pad, 0) < 0 || !facts_of(framework, pad.op).pads)
            return;
        const auto p = is_tflite ? tflite_padding(pad) : onnx_padding(pad, conv);
        if (!p || !is_code(at(conv.inputs[0]).type) ||
            !is_spatial(*p, at(conv.inputs[0]).dims.size(), is_tflite))
            return;
        node fused_host = conv;
        if (!(is_tflite ? pad_tflite(fused_host, *p) : pad_onnx(fused_host, *p)))
            return;
        fused_host.inputs[0] = pad.inputs[0];
        e_.remove(before);
        e_.replace(i, std::move(fused_host));
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

    graph_editor e_;
};

} // namespace

void fuse_padding(graph &g) { padding_fusion(g).run(); }

} // namespace octet::model
