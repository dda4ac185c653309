#pragma once // SPDX-License-Identifier: Apache-2.0

// TFLite's operators share these parts: quantization parameters, fused activations, windows. The comments at
// formulas name TFLite's own derivation, because its precision decides the last bit of a result.

#include <cmath>
#include <functional>

#include "network/graph/operator_facts.hpp"
#include "network/ops/fused.hpp"
#include "network/ops/view_transpose_pad.hpp"

namespace octet::model {

/// real = scale * (code - zero_point) of a tensor with one scale; throws for none or several.
struct linear_codes {
    float scale;
    std::int32_t zero_point;
};
linear_codes per_tensor(const tensor &t, const std::string &who);

/// The rule of operators without sums of products, unless a profile says otherwise.
inline requantization_rule elementwise_rule(const lowering &l) { return l.rule_or(tflite_rule); }

/// The rule of all of XNNPACK's operators but some products.
constexpr requantization_rule xnnpack_rule = requantization_rule::xnnpack_f32;
constexpr bool is_xnnpack(requantization_rule rule) {
    return rule == xnnpack_rule || rule == requantization_rule::xnnpack_rndnu;
}

/// Whether LiteRT and XNNPACK with this rule are built for AArch64 by a compiler that rounds a * b + c of floats once.
constexpr bool contracts(requantization_rule rule) {
    return rule == requantization_rule::xnnpack_rndnu || rule == requantization_rule::ruy_2step;
}
inline float product_plus(float a, float b, float c, bool is_contracted) {
    return is_contracted ? std::fma(a, b, c) : a * b + c;
}

/// Codes that a tensor's type and a fused activation allow: RELU is [code of 0, highest], RELU6 [code of 0,
/// code of 6]. XNNPACK adds the zero point before it rounds, TFLite's kernels behind.
struct code_interval {
    std::int32_t low, high;
    bool is_whole; ///< all codes of the type: nothing to clip
};
code_interval activation_interval(const std::string &activation, const tensor &dst, requantization_rule rule);

/// One spatial dimension of a sliding window. TFLite's SAME gives ceil(size / stride) positions and puts the
/// odd element of padding at the end; VALID pads nothing. EXPLICIT is a PAD that was fused into the operator.
struct window {
    dim_t kernel, stride, dilation;
    dim_t positions, padding_l, padding_r;
};
/// `axis` is 'h' or 'w': selects stride_h, dilation_h, …
window make_window(const lowering &l, char axis, dim_t size, dim_t kernel);

void need_rank(const tensor &t, const std::string &who, std::size_t rank);
void need_equal_quantization(const tensor &a, const tensor &b, const std::string &who);

/// {before, after} of each dimension, from a padding's constant [rank, 2] tensor, input 1.
struct paddings {
    memory::dims before, after;
};
paddings read_paddings(const lowering &l, std::size_t rank);

/// Element d is true if input `input`, a constant list of axes, names dimension d of `rank`.
std::vector<bool> named_dims(const lowering &l, std::size_t input, std::size_t rank);

/// The bytes of an element that stands for 0.
std::vector<std::uint8_t> code_of_zero(const tensor &t);

/// NHWC tensor as Octet's {N, C, H, W}.
memory::desc nhwc_desc(const tensor &t);

/// Weights of a convolution with the layout that a file has them in, by groups where there are several.
struct convolution_weights {
    memory::desc desc;
    dim_t channels, kernel_h, kernel_w; ///< channels of the result
    int channel_axis;                   ///< of the file's tensor
};
convolution_weights conv_2d_weights(const tensor &src, const tensor &weights);
convolution_weights depthwise_weights(const lowering &l, const tensor &src, const tensor &weights);

/// TRANSPOSE_CONV: output shape, filter OHWI, input, bias. The output's size is given.
struct deconvolution_shape {
    memory::desc weights;
    memory::dims strides, padding_l, padding_r;
};
deconvolution_shape transpose_conv_shape(const lowering &l);

/// The type of the weights that primitives read: codes of 4 bits are widened when a network is made.
inline data_type widened_type(const tensor &weights) {
    return weights.type == data_type::s4 ? data_type::s8 : weights.type;
}
/// Constant weights in the layout that a primitive chose. Codes of 4 bits lie two in a byte, whatever rows they have;
/// `plain` is their layout as bytes.
buffer packed_weights_of(const lowering &l, std::size_t input, const memory::desc &plain,
                         const memory::desc &chosen);

/// Sets a zero point of SRC, WEIGHTS or DST that is not 0.
void set_zero_point(primitive_attr &attr, int arg, std::int32_t zero_point);

/// Clips to a fused activation's range; `zero_point` is the destination's (post-ops come before it).
void append_clip(primitive_attr &attr, const code_interval &range, std::int32_t zero_point);

/// ADD behind an operator that it is fused into (ops/fused.hpp).
void append_add(fused_codes &codes, const lowering &add);

/// Attributes of a reorder between 8-bit codes of one type: a code becomes `f` of it, clamped to the type's codes.
primitive_attr table_attr(data_type type, const std::function<std::int32_t(std::int32_t)> &f);

// These operators have other arithmetic in LiteRT's default runtime: XNNPACK's functions of codes, and
// LiteRT's own optimized kernels.

std::unique_ptr<step> lower_xnnpack_quantize(const lowering &l);
std::unique_ptr<step> lower_xnnpack_leaky_relu(const lowering &l);
std::unique_ptr<step> lower_xnnpack_logistic(const lowering &l);
std::unique_ptr<step> lower_xnnpack_tanh(const lowering &l);
std::unique_ptr<step> lower_xnnpack_elu(const lowering &l);
std::unique_ptr<step> lower_litert_logistic(const lowering &l);
std::unique_ptr<step> lower_litert_tanh(const lowering &l);
std::unique_ptr<step> lower_litert_relu6(const lowering &l);
std::unique_ptr<step> lower_litert_concatenation(const lowering &l);
std::unique_ptr<step> lower_litert_softmax(const lowering &l);
std::unique_ptr<step> lower_litert_mean(const lowering &l);
std::unique_ptr<step> lower_litert_sum(const lowering &l);
std::unique_ptr<step> lower_litert_hard_swish(const lowering &l);
std::unique_ptr<step> lower_litert_sub(const lowering &l);
std::unique_ptr<step> lower_litert_mul(const lowering &l);
std::unique_ptr<step> lower_litert_prelu(const lowering &l);

/// Products of floats with constant weights of codes, in XNNPACK's two orders and by the built-in kernels. CONV_2D has
/// scales of pixels or of images, TRANSPOSE_CONV of images.
std::unique_ptr<step> lower_hybrid_xnnpack(const lowering &l);
std::unique_ptr<step> lower_hybrid_xnnpack_unfused(const lowering &l);
std::unique_ptr<step> lower_hybrid_litert(const lowering &l);
/// Built-in kernels of LiteRT for WebAssembly.
std::unique_ptr<step> lower_hybrid_conv_litert(const lowering &l);
std::unique_ptr<step> lower_hybrid_depthwise_litert(const lowering &l);

/// Element-wise float operators, for the substitute of profiles that have no contract for them.
std::unique_ptr<step> lower_exact_floats(const lowering &l);

// Families of operators: the rows of each are at the end of its file.

operator_rows tflite_binary_operators();
operator_rows tflite_code_tables_operators();
operator_rows tflite_dot_operators();
operator_rows tflite_l2_normalization_operators();
operator_rows tflite_lstm_operators();
operator_rows tflite_pool_softmax_quantize_operators();
operator_rows tflite_reductions_operators();
operator_rows tflite_reshape_transpose_pad_operators();
operator_rows tflite_resize_operators();
operator_rows tflite_slice_split_gather_operators();
operator_rows tflite_svdf_operators();
operator_rows tflite_tile_space_to_batch_operators();
operator_rows tflite_unary_operators();

} // namespace octet::model
