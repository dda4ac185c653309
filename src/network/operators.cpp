// The table. Rows are sorted by name, which the compiler checks: messages and documentation list them in that order.
// SPDX-License-Identifier: Apache-2.0
#include "network/operators.hpp"

#include <iterator>
#include <string_view>
#include <unordered_map>

#include "network/lower/onnx.hpp"
#include "network/lower/onnx_block_product.hpp"
#include "network/lower/tflite.hpp"
#include "network/node_rows.hpp"
#include "network/shapes/onnx.hpp"
#include "network/shapes/tflite.hpp"

namespace octet::model {
namespace {

using row = operator_facts;
constexpr std::size_t any = input_counts::any_number;
constexpr auto accumulates = fusion_part::accumulates, function = fusion_part::function;
constexpr auto aliased_or_persistent = buffer_use::aliased_or_persistent;

constexpr row tflite[] = {
    row("ABS", 1, lower_abs).batched(rows::first_input).shape(tflite_shape::same).part(function),
    row("ADD", 2, lower_add).batched(rows::broadcast).shape(tflite_shape::binary).sum_of(0, 1),
    row("ARG_MAX", 2, lower_tflite_arg_max).batched(rows::reduce).shape(tflite_shape::arg_extreme),
    row("ARG_MIN", 2, lower_tflite_arg_min).batched(rows::reduce).shape(tflite_shape::arg_extreme),
    row("AVERAGE_POOL_2D", 1, lower_average_pool_2d).batched(rows::windows).shape(tflite_shape::pool_2d),
    row("BATCH_MATMUL", 2, lower_batch_matmul)
        .batched(rows::batch_matmul)
        .shape(tflite_shape::batch_matmul)
        .part(accumulates),
    row("BATCH_TO_SPACE_ND", 3, lower_batch_to_space_nd)
        .batched(rows::never)
        .shape(tflite_shape::batch_to_space_nd),
    row("BROADCAST_TO", 2, lower_expand)
        .batched(rows::expand)
        .shape(tflite_shape::broadcast_to)
        .couples_batch(tflite_shape::adds_dimensions)
        .use(aliased_or_persistent),
    row("CONCATENATION", {1, any}, lower_concatenation)
        .batched(rows::concatenation)
        .shape(tflite_shape::concatenation),
    row("CONV_2D", {2, 3}, lower_conv_2d)
        .batched(rows::windows)
        .shape(tflite_shape::conv_2d)
        .part(accumulates)
        .padded(),
    row("DEPTHWISE_CONV_2D", {2, 3}, lower_depthwise_conv_2d)
        .batched(rows::windows)
        .shape(tflite_shape::depthwise_conv_2d)
        .part(accumulates)
        .padded(),
    row("DEPTH_TO_SPACE", 1, lower_tflite_depth_to_space)
        .batched(rows::windows)
        .shape(tflite_shape::depth_to_space),
    row("DEQUANTIZE", 1, lower_dequantize).batched(rows::first_input).shape(tflite_shape::same),
    row("ELU", 1, lower_elu).batched(rows::first_input).shape(tflite_shape::same).part(function),
    row("EXPAND_DIMS", 2, lower_reshape)
        .batched(rows::expand_dims)
        .shape(tflite_shape::expand_dims)
        .use(aliased_or_persistent),
    row("FULLY_CONNECTED", {2, 3}, lower_fully_connected)
        .batched(rows::first_input)
        .shape(tflite_shape::fully_connected)
        .part(accumulates),
    row("GATHER", 2, lower_tflite_gather).batched(rows::gather).shape(tflite_shape::gather),
    row("HARD_SWISH", 1, lower_hard_swish)
        .batched(rows::first_input)
        .shape(tflite_shape::same)
        .part(function),
    row("L2_NORMALIZATION", 1, lower_l2_normalization).batched(rows::last_axis).shape(tflite_shape::same),
    row("LEAKY_RELU", 1, lower_leaky_relu)
        .batched(rows::first_input)
        .shape(tflite_shape::same)
        .part(function),
    row("LOGISTIC", 1, lower_logistic).batched(rows::first_input).shape(tflite_shape::same).part(function),
    row("MAXIMUM", 2, lower_maximum).batched(rows::broadcast).shape(tflite_shape::binary),
    row("MAX_POOL_2D", 1, lower_max_pool_2d).batched(rows::windows).shape(tflite_shape::pool_2d),
    row("MEAN", 2, lower_mean).batched(rows::reduce).shape(tflite_shape::reduce),
    row("MINIMUM", 2, lower_minimum).batched(rows::broadcast).shape(tflite_shape::binary),
    row("MIRROR_PAD", 2, lower_mirror_pad).batched(rows::tflite_pad).shape(tflite_shape::pad),
    row("MUL", 2, lower_mul).batched(rows::broadcast).shape(tflite_shape::binary),
    row("PACK", {1, any}, lower_pack).batched(rows::pack).shape(tflite_shape::pack),
    row("PAD", 2, lower_pad)
        .batched(rows::tflite_pad)
        .shape(tflite_shape::pad)
        .use(aliased_or_persistent)
        .padding(),
    row("PADV2", 3, lower_pad)
        .batched(rows::tflite_pad)
        .shape(tflite_shape::pad)
        .use(aliased_or_persistent)
        .padding(),
    row("PRELU", 2, lower_prelu).batched(rows::first_input).shape(tflite_shape::same),
    row("QUANTIZE", 1, lower_quantize).batched(rows::first_input).shape(tflite_shape::same).part(function),
    row("REDUCE_MAX", 2, lower_tflite_reduce_max).batched(rows::reduce).shape(tflite_shape::reduce),
    row("REDUCE_MIN", 2, lower_tflite_reduce_min).batched(rows::reduce).shape(tflite_shape::reduce),
    row("RELU", 1, lower_relu).batched(rows::first_input).shape(tflite_shape::same).part(function),
    row("RELU6", 1, lower_relu6).batched(rows::first_input).shape(tflite_shape::same).part(function),
    row("RELU_N1_TO_1", 1, lower_relu_n1_to_1)
        .batched(rows::first_input)
        .shape(tflite_shape::same)
        .part(function),
    row("RESHAPE", {1, 2}, lower_reshape)
        .batched(rows::first_input)
        .shape(tflite_shape::reshape)
        .use(aliased_or_persistent),
    row("RESIZE_BILINEAR", 2, lower_resize_bilinear).batched(rows::windows).shape(tflite_shape::resize),
    row("RESIZE_NEAREST_NEIGHBOR", 2, lower_resize_nearest_neighbor)
        .batched(rows::windows)
        .shape(tflite_shape::resize),
    row("REVERSE_V2", 2, lower_reverse)
        .batched(rows::reduce)
        .shape(tflite_shape::same)
        .couples_batch(tflite_shape::names_first_axis),
    row("RSQRT", 1, lower_rsqrt).batched(rows::first_input).shape(tflite_shape::same),
    row("SHAPE", 1, lower_shape).batched(rows::never).shape(tflite_shape::shape),
    row("SLICE", 3, lower_tflite_slice).batched(rows::tflite_slice).shape(tflite_shape::slice),
    row("SOFTMAX", 1, lower_softmax).batched(rows::last_axis).shape(tflite_shape::same),
    row("SPACE_TO_BATCH_ND", 3, lower_space_to_batch_nd)
        .batched(rows::never)
        .shape(tflite_shape::space_to_batch_nd)
        .use(aliased_or_persistent),
    row("SPACE_TO_DEPTH", 1, lower_tflite_space_to_depth)
        .batched(rows::windows)
        .shape(tflite_shape::space_to_depth),
    row("SPLIT", 2, lower_tflite_split).batched(rows::split).shape(tflite_shape::split),
    row("SPLIT_V", 3, lower_split_v).batched(rows::split_v).shape(tflite_shape::split_v),
    row("SQUARED_DIFFERENCE", 2, lower_squared_difference)
        .batched(rows::broadcast)
        .shape(tflite_shape::binary),
    row("SQUEEZE", 1, lower_reshape)
        .batched(rows::tflite_squeeze)
        .shape(tflite_shape::squeeze)
        .use(aliased_or_persistent),
    row("STRIDED_SLICE", 4, lower_strided_slice)
        .batched(rows::strided_slice)
        .shape(tflite_shape::strided_slice)
        .couples_batch(tflite_shape::has_negative_first_stride),
    row("SUB", 2, lower_sub).batched(rows::broadcast).shape(tflite_shape::binary),
    row("SUM", 2, lower_tflite_sum).batched(rows::reduce).shape(tflite_shape::reduce),
    row("SVDF", {5, 5}, lower_svdf).batched(rows::never).shape(tflite_shape::svdf),
    row("TANH", 1, lower_tanh).batched(rows::first_input).shape(tflite_shape::same).part(function),
    row("TILE", 2, lower_tflite_tile).batched(rows::tile).shape(tflite_shape::tile),
    row("TRANSPOSE", 2, lower_transpose).batched(rows::transpose).shape(tflite_shape::transpose),
    row("TRANSPOSE_CONV", {3, 4}, lower_transpose_conv)
        .batched(rows::transposed_convolution)
        .shape(tflite_shape::transpose_conv)
        .part(accumulates),
    row("UNIDIRECTIONAL_SEQUENCE_LSTM", {20, 24}, lower_unidirectional_sequence_lstm)
        .batched(rows::never)
        .shape(tflite_shape::sequence),
    row("UNPACK", 1, lower_unpack).batched(rows::inner_axis_or_first).shape(tflite_shape::unpack),
};

using form = quantized_form;
using use = integer_use;
constexpr auto follows = layout_support::follows, converts = layout_support::converts;
constexpr auto channels_last = layout_support::channels_last;

constexpr row onnx[] = {
    row("Abs", 1, lower_float_function).part(function).batched(rows::first_input).shape(shape::same),
    row("Add", 2, lower_float_add)
        .part(fusion_part::operand)
        .commutative()
        .batched(rows::broadcast)
        .shape(shape::binary)
        .becomes(form::binary, "QLinearAdd")
        .uses_integers(use::passes_on, use::passes_on)
        .arithmetic(),
    row("And", 2, lower_and).batched(rows::broadcast).shape(shape::comparison),
    row("ArgMax", 1, lower_arg_max).batched(rows::inner_axis_or_first).shape(shape::arg_max).int64(),
    row("Attention", {2, 7}).in(domains::microsoft),
    row("AttentionMask", 2, lower_attention_mask)
        .batched(rows::never)
        .shape(shape::attention_mask)
        .internal(),
    row("AveragePool", 1, lower_float_average_pool)
        .batched(rows::windows)
        .shape(shape::pooling)
        .becomes(form::unary, "QLinearAveragePool"),
    row("BatchNormalization", 5, lower_batch_normalization).batched(rows::last_axis).shape(shape::same),
    row("BiasGelu", 2).in(domains::microsoft).batched(rows::broadcast).shape(shape::same),
    row("Cast", 1, lower_cast)
        .batched(rows::first_input)
        .shape(shape::cast)
        .use(aliased_or_persistent)
        .typed_by("to"),
    row("Ceil", 1, lower_float_function).batched(rows::first_input).shape(shape::same),
    row("Clip", {1, 3}, lower_float_function)
        .part(function)
        .batched(rows::first_input)
        .shape(shape::same)
        .uses_integers(use::compares, use::compares),
    row("Concat", {1, any}, lower_concat)
        .batched(rows::concatenation)
        .shape(shape::concat)
        .becomes(form::concatenation, "QLinearConcat")
        .uses_integers(use::passes_on, use::passes_on),
    row("Constant", 0),
    row("ConstantOfShape", 1, lower_constant_of_shape)
        .batched(rows::never)
        .shape(shape::constant_of_shape)
        .dims_from(0),
    row("Conv", {2, 3}, lower_float_conv)
        .part(accumulates)
        .padded()
        .batched(rows::windows)
        .shape(shape::conv)
        .becomes(form::convolution, "QLinearConv"),
    row("ConvAdd", 4, lower_float_conv).part(accumulates).batched(rows::never).shape(shape::conv).internal(),
    row("ConvInteger", {2, 4}, lower_conv_integer)
        .batched(rows::windows)
        .shape(shape::conv_integer)
        .layouts(layout_support::gathers),
    row("ConvTranspose", {2, 3}, lower_float_conv_transpose)
        .batched(rows::windows)
        .shape(shape::conv_transpose),
    row("DepthToSpace", 1, lower_depth_to_space)
        .batched(rows::windows)
        .shape(shape::depth_to_space)
        .layouts(follows)
        .moved(code_move::down),
    row("DequantizeLinear", {2, 3}, lower_dequantize_linear)
        .in(domains::both)
        .scales(0, 1)
        .batched(rows::first_input)
        .shape(shape::dequantize)
        .layouts(converts),
    row("Div", 2, lower_float_div).part(fusion_part::operand).batched(rows::broadcast).shape(shape::binary),
    row("Dropout", {1, 3}, lower_dropout)
        .batched(rows::first_input)
        .shape(shape::dropout)
        .use(aliased_or_persistent)
        .moved(code_move::both),
    row("DynamicQuantizeLinear", 1, lower_dynamic_quantize_linear)
        .batched(rows::never)
        .shape(shape::dynamic_quantize),
    row("DynamicQuantizeMatMul", {3, 5}).in(domains::microsoft),
    row("Elu", 1, lower_float_function).batched(rows::first_input_in_groups).shape(shape::same),
    row("EmbedLayerNormalization", {7, 9}, lower_embed_layer_normalization)
        .in(domains::microsoft)
        .batched(rows::embedding)
        .shape(shape::embed_layer_normalization),
    row("Equal", 2, lower_equal)
        .batched(rows::broadcast)
        .shape(shape::comparison)
        .uses_integers(use::compares, use::compares),
    row("Erf", 1, lower_float_function).part(function).batched(rows::first_input).shape(shape::same),
    row("Exp", 1, lower_float_function).part(function).batched(rows::first_input).shape(shape::same),
    row("Expand", 2, lower_expand)
        .batched(rows::expand)
        .shape(shape::expand)
        .use(aliased_or_persistent)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::computes)
        .dims_from(1),
    row("FastGelu", {1, 2}).in(domains::microsoft).batched(rows::broadcast).shape(shape::same),
    row("Flatten", 1, lower_view)
        .batched(rows::flatten)
        .shape(shape::flatten)
        .use(aliased_or_persistent)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::computes),
    row("Floor", 1, lower_float_function).batched(rows::first_input).shape(shape::same),
    row("FusedMatMul", 2, lower_fused_matmul)
        .in(domains::microsoft)
        .part(accumulates)
        .batched(rows::fused_matrices)
        .shape(shape::matmul),
    row("Gather", 2, lower_gather)
        .batched(rows::gather)
        .shape(shape::gather)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::computes),
    row("Gelu", 1, lower_float_function)
        .in(domains::both)
        .part(function)
        .batched(rows::first_input)
        .shape(shape::same),
    row("Gemm", {2, 3}, lower_float_gemm)
        .part(accumulates)
        .batched(rows::gemm)
        .shape(shape::gemm)
        .becomes(form::gemm, "QGemm"),
    row("GlobalAveragePool", 1, lower_float_global_average_pool)
        .batched(rows::windows)
        .shape(shape::global_pooling)
        .becomes(form::unary, "QLinearGlobalAveragePool"),
    row("GlobalMaxPool", 1, lower_float_global_max_pool).batched(rows::windows).shape(shape::global_pooling),
    row("Greater", 2, lower_greater)
        .batched(rows::broadcast)
        .shape(shape::comparison)
        .uses_integers(use::compares, use::compares),
    row("GreaterOrEqual", 2, lower_greater_or_equal)
        .batched(rows::broadcast)
        .shape(shape::comparison)
        .uses_integers(use::compares, use::compares),
    row("HardSigmoid", 1, lower_float_hard_sigmoid).batched(rows::first_input).shape(shape::same),
    row("HardSwish", 1, lower_float_hard_swish).batched(rows::first_input).shape(shape::same),
    row("Identity", 1, lower_view)
        .batched(rows::first_input)
        .shape(shape::same)
        .use(aliased_or_persistent)
        .moved(code_move::both)
        .uses_integers(use::passes_on, use::computes),
    row("InstanceNormalization", 3, lower_instance_normalization).batched(rows::windows).shape(shape::same),
    row("LayerNormalization", {2, 3}, lower_layer_normalization)
        .batched(rows::inner_axis_or_last)
        .shape(shape::layer_normalization),
    row("LeakyRelu", 1, lower_float_function)
        .part(function)
        .batched(rows::first_input)
        .shape(shape::same)
        .becomes(form::unary, "QLinearLeakyRelu"),
    row("Less", 2, lower_less)
        .batched(rows::broadcast)
        .shape(shape::comparison)
        .uses_integers(use::compares, use::compares),
    row("LessOrEqual", 2, lower_less_or_equal)
        .batched(rows::broadcast)
        .shape(shape::comparison)
        .uses_integers(use::compares, use::compares),
    row("Log", 1, lower_float_function).batched(rows::first_input).shape(shape::same),
    row("LogSoftmax", 1, lower_log_softmax).batched(rows::inner_axis_or_last).shape(shape::same),
    row("MatMul", 2, lower_float_matmul)
        .part(accumulates)
        .batched(rows::matrices)
        .shape(shape::matmul)
        .becomes(form::matrix_product, "QLinearMatMul"),
    row("MatMulAdd", 3, lower_float_matmul_add)
        .batched(rows::never)
        .shape(shape::matmul)
        .part(accumulates)
        .internal(),
    row("MatMulInteger", {2, 4}, lower_matmul_integer).batched(rows::matrices).shape(shape::matmul_integer),
    row("MatMulIntegerToFloat", {4, 7}, lower_matmul_integer_to_float)
        .in(domains::microsoft)
        .part(accumulates)
        .batched(rows::matrices)
        .shape(shape::matmul_integer_to_float),
    row("MatMulNBits", {3, 5}, lower_matmul_of_blocks)
        .batched(rows::matrices)
        .shape(shape::matmul)
        .internal(),
    row("Max", {1, any}, lower_max)
        .batched(rows::broadcast_in_groups)
        .shape(shape::variadic)
        .uses_integers(use::compares, use::compares),
    row("MaxPool", 1, lower_max_pool)
        .batched(rows::windows)
        .shape(shape::pooling)
        .layouts(channels_last)
        .moved(code_move::both),
    row("Mean", {1, any}, lower_mean_of_all).batched(rows::broadcast).shape(shape::variadic),
    row("Min", {1, any}, lower_min)
        .batched(rows::broadcast_in_groups)
        .shape(shape::variadic)
        .uses_integers(use::compares, use::compares),
    row("Mod", 2, lower_mod).batched(rows::broadcast).shape(shape::binary),
    row("Mul", 2, lower_float_mul)
        .part(fusion_part::operand)
        .commutative()
        .batched(rows::broadcast)
        .shape(shape::binary)
        .becomes(form::binary, "QLinearMul")
        .arithmetic(),
    row("Neg", 1, lower_float_function).batched(rows::first_input).shape(shape::same),
    row("Not", 1, lower_not).batched(rows::first_input).shape(shape::same),
    row("Or", 2, lower_or).batched(rows::broadcast).shape(shape::comparison),
    row("PRelu", 2, lower_float_prelu).batched(rows::broadcast).shape(shape::binary),
    row("Pad", {1, 4}, lower_onnx_pad)
        .in(domains::both)
        .batched(rows::pad)
        .shape(shape::pad)
        .use(aliased_or_persistent)
        .padding()
        .layouts(follows)
        .moved(code_move::down)
        .dims_from(1),
    row("Pow", 2, lower_float_pow).batched(rows::broadcast).shape(shape::power),
    row("QAttention", {5, 9}).in(domains::microsoft),
    row("QGemm", {6, 9}, lower_qgemm)
        .in(domains::microsoft)
        .scales(0, 2, 7)
        .batched(rows::gemm)
        .shape(shape::qgemm)
        .part(accumulates),
    row("QLinearAdd", {7, 8}, lower_qlinear_add)
        .in(domains::microsoft)
        .scales(0, 2, 6)
        .batched(rows::broadcast)
        .shape(shape::qlinear_binary)
        .layouts(follows)
        .sum_of(0, 3),
    row("QLinearAveragePool", {4, 5}, lower_qlinear_average_pool)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .batched(rows::windows)
        .shape(shape::pooling)
        .layouts(channels_last),
    row("QLinearConcat", {5, any}, lower_qlinear_concat)
        .in(domains::microsoft)
        .scales(2, any, 0)
        .batched(rows::concatenation)
        .shape(shape::qlinear_concat)
        .layouts(follows),
    row("QLinearConv", {8, 9}, lower_qlinear_conv)
        .in(domains::both)
        .scales(0, 2, 6)
        .batched(rows::windows)
        .shape(shape::qlinear_conv)
        .part(accumulates)
        .padded()
        .layouts(layout_support::gathers),
    row("QLinearGlobalAveragePool", {4, 5}, lower_qlinear_global_average_pool)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .batched(rows::windows)
        .shape(shape::global_pooling)
        .layouts(channels_last),
    row("QLinearLeakyRelu", {4, 5}, lower_qlinear_leaky_relu)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .batched(rows::first_input)
        .shape(shape::same)
        .layouts(follows)
        .part(function),
    row("QLinearMatMul", 8, lower_qlinear_matmul)
        .scales(0, 2, 6)
        .batched(rows::qlinear_matrices)
        .shape(shape::qlinear_matmul)
        .part(accumulates),
    row("QLinearMul", {7, 8}, lower_qlinear_mul)
        .in(domains::microsoft)
        .scales(0, 2, 6)
        .batched(rows::broadcast)
        .shape(shape::qlinear_binary)
        .layouts(follows),
    row("QLinearSigmoid", {4, 5}, lower_qlinear_sigmoid)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .batched(rows::first_input)
        .shape(shape::same)
        .layouts(follows)
        .part(function),
    row("QLinearSoftmax", {4, 5}, lower_qlinear_softmax)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .batched(rows::inner_axis_or_last)
        .shape(shape::same),
    row("QuantizeLinear", {2, 3}, lower_quantize_linear)
        .in(domains::both)
        .scales(0, 0, 1)
        .batched(rows::first_input)
        .shape(shape::quantize)
        .layouts(layout_support::chooses),
    row("QuickGelu", 1, lower_float_function)
        .in(domains::microsoft)
        .part(function)
        .batched(rows::first_input)
        .shape(shape::same),
    row("Range", 3, lower_range).in(domains::both).batched(rows::never).shape(shape::range).dims_from(0),
    row("Reciprocal", 1, lower_float_function).part(function).batched(rows::first_input).shape(shape::same),
    row("ReduceL2", {1, 2}, lower_reduce_l2).batched(rows::reduce).shape(shape::reduce),
    row("ReduceMax", {1, 2}, lower_reduce_max)
        .batched(rows::reduce)
        .shape(shape::reduce)
        .use(aliased_or_persistent),
    row("ReduceMean", {1, 2}, lower_reduce_mean)
        .batched(rows::reduce)
        .shape(shape::reduce)
        .use(aliased_or_persistent),
    row("ReduceMin", {1, 2}, lower_reduce_min)
        .batched(rows::reduce)
        .shape(shape::reduce)
        .use(aliased_or_persistent),
    row("ReduceSum", {1, 2}, lower_reduce_sum)
        .batched(rows::reduce)
        .shape(shape::reduce)
        .arithmetic()
        .use(aliased_or_persistent),
    row("Relu", 1, lower_float_function).part(function).batched(rows::first_input).shape(shape::same),
    row(layout_operator, 1, lower_layout).internal(),
    row("Reshape", {1, 2}, lower_view)
        .batched(rows::first_input)
        .shape(shape::reshape)
        .use(aliased_or_persistent)
        .moved(code_move::both)
        .uses_integers(use::passes_on, use::computes),
    row("Resize", {2, 4}, lower_resize).batched(rows::resize).shape(shape::resize).dims_from(1),
    row("Round", 1, lower_float_function).part(function).batched(rows::first_input).shape(shape::same),
    row("Selu", 1).batched(rows::first_input).shape(shape::same),
    row("Shape", 1).batched(rows::never).shape(shape::shape_of).int64(),
    row("Sigmoid", 1, lower_float_function)
        .part(function)
        .batched(rows::first_input)
        .shape(shape::same)
        .becomes(form::unary, "QLinearSigmoid"),
    row("SimplifiedLayerNormalization", 2, lower_simplified_layer_normalization)
        .batched(rows::inner_axis_or_last)
        .shape(shape::layer_normalization),
    row("Size", 1).batched(rows::never).shape(shape::size_of).int64(),
    row("SkipLayerNormalization", {3, 5}, lower_skip_layer_normalization)
        .in(domains::microsoft)
        .batched(rows::broadcast)
        .shape(shape::skip_layer_normalization),
    row("Slice", {1, 5}, lower_slice)
        .batched(rows::slice)
        .shape(shape::slice)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::compares)
        .dims_from(1, 3),
    row("Softmax", 1, lower_float_softmax)
        .batched(rows::inner_axis_or_last)
        .shape(shape::same)
        .becomes(form::unary, "QLinearSoftmax"),
    row("Softplus", 1, lower_float_function).batched(rows::first_input).shape(shape::same),
    row("Softsign", 1, lower_float_function).batched(rows::first_input).shape(shape::same),
    row("SpaceToDepth", 1, lower_space_to_depth)
        .batched(rows::windows)
        .shape(shape::space_to_depth)
        .layouts(follows)
        .moved(code_move::down),
    row("Split", {1, 2}, lower_split).batched(rows::inner_axis_or_first).shape(shape::split),
    row("Sqrt", 1, lower_float_function).part(function).batched(rows::first_input).shape(shape::same),
    row("Squeeze", {1, 2}, lower_view)
        .batched(rows::reduce)
        .shape(shape::squeeze)
        .use(aliased_or_persistent)
        .moved(code_move::both)
        .uses_integers(use::passes_on, use::computes),
    row("Sub", 2, lower_float_sub)
        .part(fusion_part::operand)
        .batched(rows::broadcast)
        .shape(shape::binary)
        .uses_integers(use::passes_on, use::passes_on)
        .arithmetic(),
    row("Sum", {1, any}, lower_sum).batched(rows::broadcast).shape(shape::variadic),
    row("Tanh", 1, lower_float_function).part(function).batched(rows::first_input).shape(shape::same),
    row("ThresholdedRelu", 1, lower_float_function).batched(rows::first_input).shape(shape::same),
    row("Tile", 2, lower_tile)
        .batched(rows::tile)
        .shape(shape::tile)
        .layouts(follows)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::computes)
        .dims_from(1),
    row("Transpose", 1, lower_onnx_transpose)
        .batched(rows::transpose)
        .shape(shape::transpose)
        .layouts(converts)
        .moved(code_move::both)
        .uses_integers(use::passes_on, use::computes),
    row("Unsqueeze", {1, 2}, lower_view)
        .batched(rows::unsqueeze)
        .shape(shape::unsqueeze)
        .use(aliased_or_persistent)
        .moved(code_move::both)
        .uses_integers(use::passes_on, use::computes),
    row("Where", 3, lower_where).batched(rows::broadcast).shape(shape::where).elements_of(1),
};

