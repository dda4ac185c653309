// The table. Rows are sorted by name, which the compiler checks: messages and documentation list them in that order.

#include "network/operators.hpp"

#include <iterator>
#include <string_view>
#include <unordered_map>

#include "network/lower/onnx.hpp"
#include "network/lower/tflite.hpp"
#include "network/onnx/shape_functions.hpp"
#include "network/tflite/shape_functions.hpp"

namespace octet::model {
namespace {

using row = operator_facts;
constexpr std::size_t any = input_counts::any_number;
constexpr auto accumulates = fusion_part::accumulates, function = fusion_part::function;
constexpr auto unusual = buffer_use::unusual;

constexpr row tflite[] = {
    row("ABS", 1, lower_abs).gives(tflite_shape::same).part(function),
    row("ADD", 2, lower_add).gives(tflite_shape::binary).sum_of(0, 1),
    row("ARG_MAX", 2, lower_tflite_arg_max).gives(tflite_shape::arg_extreme),
    row("ARG_MIN", 2, lower_tflite_arg_min).gives(tflite_shape::arg_extreme),
    row("AVERAGE_POOL_2D", 1, lower_average_pool_2d).gives(tflite_shape::pool_2d),
    row("BATCH_MATMUL", 2, lower_batch_matmul).gives(tflite_shape::batch_matmul).part(accumulates),
    row("BATCH_TO_SPACE_ND", 3, lower_batch_to_space_nd).gives(tflite_shape::batch_to_space_nd),
    row("BROADCAST_TO", 2, lower_expand)
        .gives(tflite_shape::broadcast_to)
        .mixing(tflite_shape::adds_dimensions)
        .use(unusual),
    row("CONCATENATION", {1, any}, lower_concatenation).gives(tflite_shape::concatenation),
    row("CONV_2D", {2, 3}, lower_conv_2d).gives(tflite_shape::conv_2d).part(accumulates).padded(),
    row("DEPTHWISE_CONV_2D", {2, 3}, lower_depthwise_conv_2d)
        .gives(tflite_shape::depthwise_conv_2d)
        .part(accumulates)
        .padded(),
    row("DEPTH_TO_SPACE", 1, lower_tflite_depth_to_space).gives(tflite_shape::depth_to_space),
    row("DEQUANTIZE", 1, lower_dequantize).gives(tflite_shape::same),
    row("ELU", 1, lower_elu).gives(tflite_shape::same).part(function),
    row("EXPAND_DIMS", 2, lower_reshape).gives(tflite_shape::expand_dims).use(unusual),
    row("FULLY_CONNECTED", {2, 3}, lower_fully_connected)
        .gives(tflite_shape::fully_connected)
        .part(accumulates),
    row("GATHER", 2, lower_tflite_gather).gives(tflite_shape::gather),
    row("HARD_SWISH", 1, lower_hard_swish).gives(tflite_shape::same).part(function),
    row("L2_NORMALIZATION", 1, lower_l2_normalization).gives(tflite_shape::same),
    row("LEAKY_RELU", 1, lower_leaky_relu).gives(tflite_shape::same).part(function),
    row("LOGISTIC", 1, lower_logistic).gives(tflite_shape::same).part(function),
    row("MAXIMUM", 2, lower_maximum).gives(tflite_shape::binary),
    row("MAX_POOL_2D", 1, lower_max_pool_2d).gives(tflite_shape::pool_2d),
    row("MEAN", 2, lower_mean).gives(tflite_shape::reduce),
    row("MINIMUM", 2, lower_minimum).gives(tflite_shape::binary),
    row("MIRROR_PAD", 2, lower_mirror_pad).gives(tflite_shape::pad),
    row("MUL", 2, lower_mul).gives(tflite_shape::binary),
    row("PACK", {1, any}, lower_pack).gives(tflite_shape::pack),
    row("PAD", 2, lower_pad).gives(tflite_shape::pad).use(unusual).padding(),
    row("PADV2", 3, lower_pad).gives(tflite_shape::pad).use(unusual).padding(),
    row("PRELU", 2, lower_prelu).gives(tflite_shape::same),
    row("QUANTIZE", 1, lower_quantize).gives(tflite_shape::same).part(function),
    row("REDUCE_MAX", 2, lower_tflite_reduce_max).gives(tflite_shape::reduce),
    row("REDUCE_MIN", 2, lower_tflite_reduce_min).gives(tflite_shape::reduce),
    row("RELU", 1, lower_relu).gives(tflite_shape::same).part(function),
    row("RELU6", 1, lower_relu6).gives(tflite_shape::same).part(function),
    row("RESHAPE", {1, 2}, lower_reshape).gives(tflite_shape::reshape).use(unusual),
    row("RESIZE_BILINEAR", 2, lower_resize_bilinear).gives(tflite_shape::resize),
    row("RESIZE_NEAREST_NEIGHBOR", 2, lower_resize_nearest_neighbor).gives(tflite_shape::resize),
    row("REVERSE_V2", 2, lower_reverse).gives(tflite_shape::same).mixing(tflite_shape::names_first_axis),
    row("RSQRT", 1, lower_rsqrt).gives(tflite_shape::same),
    row("SHAPE", 1, lower_shape).gives(tflite_shape::shape),
    row("SLICE", 3, lower_tflite_slice).gives(tflite_shape::slice),
    row("SOFTMAX", 1, lower_softmax).gives(tflite_shape::same),
    row("SPACE_TO_BATCH_ND", 3, lower_space_to_batch_nd).gives(tflite_shape::space_to_batch_nd).use(unusual),
    row("SPACE_TO_DEPTH", 1, lower_tflite_space_to_depth).gives(tflite_shape::space_to_depth),
    row("SPLIT", 2, lower_tflite_split).gives(tflite_shape::split),
    row("SPLIT_V", 3, lower_split_v).gives(tflite_shape::split_v),
    row("SQUARED_DIFFERENCE", 2, lower_squared_difference).gives(tflite_shape::binary),
    row("SQUEEZE", 1, lower_reshape).gives(tflite_shape::squeeze).use(unusual),
    row("STRIDED_SLICE", 4, lower_strided_slice)
        .gives(tflite_shape::strided_slice)
        .mixing(tflite_shape::has_negative_first_stride),
    row("SUB", 2, lower_sub).gives(tflite_shape::binary),
    row("SUM", 2, lower_tflite_sum).gives(tflite_shape::reduce),
    row("SVDF", {5, 5}, lower_svdf).gives(tflite_shape::svdf),
    row("TANH", 1, lower_tanh).gives(tflite_shape::same).part(function),
    row("TILE", 2, lower_tflite_tile).gives(tflite_shape::tile),
    row("TRANSPOSE", 2, lower_transpose).gives(tflite_shape::transpose),
    row("TRANSPOSE_CONV", {3, 4}, lower_transpose_conv).gives(tflite_shape::transpose_conv).part(accumulates),
    row("UNIDIRECTIONAL_SEQUENCE_LSTM", {20, 24}, lower_unidirectional_sequence_lstm)
        .gives(tflite_shape::sequence),
    row("UNPACK", 1, lower_unpack).gives(tflite_shape::unpack),
};

using form = quantized_form;
constexpr auto follows = layout_habit::follows, converts = layout_habit::converts;
constexpr auto channels_last = layout_habit::channels_last;

constexpr row onnx[] = {
    row("Abs", 1, lower_float_function).part(function).gives(shape::same),
    row("Add", 2, lower_float_add)
        .part(fusion_part::operand)
        .commutative()
        .gives(shape::binary)
        .becomes(form::binary, "QLinearAdd"),
    row("And", 2, lower_and).gives(shape::comparison),
    row("ArgMax", 1, lower_arg_max).gives(shape::arg_max),
    row("Attention", {2, 7}).in(domains::microsoft),
    row("AttentionMask", 2, lower_attention_mask).gives(shape::attention_mask).internal(),
    row("AveragePool", 1, lower_float_average_pool)
        .gives(shape::pooling)
        .becomes(form::unary, "QLinearAveragePool"),
    row("BatchNormalization", 5, lower_batch_normalization).gives(shape::same),
    row("BiasGelu", 2).in(domains::microsoft).gives(shape::same),
    row("Cast", 1, lower_cast).gives(shape::cast).use(unusual),
    row("Ceil", 1, lower_float_function).gives(shape::same),
    row("Clip", {1, 3}, lower_float_function).part(function).gives(shape::same),
    row("Concat", {1, any}, lower_concat).gives(shape::concat).becomes(form::concatenation, "QLinearConcat"),
    row("Constant", 0),
    row("ConstantOfShape", 1, lower_constant_of_shape).gives(shape::constant_of_shape),
    row("Conv", {2, 3}, lower_float_conv)
        .part(accumulates)
        .padded()
        .gives(shape::conv)
        .becomes(form::convolution, "QLinearConv"),
    row("ConvInteger", {2, 4}, lower_conv_integer).gives(shape::conv_integer).habit(layout_habit::gathers),
    row("ConvTranspose", {2, 3}, lower_float_conv_transpose).gives(shape::conv_transpose),
    row("DepthToSpace", 1, lower_depth_to_space)
        .gives(shape::depth_to_space)
        .habit(follows)
        .moved(code_move::down),
    row("DequantizeLinear", {2, 3}, lower_dequantize_linear)
        .in(domains::both)
        .scales(0, 1)
        .gives(shape::dequantize)
        .habit(converts),
    row("Div", 2, lower_float_div).part(fusion_part::operand).gives(shape::binary),
    row("Dropout", {1, 3}, lower_dropout).gives(shape::dropout).use(unusual).moved(code_move::both),
    row("DynamicQuantizeLinear", 1, lower_dynamic_quantize_linear).gives(shape::dynamic_quantize),
    row("DynamicQuantizeMatMul", {3, 5}).in(domains::microsoft),
    row("Elu", 1, lower_float_function).gives(shape::same),
    row("EmbedLayerNormalization", {7, 9}, lower_embed_layer_normalization)
        .in(domains::microsoft)
        .gives(shape::embed_layer_normalization),
    row("Equal", 2, lower_equal).gives(shape::comparison),
    row("Erf", 1, lower_float_function).part(function).gives(shape::same),
    row("Exp", 1, lower_float_function).part(function).gives(shape::same),
    row("Expand", 2, lower_expand).gives(shape::expand).use(unusual).moved(code_move::down),
    row("FastGelu", {1, 2}).in(domains::microsoft).gives(shape::same),
    row("Flatten", 1, lower_view).gives(shape::flatten).use(unusual).moved(code_move::down),
    row("Floor", 1, lower_float_function).gives(shape::same),
    row("FusedMatMul", 2, lower_fused_matmul).in(domains::microsoft).part(accumulates).gives(shape::matmul),
    row("Gather", 2, lower_gather).gives(shape::gather).moved(code_move::down),
    row("Gelu", 1, lower_float_function).in(domains::both).part(function).gives(shape::same),
    row("Gemm", {2, 3}, lower_float_gemm).part(accumulates).gives(shape::gemm).becomes(form::gemm, "QGemm"),
    row("GlobalAveragePool", 1, lower_float_global_average_pool)
        .gives(shape::global_pooling)
        .becomes(form::unary, "QLinearGlobalAveragePool"),
    row("GlobalMaxPool", 1, lower_float_global_max_pool).gives(shape::global_pooling),
    row("Greater", 2, lower_greater).gives(shape::comparison),
    row("GreaterOrEqual", 2, lower_greater_or_equal).gives(shape::comparison),
    row("HardSigmoid", 1, lower_float_hard_sigmoid).gives(shape::same),
    row("HardSwish", 1, lower_float_hard_swish).gives(shape::same),
    row("Identity", 1, lower_view).gives(shape::same).use(unusual).moved(code_move::both),
    row("InstanceNormalization", 3, lower_instance_normalization).gives(shape::same),
    row("LayerNormalization", {2, 3}, lower_layer_normalization).gives(shape::layer_normalization),
    row("LeakyRelu", 1, lower_float_function)
        .part(function)
        .gives(shape::same)
        .becomes(form::unary, "QLinearLeakyRelu"),
    row("Less", 2, lower_less).gives(shape::comparison),
    row("LessOrEqual", 2, lower_less_or_equal).gives(shape::comparison),
    row("Log", 1, lower_float_function).gives(shape::same),
    row("LogSoftmax", 1, lower_log_softmax).gives(shape::same),
    row("MatMul", 2, lower_float_matmul)
        .part(accumulates)
        .gives(shape::matmul)
        .becomes(form::matrix_product, "QLinearMatMul"),
    row("MatMulAdd", 3, lower_float_matmul_add).gives(shape::matmul).part(accumulates).internal(),
    row("MatMulInteger", {2, 4}, lower_matmul_integer).gives(shape::matmul_integer),
    row("MatMulIntegerToFloat", {4, 7}, lower_matmul_integer_to_float)
        .in(domains::microsoft)
        .part(accumulates)
        .gives(shape::matmul_integer_to_float),
    row("Max", {1, any}, lower_max).gives(shape::variadic),
    row("MaxPool", 1, lower_max_pool).gives(shape::pooling).habit(channels_last).moved(code_move::both),
    row("Mean", {1, any}, lower_mean_of_all).gives(shape::variadic),
    row("Min", {1, any}, lower_min).gives(shape::variadic),
    row("Mod", 2, lower_mod).gives(shape::binary),
    row("Mul", 2, lower_float_mul)
        .part(fusion_part::operand)
        .commutative()
        .gives(shape::binary)
        .becomes(form::binary, "QLinearMul"),
    row("Neg", 1, lower_float_function).gives(shape::same),
    row("Not", 1, lower_not).gives(shape::same),
    row("Or", 2, lower_or).gives(shape::comparison),
    row("PRelu", 2, lower_float_prelu).gives(shape::binary),
    row("Pad", {1, 4}, lower_onnx_pad)
        .in(domains::both)
        .gives(shape::pad)
        .use(unusual)
        .padding()
        .habit(follows)
        .moved(code_move::down),
    row("Pow", 2, lower_float_pow).gives(shape::power),
    row("QAttention", {5, 9}).in(domains::microsoft),
    row("QGemm", {6, 9}, lower_qgemm)
        .in(domains::microsoft)
        .scales(0, 2, 7)
        .gives(shape::qgemm)
        .part(accumulates),
    row("QLinearAdd", {7, 8}, lower_qlinear_add)
        .in(domains::microsoft)
        .scales(0, 2, 6)
        .gives(shape::qlinear_binary)
        .habit(follows)
        .sum_of(0, 3),
    row("QLinearAveragePool", {4, 5}, lower_qlinear_average_pool)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .gives(shape::pooling)
        .habit(channels_last),
    row("QLinearConcat", {5, any}, lower_qlinear_concat)
        .in(domains::microsoft)
        .scales(2, any, 0)
        .gives(shape::qlinear_concat)
        .habit(follows),
    row("QLinearConv", {8, 9}, lower_qlinear_conv)
        .in(domains::both)
        .scales(0, 2, 6)
        .gives(shape::qlinear_conv)
        .part(accumulates)
        .padded()
        .habit(layout_habit::gathers),
    row("QLinearGlobalAveragePool", {4, 5}, lower_qlinear_global_average_pool)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .gives(shape::global_pooling)
        .habit(channels_last),
    row("QLinearLeakyRelu", {4, 5}, lower_qlinear_leaky_relu)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .gives(shape::same)
        .habit(follows)
        .part(function),
    row("QLinearMatMul", 8, lower_qlinear_matmul)
        .scales(0, 2, 6)
        .gives(shape::qlinear_matmul)
        .part(accumulates),
    row("QLinearMul", {7, 8}, lower_qlinear_mul)
        .in(domains::microsoft)
        .scales(0, 2, 6)
        .gives(shape::qlinear_binary)
        .habit(follows),
    row("QLinearSigmoid", {4, 5}, lower_qlinear_sigmoid)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .gives(shape::same)
        .habit(follows)
        .part(function),
    row("QLinearSoftmax", {4, 5}, lower_qlinear_softmax)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .gives(shape::same),
    row("QuantizeLinear", {2, 3}, lower_quantize_linear)
        .in(domains::both)
        .scales(0, 0, 1)
        .gives(shape::quantize)
        .habit(layout_habit::chooses),
    row("QuickGelu", 1, lower_float_function).in(domains::microsoft).part(function).gives(shape::same),
    row("Range", 3, lower_range).in(domains::both).gives(shape::range),
    row("Reciprocal", 1, lower_float_function).part(function).gives(shape::same),
    row("ReduceL2", {1, 2}, lower_reduce_l2).gives(shape::reduce),
    row("ReduceMax", {1, 2}, lower_reduce_max).gives(shape::reduce).use(unusual),
    row("ReduceMean", {1, 2}, lower_reduce_mean).gives(shape::reduce).use(unusual),
    row("ReduceMin", {1, 2}, lower_reduce_min).gives(shape::reduce).use(unusual),
    row("ReduceSum", {1, 2}, lower_reduce_sum).gives(shape::reduce).use(unusual),
    row("Relu", 1, lower_float_function).part(function).gives(shape::same),
    row(layout_operator, 1, lower_layout).internal(),
    row("Reshape", {1, 2}, lower_view).gives(shape::reshape).use(unusual).moved(code_move::both),
    row("Resize", {2, 4}, lower_resize).gives(shape::resize),
    row("Round", 1, lower_float_function).part(function).gives(shape::same),
    row("Selu", 1).gives(shape::same),
    row("Shape", 1).gives(shape::shape_of),
    row("Sigmoid", 1, lower_float_function)
        .part(function)
        .gives(shape::same)
        .becomes(form::unary, "QLinearSigmoid"),
    row("SimplifiedLayerNormalization", 2, lower_simplified_layer_normalization)
        .gives(shape::layer_normalization),
    row("Size", 1).gives(shape::size_of),
    row("SkipLayerNormalization", {3, 5}, lower_skip_layer_normalization)
        .in(domains::microsoft)
        .gives(shape::skip_layer_normalization),
    row("Slice", {1, 5}, lower_slice).gives(shape::slice).moved(code_move::down),
    row("Softmax", 1, lower_float_softmax).gives(shape::same).becomes(form::unary, "QLinearSoftmax"),
    row("Softplus", 1, lower_float_function).gives(shape::same),
    row("Softsign", 1, lower_float_function).gives(shape::same),
    row("SpaceToDepth", 1, lower_space_to_depth)
        .gives(shape::space_to_depth)
        .habit(follows)
        .moved(code_move::down),
    row("Split", {1, 2}, lower_split).gives(shape::split),
    row("Sqrt", 1, lower_float_function).part(function).gives(shape::same),
    row("Squeeze", {1, 2}, lower_view).gives(shape::squeeze).use(unusual).moved(code_move::both),
    row("Sub", 2, lower_float_sub).part(fusion_part::operand).gives(shape::binary),
    row("Sum", {1, any}, lower_sum).gives(shape::variadic),
    row("Tanh", 1, lower_float_function).part(function).gives(shape::same),
    row("ThresholdedRelu", 1, lower_float_function).gives(shape::same),
    row("Tile", 2, lower_tile).gives(shape::tile).habit(follows).moved(code_move::down),
    row("Transpose", 1, lower_onnx_transpose).gives(shape::transpose).habit(converts).moved(code_move::both),
    row("Unsqueeze", {1, 2}, lower_view).gives(shape::unsqueeze).use(unusual).moved(code_move::both),
    row("Where", 3, lower_where).gives(shape::where),
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
