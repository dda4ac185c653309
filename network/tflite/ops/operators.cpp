// Implements the parts that TFLite's operators share; see operators.hpp.
// SPDX-License-Identifier: Apache-2.0
#include "network/tflite/ops/operators.hpp"

#include <algorithm>
#include <cmath>

#include "network/ops/slice_gather_extreme.hpp"

namespace octet::model {
namespace {

/// Returns the code of a real number: z + rha(f32(real / s)).
std::int32_t code_of(float real, const linear_codes &q) {
    constexpr float farthest = 1e6f; // outside all codes; keeps a tiny scale from overflowing the conversion
    return q.zero_point +
           static_cast<std::int32_t>(std::clamp(std::round(real / q.scale), -farthest, farthest));
}

/// Returns XNNPACK's code of a real number: rne(clamp(f32(f32(real / s) + z))), clamped to the lowest and the
/// highest code of the type.
std::int32_t xnnpack_code_of(float real, const linear_codes &q, const code_interval &all) {
    const float code = real / q.scale + static_cast<float>(q.zero_point);
    return static_cast<std::int32_t>(
        std::nearbyint(std::clamp(code, static_cast<float>(all.low), static_cast<float>(all.high))));
}

std::int64_t positive(const lowering &l, const std::string &name, std::int64_t fallback) {
    const std::int64_t value = l.integer(name, fallback);
    if (value < 1)
        refuse("attribute '" + name + "' is " + std::to_string(value) + ", allowed is 1 or more");
    return value;
}

} // namespace

linear_codes per_tensor(const tensor &t, const std::string &who) {
    if (t.quant.scales.size() != 1)
        refuse(who + " ('" + t.name + "') has " + std::to_string(t.quant.scales.size()) +
               " scales, allowed is 1");
    return {t.quant.scales[0], t.quant.zero_points[0]};
}

code_interval activation_interval(const std::string &activation, const tensor &dst,
                                  requantization_rule rule) {
    const code_interval all =
        dst.type == data_type::u8 ? code_interval{0, 255, true} : code_interval{-128, 127, true};
    if (activation == "NONE")
        return all;
    code_interval range = all;
    const linear_codes q = per_tensor(dst, "the output");
    const auto bound = [&](float real) {
        return is_xnnpack(rule) ? xnnpack_code_of(real, q, all) : code_of(real, q);
    };
    if (activation == "RELU" || activation == "RELU6")
        range.low = std::max(all.low, q.zero_point);
    else if (activation == "RELU_N1_TO_1")
        range.low = std::max(all.low, bound(-1.f));
    else
        refuse_as_unimplemented("fused activation " + activation +
                                " is not supported, allowed: NONE, RELU, RELU6, RELU_N1_TO_1");
    if (activation != "RELU")
        range.high = std::min(all.high, bound(activation == "RELU6" ? 6.f : 1.f));
    range.is_whole = range.low == all.low && range.high == all.high;
    return range;
}

window make_window(const lowering &l, char axis, dim_t size, dim_t kernel) {
    const std::string suffix = std::string("_") + axis;
    window w{kernel, l.integer("stride" + suffix), positive(l, "dilation" + suffix, 1), 0, 0, 0};
    positive(l, "stride" + suffix, 1);
    const dim_t extent = (kernel - 1) * w.dilation + 1;
    const std::string padding = l.text("padding");
    if (padding == "SAME")
        w.positions = (size + w.stride - 1) / w.stride;
    else if (padding == "VALID")
        w.positions = (size - extent + w.stride) / w.stride;
    else if (padding == "EXPLICIT") {
        w.padding_l = l.integer("padding_before" + suffix);
        w.padding_r = l.integer("padding_after" + suffix);
        w.positions = (size + w.padding_l + w.padding_r - extent + w.stride) / w.stride;
    } else
        refuse("attribute 'padding' is '" + padding + "', allowed: SAME, VALID");
    if (kernel < 1 || size < 1 || w.positions < 1)
        refuse("a window of " + std::to_string(extent) + " elements does not fit into " +
               std::to_string(size));
    if (padding == "EXPLICIT")
        return w;
    const dim_t padding_total = std::max<dim_t>((w.positions - 1) * w.stride + extent - size, 0);
    w.padding_l = padding_total / 2;
    w.padding_r = padding_total - w.padding_l;
    return w;
}

void need_rank(const tensor &t, const std::string &who, std::size_t rank) {
    if (t.dims.size() != rank)
        refuse(who + " ('" + t.name + "') has dimensions " + to_text(t.dims) + ", allowed are " +
               std::to_string(rank));
}

void need_equal_quantization(const tensor &a, const tensor &b, const std::string &who) {
    if (a.type != b.type)
        refuse(who + " differ in type: " + type_text(a) + " and " + type_text(b));
    if (a.quant.scales != b.quant.scales || a.quant.zero_points != b.quant.zero_points)
        refuse(who + " differ in scale or zero point, which this operator does not allow");
}

paddings read_paddings(const lowering &l, std::size_t rank) {
    const std::vector<std::int64_t> values = l.constant_integers(1);
    if (values.size() != 2 * rank)
        refuse("the paddings have " + std::to_string(values.size()) + " values, " + std::to_string(rank) +
               " dimensions need " + std::to_string(2 * rank));
    paddings result;
    for (std::size_t i = 0; i < values.size(); i++) {
        if (values[i] < 0)
            refuse("a padding is " + std::to_string(values[i]) + ", allowed is 0 or more");
        (i % 2 == 0 ? result.before : result.after).push_back(values[i]);
    }
    return result;
}

std::vector<bool> named_dims(const lowering &l, std::size_t input, std::size_t rank) {
    std::vector<bool> is_named(rank);
    for (const std::int64_t axis : l.constant_integers(input))
        is_named[axis_among(axis, rank)] = true;
    return is_named;
}

std::vector<std::uint8_t> code_of_zero(const tensor &t) {
    const std::int32_t code = t.quant.is_set() ? per_tensor(t, "'" + t.name + "'").zero_point : 0;
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(&code); // little-endian; 0 is also f32's zero
    return {bytes, bytes + memory::data_type_size(t.type)};
}

memory::desc nhwc_desc(const tensor &t) {
    const memory::dims &d = t.dims;
    return memory::desc({d.at(0), d.at(3), d.at(1), d.at(2)}, t.type, format_tag::nhwc);
}

void set_zero_point(primitive_attr &attr, int arg, std::int32_t zero_point) {
    if (zero_point != 0)
        attr.set_zero_points(arg, 0, {zero_point});
}

void append_clip(primitive_attr &attr, const code_interval &range, std::int32_t zero_point) {
    if (range.is_whole)
        return;
    post_ops ops;
    ops.append_clip(range.low - zero_point, range.high - zero_point);
    attr.set_post_ops(ops);
}

} // namespace octet::model
