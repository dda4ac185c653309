// A chain of fused operators as post-ops of the primitive that accumulates. A function of single codes is a clip
// or a table of its 256 results, which the operator itself computes when the network is made, so no function is
// written twice; a sum is the framework's own, on the codes that lie in the output's buffer.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/fused.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "network/lower/onnx.hpp"
#include "network/lower/tflite.hpp"

namespace octet::model {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::int32_t lowest_code(data_type type) { return type == data_type::s8 ? -128 : 0; }

/// Output codes of a function for all input codes, lowest first.
std::vector<std::int32_t> table_of(const lowering &l, const node &f, data_type type) {
    std::vector<std::uint8_t> codes(256);
    std::iota(codes.begin(), codes.end(), static_cast<std::uint8_t>(lowest_code(type)));
    const std::vector<std::uint8_t> results =
        l.get_evaluator()(l.get_graph(), f, 0, codes, memory::dims{256});
    if (results.size() != codes.size())
        refuse("fused " + f.op + " is no function of single codes");
    std::vector<std::int32_t> table;
    for (const std::uint8_t byte : results)
        table.push_back(type == data_type::s8 ? static_cast<std::int8_t>(byte) : byte);
    return table;
}

/// The interval that a table clips to, if that is all it does.
std::optional<code_interval> limits_of(const std::vector<std::int32_t> &table, std::int32_t lowest) {
    const auto [low, high] = std::minmax_element(table.begin(), table.end());
    for (std::size_t i = 0; i < table.size(); i++)
        if (table[i] != std::clamp(lowest + static_cast<std::int32_t>(i), *low, *high))
            return {};
    return code_interval{*low, *high, false};
}

/// XNNPACK's have 21 bits and one shift, which the larger ratio of scales decides.
add_multipliers sum_multipliers(requantization_rule rule, float a, float b, float y) {
    if (rule != xnnpack_rule)
        return add_multipliers_of(rule, a, b, y);
    const float of_a = a / y, of_b = b / y;
    const int shift = 20 - std::ilogb(std::max(of_a, of_b));
    const auto weight = [&](float ratio) {
        return fixed_point_multiplier{static_cast<std::int32_t>(std::nearbyint(std::ldexp(ratio, shift))), 0,
                                      0};
    };
    return {weight(of_a), weight(of_b), {1, shift, 0}};
}

/// Grows a chain of post-ops. Values are codes less `zero_point`.
class chain {
public:
    chain(primitive_attr &attr, const lowering &l)
        : l_(l), type_(l.result().type), lowest_(lowest_code(type_)), ops_(attr.get_post_ops()) {
        const auto found = attr.zero_points().find(OCTET_ARG_DST);
        zero_point_ = found == attr.zero_points().end() ? 0 : found->second.values.at(0);
    }

    void append_function(const node &f) {
        const std::vector<std::int32_t> table = table_of(l_, f, type_);
        if (const auto limits = limits_of(table, lowest_)) {
            ops_.append_clip(limits->low - zero_point_, limits->high - zero_point_);
        } else {
            ops_.append_add(zero_point_);
            zero_point_ = 0;
            std::array<std::uint8_t, 256> entries;
            std::transform(table.begin(), table.end(), entries.begin(),
                           [](std::int32_t code) { return static_cast<std::uint8_t>(code); });
            ops_.append_table({type_, entries});
        }
    }

    /// The addition of the codes so far and those in the output's buffer, whichever is a.
    void append_sum(const node &add) {
        l_.get_graph().framework == "tflite" ? append_tflite_sum(add) : append_qlinear_sum(add);
    }

    void finish(primitive_attr &attr) const {
        attr.set_post_ops(ops_);
        attr.set_zero_points(OCTET_ARG_DST, 0, {zero_point_});
    }

private:
    void append_tflite_sum(const node &add) {
        const lowering as_node = l_.of(add);
        const linear_codes x = per_tensor(as_node.input(index(add.result_input)), "an input of ADD"),
                           d = per_tensor(as_node.input(index(add.stored_input)), "an input of ADD"),
                           y = per_tensor(as_node.output(), "the output of ADD");
        const requantization_rule rule = elementwise_rule(as_node);
        if (zero_point_ != x.zero_point) // behind a table of codes
            ops_.append_add(zero_point_ - x.zero_point);
        ops_.append_scaled_add(
            {sum_multipliers(rule, x.scale, d.scale, y.scale), x.zero_point, d.zero_point, rule});
        const code_interval range =
            activation_interval(as_node.text("activation", "NONE"), as_node.output(), rule);
        zero_point_ = y.zero_point;
        if (!range.is_whole)
            ops_.append_clip(range.low - zero_point_, range.high - zero_point_);
    }

    void append_qlinear_sum(const node &add) {
        const lowering as_node = l_.of(add);
        const linear_parameters a = per_tensor_parameters(as_node, 1, 2),
                                b = per_tensor_parameters(as_node, 4, 5),
                                y = per_tensor_parameters(as_node, 6, 7);
        const qlinear_add_factors f =
            qlinear_add_factors_of(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point);
        if (add.result_input == 0)
            ops_.append_qlinear_add({f.scale_a, f.scale_b, f.shift, zero_point_, false});
        else
            ops_.append_qlinear_add({f.scale_b, f.scale_a, f.shift, zero_point_, true});
        zero_point_ = 0; // part of the shift
    }

    const lowering &l_;
    const data_type type_;
    const std::int32_t lowest_;
    post_ops ops_;
    std::int32_t zero_point_;
};

} // namespace

void append_fused(primitive_attr &attr, const lowering &l) {
    const node &host = l.get_node();
    if (host.fused.empty())
        return;
    chain stages(attr, l);
    for (const node &f : host.fused) {
        if (f.stored_input < 0) {
            stages.append_function(f);
            continue;
        }
        const auto place = std::find(host.inputs.begin(), host.inputs.end(), f.inputs[index(f.stored_input)]);
        l.overwrite_input(static_cast<std::size_t>(place - host.inputs.begin()));
        stages.append_sum(f);
    }
    stages.finish(attr);
}

} // namespace octet::model
