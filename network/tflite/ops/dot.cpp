// TFLite's accumulating operators: acc = sum (x - zp_x) * (w - zp_w) + bias, multiplied by s_x * s_w / s_y,
// clipped to the fused activation's range. They differ in how their tensors map to Octet's dimensions and in
// the precision of the factor: all double, except a float32 product for FULLY_CONNECTED with one scale and
// BATCH_MATMUL.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "network/shapes/next_weights.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/groups.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"
#include "octet/contract.hpp"

namespace octet::model {
namespace {

constexpr std::size_t weights_input = 1;

/// The roles of an operator's tensors and numbers.
struct dot_roles {
    scale_derivation derivation;
    int dst_mask, weights_mask; ///< of the output channel
    int channel_axis;           ///< of the weights tensor; -1: one scale only
    std::string activation;
    std::size_t src_input = 0, bias_input = 2;
};

/// TFLite's schemes: s8 with symmetric weights, and the older u8 with a zero point in the weights.
const tensor &code_input(const lowering &l, std::size_t i) {
    return l.input(i, {data_type::s8, data_type::u8});
}

/// Those of s8 may have 4 bits.
const tensor &weights_of(const lowering &l, const tensor &src) {
    if (src.type != data_type::s8)
        return l.input(weights_input, {src.type});
    const tensor &w = l.input(weights_input, {data_type::s8, data_type::s4});
    if (w.type == data_type::s4 && !w.is_constant)
        refuse_as_unimplemented("the weights ('" + w.name +
                                "') have 4 bits and are computed, allowed: constants");
    return w;
}

/// The multiplier of convolutions: all double with s8, from an f32 product in the older scheme.
scale_derivation convolution_derivation(const tensor &src) {
    return src.type == data_type::u8 ? scale_derivation::tflite_f32prod : scale_derivation::tflite_f64;
}

dim_t channels_of(const tensor &weights, const dot_roles &roles) {
    return roles.channel_axis < 0 ? 1 : weights.dims.at(static_cast<std::size_t>(roles.channel_axis));
}

/// Worst |acc| per output channel, from the weights; only constant weights are known.
std::vector<std::int64_t> magnitudes(const lowering &l, const dot_roles &roles) {
    const tensor &weights = l.input(weights_input);
    if (!weights.is_constant || weights.type == data_type::s4)
        refuse("rule gemmlowp_legacy_scale needs constant weights of 8 bits");
    std::size_t inner = 1; // elements between two neighbours along the channel axis
    for (std::size_t d = weights.dims.size();
         roles.channel_axis >= 0 && --d > static_cast<std::size_t>(roles.channel_axis);)
        inner *= static_cast<std::size_t>(weights.dims[d]);
    const auto channels = static_cast<std::size_t>(channels_of(weights, roles));
    std::vector<std::int64_t> bounds(channels);
    for (std::size_t i = 0; i < weights.data.size(); i++) {
        const int code =
            weights.type == data_type::u8 ? weights.data[i] : static_cast<std::int8_t>(weights.data[i]);
        bounds[i / inner % channels] += 255 * std::abs(code - weights.quant.zero_points[0]);
    }
    if (l.has_input(roles.bias_input)) {
        const auto bias = l.constant_integers(roles.bias_input);
        for (std::size_t c = 0; c < channels; c++)
            bounds[c] += std::abs(bias.at(c));
    }
    if (weights.quant.scales.size() == 1)
        return {*std::max_element(bounds.begin(), bounds.end())};
    return bounds;
}

void check_weights_scales(const tensor &weights, const dot_roles &roles) {
    const std::size_t scales = weights.quant.scales.size();
    const dim_t channels = channels_of(weights, roles);
    if (scales != 1 && (roles.channel_axis < 0 || static_cast<dim_t>(scales) != channels ||
                        weights.quant.axis != roles.channel_axis))
        refuse("the weights ('" + weights.name + "') have " + std::to_string(scales) +
               " scales along dimension " + std::to_string(weights.quant.axis) + ", allowed are 1" +
               (roles.channel_axis < 0 ? ""
                                       : " or " + std::to_string(channels) + " along dimension " +
                                             std::to_string(roles.channel_axis)));
    for (const std::int32_t zero_point : weights.quant.zero_points)
        if (scales > 1 && zero_point != 0)
            refuse("the weights ('" + weights.name + "') have a zero point of " + std::to_string(zero_point) +
                   " with one scale per channel, allowed is 0");
}

accumulator make_accumulator(const lowering &l, const dot_roles &roles) {
    const tensor &weights = l.input(weights_input);
    check_weights_scales(weights, roles);
    accumulator acc;
    acc.src_scale = per_tensor(l.input(roles.src_input), "the input").scale;
    acc.weights_scales = weights.quant.scales;
    acc.dst_scale = per_tensor(l.result(), "the output").scale;
    acc.dst_zero_point = per_tensor(l.result(), "the output").zero_point;
    acc.derivation = l.derivation_or(roles.derivation);
    acc.dst_mask = roles.dst_mask;
    acc.weights_mask = roles.weights_mask;
    if (needs_magnitudes(l.rule()))
        acc.magnitudes = magnitudes(l, roles);
    return acc;
}

primitive_attr make_attr(const lowering &l, const dot_roles &roles) {
    const accumulator acc = make_accumulator(l, roles);
    primitive_attr attr;
    set_contract(attr, l.rule(), acc);
    attr.set_prefetched_bytes(bytes_of_next_weights(l.get_graph(), l.get_node()));
    set_zero_point(attr, OCTET_ARG_SRC, l.input(roles.src_input).quant.zero_points[0]);
    set_zero_point(attr, OCTET_ARG_WEIGHTS, l.input(weights_input).quant.zero_points[0]);
    set_zero_point(attr, OCTET_ARG_DST, acc.dst_zero_point);
    const code_interval range = activation_interval(roles.activation, l.result(), l.rule());
    if (!range.is_whole) {
        post_ops ops;
        append_range(ops, l.rule(), acc, range.low, range.high);
        attr.set_post_ops(ops);
    }
    append_fused(attr, l, append_add);
    return attr;
}

/// s32 bias in accumulator units -> real numbers, for the rule that adds it after the scale.
buffer real_bias(const lowering &l, const dot_roles &roles, const memory::desc &d) {
    const std::vector<std::int64_t> codes = l.constant_integers(roles.bias_input);
    const std::vector<float> &weights_scales = l.input(weights_input).quant.scales;
    const double src_scale = per_tensor(l.input(roles.src_input), "the input").scale;
    const memory bias(d, l.get_engine());
    for (std::size_t c = 0; c < codes.size(); c++)
        bias.map_data<float>()[c] = static_cast<float>(static_cast<double>(codes[c]) * src_scale *
                                                       weights_scales[weights_scales.size() == 1 ? 0 : c]);
    return buffer(bias);
}

/// The bias in the type that the rule adds; a zero descriptor and memory if there is none.
struct bias_argument {
    memory::desc desc;
    model::buffer buffer;
};

bias_argument make_bias(const lowering &l, const dot_roles &roles, dim_t channels) {
    if (!l.has_input(roles.bias_input))
        return {};
    const tensor &t = l.input(roles.bias_input, {data_type::s32});
    if (element_count(t.dims) != channels)
        refuse("the bias ('" + t.name + "') has dimensions " + to_text(t.dims) + ", allowed is " +
               std::to_string(channels));
    const bool is_real = has_real_bias(l.rule());
    const memory::desc d({channels}, is_real ? data_type::f32 : data_type::s32, format_tag::x);
    return {d, is_real ? real_bias(l, roles, d) : l.input_buffer(roles.bias_input, d)};
}

/// A primitive descriptor by attributes.
using make_product = std::function<primitive_desc_base(const primitive_attr &)>;

template <typename Product> make_product products_of(const lowering &l, const typename Product::desc &d) {
    return [&l, d](const primitive_attr &attr) {
        return typename Product::primitive_desc(d, attr, l.get_engine());
    };
}

std::unique_ptr<step> dot_step(const lowering &l, const dot_roles &roles, const make_product &make,
                               const memory::desc &src, const memory::desc &weights,
                               const bias_argument &bias, const memory::desc &dst) {
    return step_in_groups(l, dst, [&](primitive_step &s, const lowering &by, const auto &to) {
        const primitive_desc_base pd = make(make_attr(by, roles));
        arguments args = {
            {OCTET_ARG_SRC, l.input_buffer(roles.src_input, src)},
            {OCTET_ARG_WEIGHTS, packed_weights_of(l, weights_input, weights, pd.weights_desc())},
            {OCTET_ARG_DST, to()}};
        if (bias.buffer)
            args[OCTET_ARG_BIAS] = bias.buffer;
        s.add(pd, std::move(args));
    });
}

std::unique_ptr<step> convolution(const lowering &l, const convolution_weights &weights) {
    const tensor &src = l.input(0), &dst = l.output({src.type});
    const window h = make_window(l, 'h', src.dims[1], weights.kernel_h),
                 w = make_window(l, 'w', src.dims[2], weights.kernel_w);
    need_output_dims(l, {src.dims[0], h.positions, w.positions, weights.channels});

    const bool is_grouped = weights.desc.get_ndims() == 5;
    const dot_roles roles = {convolution_derivation(src), 1 << 1, is_grouped ? (1 << 0) + (1 << 1) : 1 << 0,
                             weights.channel_axis, l.text("activation", "NONE")};
    const bias_argument bias = make_bias(l, roles, weights.channels);
    const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct,
                                      nhwc_desc(src), planned_weights(weights.desc, l.input(weights_input)),
                                      bias.desc, nhwc_desc(dst), {h.stride, w.stride},
                                      {h.dilation - 1, w.dilation - 1}, {h.padding_l, w.padding_l},
                                      {h.padding_r, w.padding_r});
    return dot_step(l, roles, products_of<convolution_forward>(l, d), nhwc_desc(src), weights.desc, bias,
                    nhwc_desc(dst));
}

std::unique_ptr<step> lower_conv_2d(const lowering &l) {
    const tensor &src = code_input(l, 0), &weights = weights_of(l, src);
    return convolution(l, conv_2d_weights(src, weights));
}

std::unique_ptr<step> lower_depthwise_conv_2d(const lowering &l) {
    const tensor &src = code_input(l, 0), &weights = weights_of(l, src);
    return convolution(l, depthwise_weights(l, src, weights));
}

std::unique_ptr<step> lower_transpose_conv(const lowering &l) {
    dot_roles roles = {scale_derivation::tflite_f64, 1 << 1, 1 << 0, 0, l.text("activation", "NONE"), 2, 3};
    const tensor &src = code_input(l, roles.src_input), &weights = l.input(weights_input, {src.type}),
                 &dst = l.output({src.type});
    roles.derivation = convolution_derivation(src);
    const deconvolution_shape shape = transpose_conv_shape(l);
    const bias_argument bias = make_bias(l, roles, weights.dims[0]);
    const deconvolution_forward::desc d(prop_kind::forward_inference, algorithm::deconvolution_direct,
                                        nhwc_desc(src), planned_weights(shape.weights, weights), bias.desc,
                                        nhwc_desc(dst), shape.strides, shape.padding_l, shape.padding_r);
    return dot_step(l, roles, products_of<deconvolution_forward>(l, d), nhwc_desc(src), shape.weights, bias,
                    nhwc_desc(dst));
}

std::unique_ptr<step> lower_fully_connected(const lowering &l) {
    const tensor &src = code_input(l, 0), &weights = weights_of(l, src);
    const tensor &dst = l.output({src.type});
    need_rank(weights, "input 1", 2);
    if (l.text("weights_format", "DEFAULT") != "DEFAULT")
        refuse_as_unimplemented("weights_format is " + l.text("weights_format") + ", allowed is DEFAULT");
    const dim_t oc = weights.dims[0], k = weights.dims[1];
    const dim_t rows = k > 0 ? element_count(src.dims) / k : 0;
    if (rows < 1 || rows * k != element_count(src.dims))
        refuse("input " + to_text(src.dims) + " does not divide into rows of " + std::to_string(k) +
               ", as weights " + to_text(weights.dims) + " need");
    if (dst.dims.empty() || dst.dims.back() != oc || element_count(dst.dims) != rows * oc)
        need_output_dims(l, {rows, oc});

    const bool is_per_tensor = weights.quant.scales.size() == 1;
    const dot_roles roles = {is_per_tensor ? scale_derivation::tflite_f32prod : scale_derivation::tflite_f64,
                             1 << 1, 1 << 0, 0, l.text("activation", "NONE")};
    const memory::desc src_md({rows, k}, src.type, format_tag::nc),
        dst_md({rows, oc}, dst.type, format_tag::nc);
    const memory::desc weights_md({oc, k}, widened_type(weights), format_tag::oi);
    const bias_argument bias = make_bias(l, roles, oc);
    const inner_product_forward::desc d(prop_kind::forward_inference, src_md,
                                        planned_weights(weights_md, weights), bias.desc, dst_md);
    return dot_step(l, roles, products_of<inner_product_forward>(l, d), src_md, weights_md, bias, dst_md);
}

std::unique_ptr<step> lower_batch_matmul(const lowering &l) {
    const tensor &src = code_input(l, 0), &weights = l.input(weights_input, {src.type});
    const tensor &dst = l.output({src.type});
    const std::size_t rank = dst.dims.size();
    if (src.dims.size() < 2 || weights.dims.size() < 2 || src.dims.size() > rank ||
        weights.dims.size() > rank)
        refuse("matrices " + to_text(src.dims) + " and " + to_text(weights.dims) + " do not give " +
               to_text(dst.dims));
    const memory::desc src_md = matrices_desc(src.dims, src.type, rank, l.integer("adj_x", 0) != 0);
    const memory::desc weights_md =
        matrices_desc(weights.dims, weights.type, rank, l.integer("adj_y", 0) != 0);
    const memory::desc dst_md = matrices_desc(dst.dims, dst.type, rank, false);
    const dot_roles roles = {scale_derivation::tflite_f32prod, 0, 0, -1, "NONE"};
    const matmul::desc d(src_md, planned_weights(weights_md, weights), dst_md);
    return dot_step(l, roles, products_of<matmul>(l, d), src_md, weights_md, {}, dst_md);
}

// ---- Shapes, and whether rows of a batch stay apart

/// With adj_x the first of two dimensions is the one that is summed over, so it cannot be the batch.
bool batch_matmul_keeps_rows(const node_rows &o) {
    return rows::matrices(o) && (o.rank(0) >= 3 || o.integer("adj_x", 0) == 0);
}

/// The image is the last of three inputs.
bool transposed_convolution_keeps_rows(const node_rows &o) {
    return !o.depends(0) && !o.depends(1) && o.depends(2) && o.rank(2) >= 3 && !o.depends(3);
}

bool pad_explicitly(node &conv, const image_padding &p) {
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

using namespace row_words;

constexpr row tflite_dot_rows[] = {
    row("BATCH_MATMUL", 2, lower_batch_matmul, tflite_shape::batch_matmul, batch_matmul_keeps_rows)
        .part(accumulates),
    row("CONV_2D", {2, 3}, lower_conv_2d, tflite_shape::conv_2d, rows::windows)
        .part(accumulates)
        .padded(pad_explicitly),
    row("DEPTHWISE_CONV_2D", {2, 3}, lower_depthwise_conv_2d, tflite_shape::depthwise_conv_2d, rows::windows)
        .part(accumulates)
        .padded(pad_explicitly),
    row("FULLY_CONNECTED", {2, 3}, lower_fully_connected, tflite_shape::fully_connected, rows::first_input)
        .part(accumulates),
    row("TRANSPOSE_CONV", {3, 4}, lower_transpose_conv, tflite_shape::transpose_conv,
        transposed_convolution_keeps_rows)
        .part(accumulates),
};

} // namespace

buffer packed_weights_of(const lowering &l, std::size_t input, const memory::desc &plain,
                         const memory::desc &chosen) {
    const tensor &w = l.input(input);
    if (w.type != data_type::s4)
        return l.packed_input(input, plain, chosen);
    const auto count = static_cast<std::size_t>(element_count(w.dims));
    const memory codes(plain, l.get_engine()), packed(chosen, l.get_engine());
    for (std::size_t i = 0; i < count; i++) {
        const int code = w.data[i / 2] >> i % 2 * 4 & 15;
        codes.map_data<std::int8_t>()[i] = static_cast<std::int8_t>(code >= 8 ? code - 16 : code);
    }
    stream s(l.get_engine());
    reorder(codes, packed).execute(s, codes, packed);
    return buffer(packed);
}

convolution_weights conv_2d_weights(const tensor &src, const tensor &weights) {
    need_rank(src, "input 0", 4);
    need_rank(weights, "input 1", 4);
    const dim_t oc = weights.dims[0], kh = weights.dims[1], kw = weights.dims[2], ic = weights.dims[3];
    const dim_t groups = ic > 0 ? src.dims[3] / ic : 0;
    if (groups < 1 || groups * ic != src.dims[3] || oc % groups != 0)
        refuse("weights " + to_text(weights.dims) + " do not fit input " + to_text(src.dims) +
               ": groups = input channels / weights channels must be whole and divide the output channels");
    const data_type type = widened_type(weights);
    // Filter OHWI; with groups the output channels are {group, channel in group}.
    const memory::desc d =
        groups == 1 ? memory::desc({oc, ic, kh, kw}, type, format_tag::ohwi)
                    : memory::desc({groups, oc / groups, ic, kh, kw}, type,
                                   memory::dims{oc / groups * kh * kw * ic, kh * kw * ic, 1, kw * ic, ic});
    return {d, oc, kh, kw, 0};
}

convolution_weights depthwise_weights(const lowering &l, const tensor &src, const tensor &weights) {
    need_rank(src, "input 0", 4);
    need_rank(weights, "input 1", 4);
    const dim_t ic = src.dims[3], kh = weights.dims[1], kw = weights.dims[2], oc = weights.dims[3];
    const dim_t m = ic > 0 ? oc / ic : 0; // depth multiplier: output channel = c * m + index
    if (weights.dims[0] != 1 || m < 1 || m * ic != oc || l.integer("depth_multiplier", m) != m)
        refuse("weights " + to_text(weights.dims) + " do not fit input " + to_text(src.dims) +
               ": allowed is 1xHxWx(input channels * depth_multiplier)");
    return {memory::desc({ic, m, 1, kh, kw}, widened_type(weights), memory::dims{m, 1, 1, kw * oc, oc}), oc,
            kh, kw, 3};
}

/// padding_l is half of what the kernel reaches beyond the output.
deconvolution_shape transpose_conv_shape(const lowering &l) {
    const tensor &src = l.input(2), &weights = l.input(weights_input), &dst = l.result();
    for (const tensor *t : {&src, &weights, &dst})
        need_rank(*t, "a tensor", 4);
    const dim_t oc = weights.dims[0], ic = weights.dims[3];
    if (ic != src.dims[3] || oc != dst.dims[3] || src.dims[0] != dst.dims[0])
        refuse("weights " + to_text(weights.dims) + " do not lead from input " + to_text(src.dims) +
               " to output " + to_text(dst.dims));
    const memory::dims kernel = {weights.dims[1], weights.dims[2]};
    deconvolution_shape shape;
    shape.weights = memory::desc({oc, ic, kernel[0], kernel[1]}, weights.type, format_tag::ohwi);
    for (std::size_t i = 0; i < 2; i++) {
        // The window over the output tells the padding; the input may have another number of positions.
        const window w = make_window(l, "hw"[i], dst.dims[i + 1], kernel[i]);
        shape.strides.push_back(w.stride);
        shape.padding_l.push_back(w.padding_l);
        shape.padding_r.push_back((src.dims[i + 1] - 1) * w.stride + kernel[i] - w.padding_l -
                                  dst.dims[i + 1]);
    }
    return shape;
}

operator_rows tflite_dot_operators() { return tflite_dot_rows; }

} // namespace octet::model
