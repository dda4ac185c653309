#pragma once // SPDX-License-Identifier: Apache-2.0

// ONNX Runtime's graph, from which the bytes of its results follow: its transformers as named passes, in its
// order. What a pass recognizes, how exactly and in which order is what version 1.30 does with all
// optimizations on x86-64. Start at the table in transformers.cpp.

#include "network/graph/evaluator.hpp"
#include "network/onnx/rewrites/sized_constants.hpp"
#include "network/rewrites.hpp"
#include "octet/network.hpp"

namespace octet::model {

class ort_graph;

/// Makes of an .onnx file's graph the one that ONNX Runtime would run. Constants `from_sizes` are those of
/// `take_sized_constants`.
rewrite_history transform_as_onnx_runtime(graph &g, const evaluator &evaluate,
                                          const sized_constants &from_sizes = {},
                                          const network_options &options = {});

namespace ort {

/// One transformer; it tells by its changes whether it found anything.
using transformer = void (*)(ort_graph &);

// Questions about what follows a product (rules_products.cpp)

/// Whether floats c are C of a Gemm whose result is y {m, n}: {n}, {1, n}, {m, 1} or {m, n}.
bool is_bias_of_gemm(const ort_graph &g, tensor_id c, tensor_id y);

/// y = x * factor + term of each channel.
struct channel_factors {
    std::vector<float> factors, terms;
};
/// Folds the constants of a BatchNormalization of one output, each operation rounded to f32:
///   factor = scale / sqrt(variance + epsilon)
///   term   = shift - mean * factor, or, behind a bias, (bias - mean) * factor + shift
/// Returns nothing if they are no floats per channel in the file.
std::optional<channel_factors> folded_normalization(const ort_graph &g, node_id norm, dim_t channels,
                                                    const std::vector<float> *bias = nullptr);

// Rules (rules.cpp, rules_products.cpp)
void apply_level1_rules(ort_graph &g);
void apply_level2_rules(ort_graph &g);
void eliminate(ort_graph &g, node_id node);
void fuse_products(ort_graph &g, node_id node);
void transpose_gemm(ort_graph &g, node_id node);

// Constants and common parts (sharing.cpp)
void eliminate_common_subexpressions(ort_graph &g);
void fold_constants(ort_graph &g);
void inline_functions(ort_graph &g);

// Products of matrices (products.cpp)
void fuse_matmul_add(ort_graph &g); ///< keeps those of an attention apart
void fuse_matmul_add_at_level2(ort_graph &g);
void fuse_matmul_integer_to_float(ort_graph &g);
void fuse_dynamic_quantize_matmul(ort_graph &g);
void split_dynamic_quantize_matmul(ort_graph &g, node_id node); ///< both operators again
void order_scales(ort_graph &g,
                  node_id node); ///< of MatMulIntegerToFloat, whose scales' product does not tell them apart
/// Splits a MatMulIntegerToFloat into its parts again if both scales are computed, or one is 0, or they are
/// not a number and a row.
void split_scales(ort_graph &g, node_id node);
void fuse_matmul_transpose(ort_graph &g);
void split_batch_transpose(ort_graph &g, node_id node);
void fuse_matmul_scale(ort_graph &g);

// Activations (activations.cpp)
void fuse_gelu_at_level1(ort_graph &g);
void fuse_gelu_at_level2(ort_graph &g);
void fuse_bias_gelu(ort_graph &g);
void fuse_fast_gelu(ort_graph &g);
void fuse_quick_gelu(ort_graph &g);

// Activations of products (fused_activations.cpp)
void fuse_gemm_activation(ort_graph &g);
void fuse_conv_activation(ort_graph &g);
void split_activation(ort_graph &g, node_id node); ///< both operators again

// Norms (norms.cpp)
void fuse_layer_norm_at_level1(ort_graph &g);
void fuse_layer_norm_at_level2(ort_graph &g);
void fuse_simplified_layer_norm(ort_graph &g);
void fuse_skip_layer_norm(ort_graph &g);
void fuse_bias_skip_layer_norm(ort_graph &g);

// Attention (attention.cpp)
void fuse_attention(ort_graph &g);
void fuse_embed_layer_norm(ort_graph &g);

// Moving elements
void optimize_transposes(ort_graph &g); ///< transposes.cpp
void fuse_reshapes(ort_graph &g);       ///< reshapes.cpp
void fuse_space_to_depth(ort_graph &g); ///< space_to_depth.cpp
void fuse_gathers(ort_graph &g);        ///< gathers.cpp

// QuantizeLinear and DequantizeLinear
void ensure_unique_dq(ort_graph &g); ///< qdq_pairs.cpp, as those up to drop_implied_limits
void remove_double_pairs(ort_graph &g);
/// Two operators with a scale of 1 for one with 0, which two pairs may have in common; nearly 0 for quantized
/// operators.
void split_scale_of_zero(ort_graph &g, node_id node);
void propagate_qdq(ort_graph &g);
void dequantize_where(ort_graph &g);
void make_unsigned(ort_graph &g);
void drop_implied_limit(ort_graph &g, node_id node);
void quantize_weights_and_biases(ort_graph &g);          ///< qdq_weights.cpp
void form_units(ort_graph &g);                           ///< qdq_units.cpp
void split_choice(ort_graph &g, node_id node);           ///< QLinearWhere, to floats again
void form_product_of_blocks(ort_graph &g, node_id node); ///< qdq_blocks.cpp
void fuse_bias_of_blocks(ort_graph &g);
void cancel_pairs(ort_graph &g); ///< qdq_pairs.cpp

} // namespace ort
} // namespace octet::model
