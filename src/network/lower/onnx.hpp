#pragma once // SPDX-License-Identifier: Apache-2.0

// ONNX's quantized operators, with the arithmetic of ONNX Runtime. Names, inputs and attributes are the
// operators' own; scales and zero points are constant inputs, a scalar or one per channel.

#include "network/lower/lowering.hpp"

namespace octet::model {

std::unique_ptr<step> lower_qlinear_conv(const lowering &l);
std::unique_ptr<step> lower_conv_integer(const lowering &l);
std::unique_ptr<step> lower_qlinear_matmul(const lowering &l);
std::unique_ptr<step> lower_matmul_integer(const lowering &l);
std::unique_ptr<step> lower_matmul_integer_to_float(const lowering &l);
std::unique_ptr<step> lower_qgemm(const lowering &l);
std::unique_ptr<step> lower_quantize_linear(const lowering &l);
std::unique_ptr<step> lower_dequantize_linear(const lowering &l);
std::unique_ptr<step> lower_dynamic_quantize_linear(const lowering &l);
std::unique_ptr<step> lower_qlinear_add(const lowering &l);
std::unique_ptr<step> lower_qlinear_mul(const lowering &l);
std::unique_ptr<step> lower_qlinear_sigmoid(const lowering &l);
std::unique_ptr<step> lower_qlinear_leaky_relu(const lowering &l);
std::unique_ptr<step> lower_qlinear_softmax(const lowering &l);
std::unique_ptr<step> lower_qlinear_concat(const lowering &l);
std::unique_ptr<step> lower_qlinear_average_pool(const lowering &l);
std::unique_ptr<step> lower_qlinear_global_average_pool(const lowering &l);
std::unique_ptr<step> lower_max_pool(const lowering &l);
std::unique_ptr<step> lower_layout(const lowering &l); ///< of `layout_operator`
std::unique_ptr<step> lower_view(const lowering &l);
std::unique_ptr<step> lower_dropout(const lowering &l);
std::unique_ptr<step> lower_onnx_transpose(const lowering &l);
std::unique_ptr<step> lower_onnx_pad(const lowering &l);
std::unique_ptr<step> lower_tile(const lowering &l);
std::unique_ptr<step> lower_depth_to_space(const lowering &l);
std::unique_ptr<step> lower_space_to_depth(const lowering &l);

// Operators on floats, and on the integers and truths beside them.

std::unique_ptr<step> lower_gather(const lowering &l);
std::unique_ptr<step> lower_slice(const lowering &l);
std::unique_ptr<step> lower_split(const lowering &l);
std::unique_ptr<step> lower_concat(const lowering &l);
std::unique_ptr<step> lower_expand(const lowering &l);
std::unique_ptr<step> lower_where(const lowering &l);

std::unique_ptr<step> lower_float_add(const lowering &l);
std::unique_ptr<step> lower_float_sub(const lowering &l);
std::unique_ptr<step> lower_float_mul(const lowering &l);
std::unique_ptr<step> lower_float_div(const lowering &l);
std::unique_ptr<step> lower_max(const lowering &l); ///< of any number of inputs, and so on
std::unique_ptr<step> lower_min(const lowering &l);
std::unique_ptr<step> lower_sum(const lowering &l);
std::unique_ptr<step> lower_mean_of_all(const lowering &l);
std::unique_ptr<step> lower_float_prelu(const lowering &l);
std::unique_ptr<step> lower_mod(const lowering &l);
std::unique_ptr<step> lower_float_pow(const lowering &l);
std::unique_ptr<step> lower_equal(const lowering &l);
std::unique_ptr<step> lower_less(const lowering &l);
std::unique_ptr<step> lower_less_or_equal(const lowering &l);
std::unique_ptr<step> lower_greater(const lowering &l);
std::unique_ptr<step> lower_greater_or_equal(const lowering &l);
std::unique_ptr<step> lower_and(const lowering &l);
std::unique_ptr<step> lower_or(const lowering &l);
std::unique_ptr<step> lower_not(const lowering &l);
std::unique_ptr<step> lower_constant_of_shape(const lowering &l);
std::unique_ptr<step> lower_range(const lowering &l);
std::unique_ptr<step> lower_cast(const lowering &l);
std::unique_ptr<step> lower_float_function(const lowering &l); ///< of `float_function_of`
std::unique_ptr<step> lower_float_hard_sigmoid(const lowering &l);
std::unique_ptr<step> lower_float_hard_swish(const lowering &l);

std::unique_ptr<step> lower_attention_mask(const lowering &l);
std::unique_ptr<step> lower_resize(const lowering &l);
std::unique_ptr<step> lower_float_softmax(const lowering &l);
std::unique_ptr<step> lower_layer_normalization(const lowering &l);
std::unique_ptr<step> lower_simplified_layer_normalization(const lowering &l);
std::unique_ptr<step> lower_skip_layer_normalization(const lowering &l);
std::unique_ptr<step> lower_embed_layer_normalization(const lowering &l);
std::unique_ptr<step> lower_batch_normalization(const lowering &l);
std::unique_ptr<step> lower_instance_normalization(const lowering &l);
std::unique_ptr<step> lower_log_softmax(const lowering &l);
std::unique_ptr<step> lower_reduce_l2(const lowering &l);
std::unique_ptr<step> lower_reduce_mean(const lowering &l);
std::unique_ptr<step> lower_reduce_sum(const lowering &l);
std::unique_ptr<step> lower_reduce_max(const lowering &l);
std::unique_ptr<step> lower_reduce_min(const lowering &l);
std::unique_ptr<step> lower_arg_max(const lowering &l);

std::unique_ptr<step> lower_float_matmul_add(const lowering &l);
std::unique_ptr<step> lower_float_matmul(const lowering &l);
std::unique_ptr<step> lower_fused_matmul(const lowering &l);
std::unique_ptr<step> lower_float_gemm(const lowering &l);
std::unique_ptr<step> lower_float_conv(const lowering &l);
std::unique_ptr<step> lower_float_conv_transpose(const lowering &l);
std::unique_ptr<step> lower_float_average_pool(const lowering &l);
std::unique_ptr<step> lower_float_global_average_pool(const lowering &l);
std::unique_ptr<step> lower_float_global_max_pool(const lowering &l);

/// Values of a scale or zero point input; an absent zero point is 0.
std::vector<float> constant_scales(const lowering &l, std::size_t i);
std::vector<std::int32_t> constant_zero_points(const lowering &l, std::size_t i);

/// A scale and a zero point input of one value each.
struct linear_parameters {
    float scale;
    std::int32_t zero_point;
};
linear_parameters per_tensor_parameters(const lowering &l, std::size_t scale_input,
                                        std::size_t zero_point_input);

/// Sets scale and zero point of an argument.
void set_parameters(primitive_attr &attr, int arg, const linear_parameters &q);

/// Refuses a node of which somebody reads an output besides the first and the allowed ones.
void need_only_outputs(const lowering &l, std::initializer_list<std::size_t> allowed);

/// Refuses an input and an output of different dimensions.
void need_equal_dims(const tensor &x, const tensor &y);

/// Windows of a convolution or pooling, as attributes describe them; dilates 0 is a dense kernel.
struct window_geometry {
    memory::dims strides, dilates, padding_l, padding_r;
};
/// `auto_pad` other than NOTSET needs the input's size.
window_geometry read_windows(const lowering &l, const memory::dims &input, const memory::dims &kernel);

/// How many products of floats ONNX Runtime adds up, in a product with a matrix that it has not packed ahead, before it
/// adds the sum to those before. Rows of the first matrix that lie transposed are copied in blocks of one size.
dim_t float_reduction_block(dim_t inner, dim_t columns, bool is_transposed = false);

/// {N, C, spatial…} of an activation, which lies channels-last if the attribute channels_last says so.
memory::desc activation_desc(const lowering &l, const tensor &t);

/// An operator on single floats as Octet's function.
struct float_function {
    algorithm alg;
    float alpha = 0.f, beta = 0.f;
};
float_function float_function_of(const lowering &l);

/// The rows of a Softmax and their axis; before operator set 13 all dimensions from the axis on are one.
memory::desc softmax_desc(const lowering &l, const tensor &t, int &axis);

/// Sets the zero points of an argument: one for the tensor, or one per index of the dimensions in
/// `channel_mask`.
void set_zero_points(primitive_attr &attr, int arg, int channel_mask,
                     const std::vector<std::int32_t> &values);

} // namespace octet::model
