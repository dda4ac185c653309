// Shapes of what makes integers out of shapes, and tensors out of integers; their values are known_integers.cpp's.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "network/onnx/shapes/shapes.hpp"

namespace octet::model::shape {

void shape_of(node_shapes &n) {
    const auto rank = static_cast<std::int64_t>(n.dims(0).size());
    const auto index = [&](const char *name, std::int64_t fallback) {
        const std::int64_t given = n.integer(name, fallback);
        return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
    };
    n.set_output(data_type::s32, {std::max<std::int64_t>(0, index("end", rank) - index("start", 0))});
}

void size_of(node_shapes &n) { n.set_output(data_type::s32, {}); }

namespace {

/// The number of elements of a range of three constant floats, as ONNX Runtime counts them.
dim_t range_of_floats(const node_shapes &n) {
    double values[3];
    for (const std::size_t i : {0u, 1u, 2u}) {
        const tensor &t = n.input(i);
        if (!t.is_constant || t.type != data_type::f32)
            refuse_as_unimplemented("input " + std::to_string(i) + " ('" + t.name +
                                    "') is no constant of f32, as the range of floats needs it");
        values[i] = static_cast<double>(values_of<float>(t)[0]);
    }
    const double count = std::ceil((values[1] - values[0]) / values[2]);
    if (!(count <= static_cast<double>(max_size)))
        refuse("the range from " + std::to_string(values[0]) + " to " + std::to_string(values[1]) +
               " in steps of " + std::to_string(values[2]) + " has no length below 2^31");
    return static_cast<dim_t>(std::max(count, 0.));
}

} // namespace

void range(node_shapes &n) {
    for (const std::size_t i : {0u, 1u, 2u})
        if (element_count(n.dims(i)) != 1)
            refuse("input " + std::to_string(i) + " has dimensions " + to_text(n.dims(i)) +
                   ", allowed is a scalar");
    if (n.input(0).type == data_type::f32)
        return n.set_output(data_type::f32, {range_of_floats(n)});
    const std::int64_t start = n.constant(0)[0], limit = n.constant(1)[0], delta = n.constant(2)[0];
    if (delta == 0)
        refuse("input 2, the step, is 0");
    const std::int64_t distance = delta > 0 ? limit - start : start - limit, step = std::abs(delta);
    n.set_output(data_type::s32, {std::max<std::int64_t>(0, (distance + step - 1) / step)});
}

void constant_of_shape(node_shapes &n) {
    const memory::dims shape = n.constant(0);
    if (shape.size() > max_ndims || std::any_of(shape.begin(), shape.end(), [](dim_t d) { return d < 0; }))
        refuse("the shape " + to_text(shape) + " is none");
    const bool has_value = n.has_attribute("value"), is_integer = has_value && n.has_integer("value");
    if (has_value && !is_integer && !n.has_real("value"))
        refuse_as_unimplemented("attribute 'value' is " + n.text("value", "no number") +
                                ", allowed: one FLOAT, INT32, INT64, INT8, UINT8 or BOOL");
    n.set_output(is_integer ? data_type::s32 : data_type::f32, shape);
}

/// The places of elements that are not 0: an index for each dimension and place.
void non_zero(node_shapes &n) {
    const std::vector<std::int64_t> values = n.constant(0);
    const auto zeros = std::count(values.begin(), values.end(), 0);
    n.set_output(data_type::s32,
                 {static_cast<dim_t>(n.dims(0).size()), static_cast<dim_t>(values.size()) - zeros});
}

/// `to` counts types as ONNX does.
void cast(node_shapes &n) {
    if (!n.has_attribute("to"))
        refuse("attribute 'to' is missing");
    switch (n.integer("to", 0)) {
    case 1:
        return n.set_output(data_type::f32, n.dims(0));
    case 2: // UINT8
    case 9: // BOOL
        return n.set_output(data_type::u8, n.dims(0));
    case 3:
        return n.set_output(data_type::s8, n.dims(0));
    case 10: // FLOAT16
        return n.set_output(data_type::f16, n.dims(0));
    case 6: // INT32
    case 7: // INT64
        return n.set_output(data_type::s32, n.dims(0));
    default:
        refuse_as_unimplemented("attribute 'to' is type " + std::to_string(n.integer("to", 0)) +
                                ", allowed: FLOAT, FLOAT16, UINT8, INT8, INT32, INT64, BOOL");
    }
}

} // namespace octet::model::shape
