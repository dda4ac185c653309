// Each condition as the source of the delegate asks it, over the tensors of one node.
// SPDX-License-Identifier: Apache-2.0
#include "network/tflite/profiles/conditions.hpp"

#include <algorithm>
#include <cmath>

namespace octet::model {
namespace {

constexpr std::size_t most_dims = 6;
constexpr float least_ratio_of_codes = 0x1p-8f, largest_ratio_of_codes = 0x1p7f;

/// The numbers of a product's inputs; `channel_axis` is the filter's dimension of output channels.
struct product_inputs {
    std::size_t src = 0, filter = 1, bias = 2;
    std::int32_t channel_axis = 0;
    bool needs_bias = false;
};

product_inputs inputs_of(const std::string &op) {
    if (op == "TRANSPOSE_CONV")
        return {2, 1, 3, 0, false};
    if (op == "DEPTHWISE_CONV_2D")
        return {0, 1, 2, 3, true};
    return {0, 1, 2, 0, op == "CONV_2D"};
}

/// An activation of 8 bits, with one scale.
bool is_activation(const tensor &t) {
    return is_code(t.type) && t.quant.scales.size() == 1 && t.dims.size() <= most_dims;
}
/// Whether the first `count` inputs and the result are activations of 8 bits, all of one type.
bool are_codes_of_one_type(const lowering &l, std::size_t count) {
    const tensor &y = l.result();
    for (std::size_t i = 0; i < count; i++)
        if (!l.has_input(i) || !is_activation(l.input(i)) || l.input(i).type != y.type)
            return false;
    return is_activation(y);
}

bool is_constant(const lowering &l, std::size_t i) { return l.has_input(i) && l.input(i).is_constant; }
float scale_of(const tensor &t) { return t.quant.scales[0]; }
std::int32_t zero_point_of(const tensor &t) { return t.quant.zero_points[0]; }
bool have_equal_quantization(const tensor &a, const tensor &b) {
    return scale_of(a) == scale_of(b) && zero_point_of(a) == zero_point_of(b);
}
bool are_zero(const std::vector<std::int32_t> &zero_points) {
    return std::all_of(zero_points.begin(), zero_points.end(), [](std::int32_t z) { return z == 0; });
}

/// Whether XNNPACK takes the scales of weights. s8: one, or one per output channel, with zero points 0; u8: one.
bool has_delegated_scales(const tensor &filter, std::int32_t channel_axis) {
    const std::size_t scales = filter.quant.scales.size();
    if (filter.type == data_type::u8)
        return scales == 1;
    const auto axis = static_cast<std::size_t>(channel_axis);
    const bool fits = scales == 1 || (filter.quant.axis == channel_axis && axis < filter.dims.size() &&
                                      static_cast<dim_t>(scales) == filter.dims[axis]);
    return fits && are_zero(filter.quant.zero_points);
}

/// s_x / s_y of a function of codes.
float ratio_of(const lowering &l) { return scale_of(l.input(0)) / scale_of(l.result()); }
bool is_ratio_of_codes(float ratio) {
    return ratio >= least_ratio_of_codes && ratio <= largest_ratio_of_codes;
}

} // namespace

namespace conditions {

bool product(const lowering &l) {
    const product_inputs at = inputs_of(l.get_node().op);
    if (!l.has_input(at.src) || !is_constant(l, at.filter))
        return false;
    const tensor &x = l.input(at.src), &w = l.input(at.filter), &y = l.result();
    const bool has_bias = l.has_input(at.bias),
               fits = has_bias ? is_constant(l, at.bias) && l.input(at.bias).quant.axis == 0 : !at.needs_bias;
    return is_activation(x) && is_activation(y) && x.type == y.type && w.type == x.type &&
           has_delegated_scales(w, at.channel_axis) && fits;
}

bool u8_product(const lowering &l) { return l.result().type == data_type::u8 && product(l); }

bool matmul(const lowering &l) {
    return are_codes_of_one_type(l, 2) && l.result().type == data_type::s8 && zero_point_of(l.input(1)) == 0;
}

bool hybrid(const lowering &l) {
    const product_inputs at = inputs_of(l.get_node().op);
    if (!l.has_input(at.src) || !l.has_input(at.filter))
        return false;
    const data_type w = l.input(at.filter).type;
    return l.input(at.src).type == data_type::f32 && (w == data_type::s8 || w == data_type::s4);
}

bool delegated_hybrid(const lowering &l) {
    const std::string &op = l.get_node().op;
    const product_inputs at = inputs_of(op);
    if (!hybrid(l) || !is_constant(l, at.filter) || (l.has_input(at.bias) && !is_constant(l, at.bias)))
        return false;
    const tensor &w = l.input(at.filter);
    const bool takes_4_bits =
        op != "CONV_2D" && op != "TRANSPOSE_CONV" && !w.dims.empty() && w.dims.back() % 2 == 0;
    return are_zero(w.quant.zero_points) && (w.type == data_type::s8 || takes_4_bits);
}

bool few_bits(const lowering &l) {
    return l.has_input(0) && l.has_input(1) && l.input(0).type == data_type::s8 &&
           l.input(1).type == data_type::s4;
}

bool delegated_few_bits(const lowering &l) {
    if (!few_bits(l) || !is_constant(l, 1) || !has_delegated_scales(l.input(1), 0))
        return false;
    const bool has_known_bias = !l.has_input(2) || (is_constant(l, 2) && l.input(2).quant.axis == 0);
    return has_known_bias && l.result().type == data_type::s8 && l.input(1).dims.back() % 2 == 0;
}

bool sum(const lowering &l) {
    const auto fits = [&](std::size_t i) {
        const float ratio = scale_of(l.input(i)) / scale_of(l.result());
        return ratio >= 0x1p-10f && ratio < 0x1p8f;
    };
    return are_codes_of_one_type(l, 2) && fits(0) && fits(1);
}

bool mul(const lowering &l) {
    if (!are_codes_of_one_type(l, 2))
        return false;
    const float ratio = scale_of(l.input(0)) * scale_of(l.input(1)) / scale_of(l.result());
    return ratio >= 0x1p-16f && ratio < 0x1p8f;
}

bool from_floats(const lowering &l) {
    return l.has_input(0) && l.input(0).type == data_type::f32 && is_activation(l.result());
}

bool floats_to_floats(const lowering &l) {
    return l.has_input(0) && l.input(0).type == data_type::f32 && l.result().type == data_type::f32;
}

bool requantize(const lowering &l) { return are_codes_of_one_type(l, 1) && is_ratio_of_codes(ratio_of(l)); }

bool leaky_relu(const lowering &l) {
    if (!are_codes_of_one_type(l, 1) || !l.has_attribute("alpha"))
        return false;
    const float alpha = l.real("alpha"), negative = ratio_of(l) * alpha;
    return std::isnormal(alpha) && is_ratio_of_codes(ratio_of(l)) && negative >= -0x1.fffp6f &&
           negative <= 128.f && std::fabs(negative) >= least_ratio_of_codes;
}

bool codes(const lowering &l) { return are_codes_of_one_type(l, 1); }
bool s8_codes(const lowering &l) { return codes(l) && l.result().type == data_type::s8; }
bool s8_result(const lowering &l) { return l.result().type == data_type::s8; }
bool of_8_bits(const lowering &l) { return is_code(l.input(0).type) && is_code(l.result().type); }

/// The file's own numbers decide: -3 and -2 are other axes to it.
bool spatial_mean(const lowering &l) {
    if (!codes(l) || !is_constant(l, 1) || l.input(0).dims.size() != 4 || l.integer("keep_dims", 0) == 0)
        return false;
    const std::vector<std::int64_t> axes = l.constant_integers(1);
    return axes == std::vector<std::int64_t>{1, 2} || axes == std::vector<std::int64_t>{2, 1};
}
bool spatial_mean_of_s8(const lowering &l) { return spatial_mean(l) && s8_result(l); }
bool constant_axes(const lowering &l) { return codes(l) && is_constant(l, 1); }

bool max_pool(const lowering &l) {
    return codes(l) && have_equal_quantization(l.input(0), l.result()) &&
           l.integer("stride_h") <= l.integer("filter_h") && l.integer("stride_w") <= l.integer("filter_w");
}

bool constant_size(const lowering &l) {
    return codes(l) && have_equal_quantization(l.input(0), l.result()) && is_constant(l, 1);
}

bool u8_of_other_scales(const lowering &l) {
    if (!is_activation(l.result()) || l.result().type != data_type::u8)
        return false;
    for (std::size_t i = 0; i < l.input_count(); i++)
        if (is_activation(l.input(i)) && !have_equal_quantization(l.input(i), l.result()))
            return true;
    return false;
}

} // namespace conditions

bool fails_in_xnnpack(const lowering &l) {
    const std::string &op = l.get_node().op;
    if (op == "BATCH_MATMUL")
        return are_codes_of_one_type(l, 2) && l.result().type == data_type::u8;
    if (op != "CONV_2D" && op != "DEPTHWISE_CONV_2D" && op != "FULLY_CONNECTED" && op != "TRANSPOSE_CONV")
        return false;
    if (!conditions::product(l))
        return false;
    const product_inputs at = inputs_of(op);
    const std::vector<float> &scales = l.input(at.filter).quant.scales;
    return std::any_of(scales.begin(), scales.end(), [&](float scale) {
        return !(scale_of(l.input(at.src)) * scale / scale_of(l.result()) < 256.f);
    });
}

} // namespace octet::model
