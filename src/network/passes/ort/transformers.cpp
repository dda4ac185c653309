// The table is ONNX Runtime's list. Those of its transformers that change no byte and decide nothing for others are not
// here: ReshapeFusion, GatherSliceToSplit, and those for other devices.
// SPDX-License-Identifier: Apache-2.0
#include "network/passes/ort/transformers.hpp"

#include <optional>

#include "network/passes/ort/ort_graph.hpp"

namespace octet::model {
namespace {

struct named_transformer {
    int level;
    const char *name;
    ort::transformer transform;
};

constexpr named_transformer transformers[] = {
    {0, "FunctionInlining", ort::inline_functions},
    {0, "EnsureUniqueDQForNodeUnit", ort::ensure_unique_dq},

    {1, "Level1_RuleBasedTransformer", ort::apply_level1_rules},
    {1, "DoubleQDQPairsRemover", ort::remove_double_pairs},
    {1, "CommonSubexpressionElimination", ort::eliminate_common_subexpressions},
    {1, "ConstantFolding", ort::fold_constants},
    {1, "MatMulAddFusion", ort::fuse_matmul_add},
    {1, "GeluFusionL1", ort::fuse_gelu_at_level1},
    {1, "LayerNormFusionL1", ort::fuse_layer_norm_at_level1},
    {1, "QDQPropagationTransformer", ort::propagate_qdq},
    {1, "WeightBiasQuantization", ort::quantize_weights_and_biases},
    {1, "EnsureUniqueDQForNodeUnit", ort::ensure_unique_dq},
    {1, "WhereDummyDq", ort::dequantize_where},
    {1, "TransposeOptimizer", ort::optimize_transposes},

    {2, "Level2_RuleBasedTransformer", ort::apply_level2_rules},
    {2, "QDQS8ToU8Transformer", ort::make_unsigned},
    {2, "QDQSelectorActionTransformer", ort::form_units},
    {2, "GemmActivationFusion", ort::fuse_gemm_activation},
    {2, "MatMulIntegerToFloatFusion", ort::fuse_matmul_integer_to_float},
    {2, "DynamicQuantizeMatMulFusion", ort::fuse_dynamic_quantize_matmul},
    {2, "ConvActivationFusion", ort::fuse_conv_activation},
    {2, "GeluFusionL2", ort::fuse_gelu_at_level2},
    {2, "LayerNormFusionL2", ort::fuse_layer_norm_at_level2},
    {2, "SimplifiedLayerNormFusion", ort::fuse_simplified_layer_norm},
    {2, "MatmulTransposeFusion", ort::fuse_matmul_transpose},
    {2, "BiasGeluFusion", ort::fuse_bias_gelu},
    {2, "MatMulAddFusion", ort::fuse_matmul_add_at_level2},
    {2, "SkipLayerNormFusion", ort::fuse_skip_layer_norm},
    {2, "BiasSkipLayerNormFusion", ort::fuse_bias_skip_layer_norm},
    {2, "FastGeluFusion", ort::fuse_fast_gelu},
    {2, "QuickGeluFusion", ort::fuse_quick_gelu},
    {2, "MatMulScaleFusion", ort::fuse_matmul_scale},
    {2, "MatMulNBitsFusion", ort::fuse_bias_of_blocks},
    {2, "QDQFinalCleanupTransformer", ort::cancel_pairs},
};
constexpr int last_level = 2;
constexpr int most_steps = 10;

} // namespace

std::vector<std::string> transform_as_onnx_runtime(graph &g, const evaluator &evaluate,
                                                   const sized_constants &from_sizes) {
    std::vector<std::string> fired;
    std::optional<ort_graph> editor;
    editor.emplace(g, evaluate, from_sizes);
    for (int level = 0; level <= last_level; level++) {
        bool has_changed = true;
        for (int step = 1; has_changed && step <= (level == 0 ? 1 : most_steps); step++) {
            has_changed = false;
            for (const named_transformer &t : transformers) {
                if (t.level != level)
                    continue;
                t.transform(*editor);
                if (!editor->finish())
                    continue;
                editor.emplace(g, evaluate, from_sizes);
                has_changed = true;
                fired.push_back("L" + std::to_string(level) + "." + std::to_string(level == 0 ? 0 : step) +
                                " " + t.name);
            }
        }
    }
    return fired;
}

} // namespace octet::model
