// As `graph_transformer_utils.cc` of ONNX Runtime 1.30, all levels: the table is its list. Transformers that
// meet only nodes that compute sizes are not here, nor are those for other devices.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/rewrites/transformers.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "network/onnx/rewrites/ort_graph.hpp"

namespace octet::model {
namespace {

/// When: before all, over and over until nothing changes (level 1), where nodes are assigned to devices, over
/// and over again.
enum class stage { before, level1, assignment, level2 };

struct stage_facts {
    stage at;
    const char *name;
    int first_step, most_steps;
};
constexpr stage_facts stages[] = {{stage::before, "L0", 0, 1},
                                  {stage::level1, "L1", 1, 10},
                                  {stage::assignment, "P", 0, 1},
                                  {stage::level2, "L2", 1, 10}};

struct named_transformer {
    stage at;
    const char *name;
    ort::transformer transform;
    bool is_once = false; ///< in the first step alone
};

constexpr named_transformer transformers[] = {
    {stage::before, "EnsureUniqueDQForNodeUnit", ort::ensure_unique_dq},

    {stage::level1, "Level1_RuleBasedTransformer", ort::apply_level1_rules},
    {stage::level1, "DoubleQDQPairsRemover", ort::remove_double_pairs},
    {stage::level1, "CommonSubexpressionElimination", ort::eliminate_common_subexpressions},
    {stage::level1, "ConstantFolding", ort::fold_constants},
    {stage::level1, "MatMulAddFusion", ort::fuse_matmul_add},
    {stage::level1, "ReshapeFusion", ort::fuse_reshapes},
    {stage::level1, "SliceConcatToSpaceToDepthFusion", ort::fuse_space_to_depth},
    {stage::level1, "GeluFusionL1", ort::fuse_gelu_at_level1},
    {stage::level1, "LayerNormFusionL1", ort::fuse_layer_norm_at_level1},
    {stage::level1, "QDQPropagationTransformer", ort::propagate_qdq},
    {stage::level1, "WeightBiasQuantization", ort::quantize_weights_and_biases},
    {stage::level1, "EnsureUniqueDQForNodeUnit", ort::ensure_unique_dq},
    {stage::level1, "WhereDummyDq", ort::dequantize_where},
    {stage::level1, "TransposeOptimizer", ort::optimize_transposes, true},

    {stage::assignment, "FunctionInlining", ort::inline_functions},

    {stage::level2, "Level2_RuleBasedTransformer", ort::apply_level2_rules},
    {stage::level2, "TransposeOptimizer_CPUExecutionProvider", ort::optimize_transposes, true},
    {stage::level2, "QDQS8ToU8Transformer", ort::make_unsigned},
    {stage::level2, "QDQSelectorActionTransformer", ort::form_units},
    {stage::level2, "GemmActivationFusion", ort::fuse_gemm_activation},
    {stage::level2, "MatMulIntegerToFloatFusion", ort::fuse_matmul_integer_to_float},
    {stage::level2, "DynamicQuantizeMatMulFusion", ort::fuse_dynamic_quantize_matmul},
    {stage::level2, "ConvActivationFusion", ort::fuse_conv_activation},
    {stage::level2, "GeluFusionL2", ort::fuse_gelu_at_level2},
    {stage::level2, "LayerNormFusionL2", ort::fuse_layer_norm_at_level2},
    {stage::level2, "SimplifiedLayerNormFusion", ort::fuse_simplified_layer_norm},
    {stage::level2, "AttentionFusion", ort::fuse_attention},
    {stage::level2, "EmbedLayerNormFusion", ort::fuse_embed_layer_norm},
    {stage::level2, "GatherSliceToSplitFusion", ort::fuse_gathers},
    {stage::level2, "MatmulTransposeFusion", ort::fuse_matmul_transpose},
    {stage::level2, "BiasGeluFusion", ort::fuse_bias_gelu},
    {stage::level2, "MatMulAddFusion", ort::fuse_matmul_add_at_level2},
    {stage::level2, "SkipLayerNormFusion", ort::fuse_skip_layer_norm},
    {stage::level2, "BiasSkipLayerNormFusion", ort::fuse_bias_skip_layer_norm},
    {stage::level2, "FastGeluFusion", ort::fuse_fast_gelu},
    {stage::level2, "QuickGeluFusion", ort::fuse_quick_gelu},
    {stage::level2, "MatMulScaleFusion", ort::fuse_matmul_scale},
    {stage::level2, "MatMulNBitsFusion", ort::fuse_bias_of_blocks},
    {stage::level2, "QDQFinalCleanupTransformer", ort::cancel_pairs},
};

/// A transformer has changed the graph.
void count_change(graph &g) {
    for (node &n : g.nodes)
        if (const int left = marks_of(n).not_folded; left > 0)
            set_mark(n, &node_marks::not_folded, left - 1);
}

/// `work` for each node whose results nobody reads.
template <typename Work> void for_each_unread(graph_editor &e, const Work &work) {
    for (std::size_t n = 0, end = e.node_count(); n < end; n++)
        if (const node_id i(n);
            all_of(e.outputs(i), [&](tensor_id t) { return !t || e.consumers(t).empty(); }))
            work(i);
}

void keep_unread(graph &g, const std::set<tensor_id> &measured) {
    graph_editor e(g);
    for_each_unread(e, [&](node_id i) {
        node &n = node_at(g, i);
        const bool is_measured = any_of(outputs_of(n), [&](tensor_id t) { return measured.count(t) != 0; });
        set_mark(n, &node_marks::unread, is_measured ? kept_unread::for_sizes : kept_unread::yes);
    });
}

void drop_unread(graph &g) {
    for (node &n : g.nodes)
        if (marks_of(n).unread != kept_unread::no)
            set_mark(n, &node_marks::unread, kept_unread::no);
    graph_editor e(g);
    for_each_unread(e, [&](node_id i) { e.remove(i); });
    e.finish();
}

} // namespace

rewrite_history transform_as_onnx_runtime(graph &g, const evaluator &evaluate,
                                          const sized_constants &from_sizes, const network_options &options) {
    rewrite_history history;
    keep_unread(g, from_sizes.measured);
    std::set<tensor_id> folded;
    std::optional<ort_graph> editor;
    sized_constants sized = from_sizes;
    editor.emplace(g, evaluate, &sized, options, &folded);
    sized.open = editor->constants_of_open_sizes();
    for (const tensor_id t : *sized.open)
        if (editor->is_float(t))
            sized.open_floats.insert(t);
    for (const stage_facts &now : stages) {
        bool has_changed = true;
        for (int step = now.first_step; has_changed && step < now.first_step + now.most_steps; step++) {
            has_changed = false;
            for (const named_transformer &t : transformers) {
                if (t.at != now.at || (t.is_once && step != now.first_step))
                    continue;
                t.transform(*editor);
                if (!editor->finish())
                    continue;
                count_change(g);
                editor.emplace(g, evaluate, &sized, options, &folded);
                has_changed = true;
                history.passes.push_back(std::string(now.name) + "." + std::to_string(step) + " " + t.name);
            }
        }
    }
    drop_unread(g);
    for (const node &n : g.nodes)
        history.operators.push_back(n.op);
    return history;
}

} // namespace octet::model
