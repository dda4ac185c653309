// As `double_qdq_pairs_remover.cc` of ONNX Runtime 1.30, level 1: two pairs of QuantizeLinear and
// DequantizeLinear in a row become one, which rounds once, with a range that both have. So files of two
// modules that each quantize what goes between them do not get the bytes that their text says.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

struct parameters {
    float scale;
    std::int32_t zero_point;
};

/// The range that both have, in ONNX Runtime's arithmetic; ties of the zero point go away from zero. One of 0
/// alone has a scale of 0, and so the zero point that NaN is converted to.
parameters common_range(const parameters &a, const parameters &b, std::int32_t lowest) {
    const auto real = [](const parameters &p, std::int32_t code) {
        return static_cast<float>(code - p.zero_point) * p.scale;
    };
    const std::int32_t highest = lowest + std::numeric_limits<std::uint8_t>::max();
    const float low = std::max(real(a, lowest), real(b, lowest)),
                high = std::min(real(a, highest), real(b, highest));
    const float scale = (high - low) / static_cast<float>(highest - lowest);
    if (!(scale > 0))
        return {0.f, 0};
    const float zero_point = std::round(static_cast<float>(lowest) - low / scale);
    return {scale, static_cast<std::int32_t>(
                       std::clamp(zero_point, static_cast<float>(lowest), static_cast<float>(highest)))};
}

class double_pairs {
public:
    explicit double_pairs(ort_graph &g) : g_(g) {}

    /// i is the DequantizeLinear of the first pair.
    void merge_behind(node_id i) {
        if (merged_.count(i) != 0 || !has_parameters(i, "DequantizeLinear"))
            return;
        const node_id above = g_.producer(g_.input(i, 0)), below = g_.only_consumer(g_.output(i));
        if (!has_parameters(above, "QuantizeLinear") || g_.only_consumer(g_.output(above)) != i ||
            !has_parameters(below, "QuantizeLinear") || !are_a_pair(above, i))
            return;
        const std::vector<node_id> last = g_.consumers(g_.output(below));
        if (last.empty() || !all_of(last, [&](node_id dq) {
                return has_parameters(dq, "DequantizeLinear") && are_a_pair(below, dq);
            }))
            return;
        const quantized first = g_.written(above), second = g_.written(below);
        if (g_.type(first.codes) != g_.type(second.codes))
            return;
        if (!are_almost_equal(first, second)) {
            const bool is_signed = g_.type(first.codes) == data_type::s8;
            const parameters common = common_range({g_.scale_of(first), g_.zero_point_of(first)},
                                                   {g_.scale_of(second), g_.zero_point_of(second)},
                                                   is_signed ? std::numeric_limits<std::int8_t>::min() : 0);
            for (const node_id dq : last)
                set_parameters(dq, common);
            set_parameters(above, common);
        }
        for (const node_id dq : last)
            g_.set_input(dq, 0, first.codes);
        merged_.insert(last.begin(), last.end());
        g_.remove(i);
        g_.remove(below);
    }

private:
    // ---- Parameters

    /// Whether a node is one of two and names scale and zero point, both constant and one.
    bool has_parameters(node_id i, std::string_view op) const {
        const auto is_one = [&](tensor_id t) {
            return t && g_.tensor_at(t).dims.size() <= 1 && element_count(g_.tensor_at(t).dims) == 1;
        };
        return g_.is(i, op) && g_.at(i).outputs.size() == 1 && is_one(g_.input(i, 1)) &&
               is_one(g_.input(i, 2)) && g_.is_plain(i) && is_code(g_.type(g_.input(i, 2)));
    }
    bool are_a_pair(node_id q, node_id dq) const { return g_.are_equal(g_.written(q), g_.read(dq)); }

    /// ONNX Runtime's question.
    bool are_almost_equal(const quantized &a, const quantized &b) const {
        return g_.zero_point_of(a) == g_.zero_point_of(b) &&
               static_cast<double>(std::abs(g_.scale_of(a) - g_.scale_of(b))) < 1e-20;
    }

    /// Under the dimensions of those that were there.
    void set_parameters(node_id i, const parameters &p) {
        const tensor_id scale = g_.input(i, 1), zero = g_.input(i, 2);
        g_.set_input(i, 1,
                     g_.add_constant("scale of two pairs", data_type::f32, g_.dims(scale),
                                     bytes_of<float>({p.scale})));
        g_.set_input(i, 2,
                     g_.add_constant("zero point of two pairs", g_.type(zero), g_.dims(zero),
                                     {static_cast<std::uint8_t>(p.zero_point)}));
    }

    ort_graph &g_;
    std::set<node_id> merged_; ///< which another pair behind has to wait for, until the next step
};

} // namespace

void split_scale_of_zero(ort_graph &g, node_id i) {
    const auto is_zero = [&](tensor_id t) { return t && g.number(t) == 0.f; };
    const auto constant = [&](float value) { return g.add_floats("scale of 0", {}, {value}); };
    const bool quantizes = g.is(i, "QuantizeLinear");
    if (quantizes || g.is(i, "DequantizeLinear")) {
        if (!is_zero(g.input(i, 1)))
            return;
        g.set_input(i, 1, constant(1.f));
        const tensor_id real = quantizes ? g.input(i, 0) : g.output(i), other = g.add_like(real);
        node n = g.at(i);
        (quantizes ? n.inputs : n.outputs)[0] = other;
        g.replace(i, std::move(n));
        if (quantizes)
            g.insert_before(i, {"Div", {real, constant(0.f)}, {other}, {}});
        else
            g.insert_after(i, {"Mul", {other, constant(0.f)}, {real}, {}});
        return;
    }
    constexpr float nearly_zero = 1e-30f; // sums do not see it, and quotients by it are finite
    const scaled_operands &operands = g.facts(i).scaled;
    bool are_enlarged = false;
    const auto enlarge = [&](std::size_t k) {
        if (!is_zero(g.input(i, k)))
            return;
        g.set_input(i, k, constant(nearly_zero));
        are_enlarged = true;
    };
    const std::size_t inputs = g.at(i).inputs.size(); // of which any number may be operands
    for (std::size_t k = 0, scale = operands.first + 1; k < operands.count && scale < inputs; k++, scale += 3)
        enlarge(scale);
    if (operands.dst_scale != scaled_operands::none && operands.dst_scale < inputs)
        enlarge(operands.dst_scale);
    else if (are_enlarged && g.is_float(g.output(i))) { // then what the operator gives is 0
        const tensor_id real = g.output(i), other = g.add_like(real);
        node n = g.at(i);
        n.outputs[0] = other;
        g.replace(i, std::move(n));
        g.insert_after(i, {"Mul", {other, constant(0.f)}, {real}, {}});
    }
}

void remove_double_pairs(ort_graph &g) {
    double_pairs pairs(g);
    g.for_each([&](node_id i) { pairs.merge_behind(i); });
}

} // namespace octet::model::ort
