// ONNX's networks, whose bytes are those of ONNX Runtime: its transformers come first (onnx/rewrites), then what
// Octet's operators need of a graph (onnx/layouts).
// SPDX-License-Identifier: Apache-2.0
#include "network/dialects/dialects.hpp"
#include "network/onnx/layouts/layouts.hpp"
#include "network/onnx/layouts/octet_operators.hpp"
#include "network/onnx/layouts/quantization.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/rewrites/sized_constants.hpp"
#include "network/onnx/rewrites/transformers.hpp"
#include "network/passes/fusion.hpp"
#include "octet/network.hpp"
#include "octet/onnx_graph.hpp"

namespace octet::model {
namespace {

const operator_table &onnx_operators() {
    static const operator_table rows{
        onnx_argmax_softmax_norms_operators,
        onnx_attention_operators,
        onnx_attention_mask_operators,
        onnx_block_product_operators,
        onnx_deconvolution_operators,
        onnx_dot_operators,
        onnx_dynamic_quantize_lstm_operators,
        onnx_fill_range_operators,
        onnx_float_conv_operators,
        onnx_float_elements_operators,
        onnx_float_functions_operators,
        onnx_float_operands_operators,
        onnx_float_powers_operators,
        onnx_float_products_operators,
        onnx_float_reductions_operators,
        onnx_gather_blocks_operators,
        onnx_gather_scatter_nd_operators,
        onnx_gather_slice_concat_operators,
        onnx_group_query_attention_operators,
        onnx_gru_operators,
        onnx_lrn_operators,
        onnx_lstm_operators,
        onnx_max_min_operators,
        onnx_multi_head_attention_operators,
        onnx_pool_operators,
        onnx_qlinear_elementwise_operators,
        onnx_quantize_linear_operators,
        onnx_reduce_max_min_operators,
        onnx_reduce_mean_sum_operators,
        onnx_reshape_transpose_pad_operators,
        onnx_resize_operators,
        onnx_rewritten_operators,
        onnx_rms_normalization_operators,
        onnx_rnn_operators,
        onnx_rotary_embedding_operators,
        onnx_skip_layer_normalization_operators,
        onnx_tile_space_to_depth_operators,
        onnx_topk_cumsum_onehot_operators,
    };
    return rows;
}

rewrite_history prepare_onnx(graph &g, const network_options &options, const evaluator &evaluate) {
    const sized_constants from_sizes = take_sized_constants(g);
    rewrite_history done = transform_as_onnx_runtime(g, evaluate, from_sizes, options);
    use_octet_operators(g, evaluate);
    note_quantization(g);
    note_sums(g, options);
    return done;
}

constexpr dialect described_onnx() {
    dialect d;
    d.name = "onnx";
    d.operators = onnx_operators;
    d.operator_name = onnx_operator;
    d.complete = complete_onnx_graph;
    d.infers_all = true;
    d.quantization = onnxruntime_rule;
    d.prepare = prepare_onnx;
    d.assign_layouts = assign_layouts;
    d.fuse = fuse_floats;
    return d;
}

} // namespace

const dialect onnx_dialect = described_onnx();

} // namespace octet::model
