// Scales and zero points that are inputs of the nodes, constant ones.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/operators.hpp"

#include <algorithm>

namespace octet::model {
namespace {

const tensor &constant(const lowering &l, std::size_t i, std::initializer_list<data_type> types) {
    const tensor &t = l.input(i, types);
    if (!t.is_constant)
        refuse_as_unimplemented("input " + std::to_string(i) + " ('" + t.name +
                                "') is computed, allowed is a constant");
    if (t.dims.size() > 1 || t.data.empty())
        refuse("input " + std::to_string(i) + " ('" + t.name + "') has dimensions " + to_text(t.dims) +
               ", allowed is a scalar or one dimension");
    return t;
}

template <typename T> std::vector<std::int32_t> widened(const tensor &t) {
    const std::vector<T> codes = values_of<T>(t);
    return {codes.begin(), codes.end()};
}

} // namespace

std::vector<float> constant_scales(const lowering &l, std::size_t i) {
    return values_of<float>(constant(l, i, {data_type::f32}));
}

std::vector<std::int32_t> constant_zero_points(const lowering &l, std::size_t i) {
    if (!l.has_input(i))
        return {0};
    const tensor &t = constant(l, i, {data_type::u8, data_type::s8, data_type::s32});
    if (t.type == data_type::u8)
        return widened<std::uint8_t>(t);
    if (t.type == data_type::s8)
        return widened<std::int8_t>(t);
    return widened<std::int32_t>(t);
}

linear_parameters per_tensor_parameters(const lowering &l, std::size_t scale_input,
                                        std::size_t zero_point_input) {
    const std::vector<float> scales = constant_scales(l, scale_input);
    const std::vector<std::int32_t> zero_points = constant_zero_points(l, zero_point_input);
    if (scales.size() != 1 || zero_points.size() != 1)
        refuse_as_unimplemented("input " + std::to_string(scale_input) + " has " +
                                std::to_string(scales.size()) + " scales and " +
                                std::to_string(zero_points.size()) + " zero points, allowed is 1");
    return {scales.front(), zero_points.front()};
}

void set_parameters(primitive_attr &attr, int arg, const linear_parameters &q) {
    attr.set_scales(arg, 0, {q.scale});
    set_zero_points(attr, arg, 0, {q.zero_point});
}

void set_zero_points(primitive_attr &attr, int arg, int channel_mask,
                     const std::vector<std::int32_t> &values) {
    const bool all_zero = std::all_of(values.begin(), values.end(), [](std::int32_t zp) { return zp == 0; });
    if (!all_zero)
        attr.set_zero_points(arg, values.size() == 1 ? 0 : channel_mask, values);
}

bool add_pads(node &conv, const image_padding &p) {
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

} // namespace octet::model
