#pragma once // SPDX-License-Identifier: Apache-2.0

// Declarations that families of ONNX's operators share, and their rows. Names, inputs and attributes are the
// operators' own, the arithmetic is ONNX Runtime's; scales and zero points are constant inputs, a scalar or
// one per channel.

#include "network/graph/operator_facts.hpp"
#include "network/ops/fused.hpp"

namespace octet::model {

/// A sum of two tensors, which Sum of two inputs is as well.
std::unique_ptr<step> lower_float_add(const lowering &l);

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

/// A primitive on inputs 0 and `b`, which are broadcast to the output.
std::unique_ptr<step> binary_step(const lowering &l, algorithm alg, const primitive_attr &attr,
                                  std::size_t b);

/// Attribute "group" of a convolution; refuses an image and weights that are none.
std::int64_t convolution_groups(const lowering &l, const tensor &x, const tensor &w);

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

/// QLinearAdd behind an operator that it is fused into (ops/fused.hpp).
void append_qlinear_add(fused_codes &codes, const lowering &add);

/// Appends what the pass `fuse_floats` fused behind a result of floats, whose tensors become arguments.
void append_float_followers(primitive_attr &attr, arguments &args, const lowering &l,
                            const memory::desc &dst);

/// Adds padding to that of a convolution; false where its numbers are not known.
bool add_pads(node &conv, const image_padding &p);

/// How the rows of a Softmax lie in its input and its output: along an axis.
struct softmax_rows {
    memory::desc md;
    int axis;
};
/// Refuses an output of other dimensions. Before operator set 13 all dimensions from the axis on are one.
softmax_rows softmax_rows_of(const lowering &l, const tensor &x, const tensor &y, std::int64_t opset);
std::unique_ptr<step> softmax_step(const lowering &l, const softmax_rows &rows, const primitive_attr &attr);

/// Input 0 and output 0 of a normalization as rows, from the dimension on that "axis" names. Refuses outputs
/// of other dimensions.
memory::desc normalized_rows(const lowering &l);
/// The first of the dimensions that are normalized, from the front.
std::int64_t normalized_axis(const lowering &l);

/// Sets the zero points of an argument: one for the tensor, or one per index of the dimensions in
/// `channel_mask`.
void set_zero_points(primitive_attr &attr, int arg, int channel_mask,
                     const std::vector<std::int32_t> &values);

// Families of operators: the rows of each are at the end of its file.

operator_rows onnx_argmax_softmax_norms_operators();
operator_rows onnx_attention_operators();
operator_rows onnx_attention_mask_operators();
operator_rows onnx_block_product_operators();
operator_rows onnx_deconvolution_operators();
operator_rows onnx_dot_operators();
operator_rows onnx_dynamic_quantize_lstm_operators();
operator_rows onnx_fill_range_operators();
operator_rows onnx_float_conv_operators();
operator_rows onnx_float_elements_operators();
operator_rows onnx_float_functions_operators();
operator_rows onnx_float_operands_operators();
operator_rows onnx_float_powers_operators();
operator_rows onnx_float_products_operators();
operator_rows onnx_float_reductions_operators();
operator_rows onnx_gather_blocks_operators();
operator_rows onnx_gather_scatter_nd_operators();
operator_rows onnx_gather_slice_concat_operators();
operator_rows onnx_group_query_attention_operators();
operator_rows onnx_gru_operators();
operator_rows onnx_lrn_operators();
operator_rows onnx_lstm_operators();
operator_rows onnx_max_min_operators();
operator_rows onnx_multi_head_attention_operators();
operator_rows onnx_pool_operators();
operator_rows onnx_qlinear_elementwise_operators();
operator_rows onnx_quantize_linear_operators();
operator_rows onnx_reduce_max_min_operators();
operator_rows onnx_reduce_mean_sum_operators();
operator_rows onnx_reshape_transpose_pad_operators();
operator_rows onnx_resize_operators();
operator_rows onnx_rewritten_operators();
operator_rows onnx_rms_normalization_operators();
operator_rows onnx_rnn_operators();
operator_rows onnx_rotary_embedding_operators();
operator_rows onnx_skip_layer_normalization_operators();
operator_rows onnx_tile_space_to_depth_operators();
operator_rows onnx_topk_cumsum_onehot_operators();

} // namespace octet::model