constexpr bool is_sorted(const row *begin, const row *end) {
    for (const row *r = begin; r + 1 < end; r++)
        if (!(std::string_view(r[0].name) < std::string_view(r[1].name)))
            return false;
    return true;
}
static_assert(is_sorted(std::begin(tflite), std::end(tflite)) && is_sorted(std::begin(onnx), std::end(onnx)));

struct framework_operators {
    const char *framework;
    const row *begin, *end;
};
constexpr framework_operators tables[] = {
    {"tflite", std::begin(tflite), std::end(tflite)},
    {"onnx", std::begin(onnx), std::end(onnx)},
};

} // namespace

std::string input_counts::text() const {
    if (least == most)
        return std::to_string(least);
    return std::to_string(least) + (most == any_number ? " or more" : " to " + std::to_string(most));
}

/// Asked for several times per node by whatever looks at a graph.
const operator_facts *find_operator(const std::string &framework, const std::string &op) {
    using rows_by_name = std::unordered_map<std::string_view, const row *>;
    static const std::vector<rows_by_name> all = [] {
        std::vector<rows_by_name> result;
        for (const framework_operators &t : tables) {
            rows_by_name &rows = result.emplace_back();
            for (const row *r = t.begin; r != t.end; r++)
                rows.emplace(r->name, r);
        }
        return result;
    }();
    for (std::size_t t = 0; t < std::size(tables); t++)
        if (framework == tables[t].framework) {
            const auto found = all[t].find(op);
            return found == all[t].end() ? nullptr : found->second;
        }
    return nullptr;
}

const operator_facts &facts_of(const std::string &framework, const std::string &op) {
    static constexpr operator_facts nothing_known("", {0, any});
    const operator_facts *known = find_operator(framework, op);
    return known ? *known : nothing_known;
}

bool is_onnx_operator(const std::string &op, bool in_microsoft) {
    const operator_facts *known = find_operator("onnx", op);
    return known && !known->is_internal &&
           (known->domain == domains::both || (known->domain == domains::microsoft) == in_microsoft);
}

std::vector<std::string> listed_operators(const std::string &framework) {
    std::vector<std::string> names;
    for (const framework_operators &t : tables)
        if (framework == t.framework)
            for (const row *r = t.begin; r != t.end; r++)
                if (!r->is_internal)
                    names.push_back(r->name);
    if (names.empty())
        refuse("networks of '" + framework + "' cannot be run, allowed are tflite and onnx");
    return names;
}

} // namespace octet::model
