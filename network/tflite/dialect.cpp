// TFLite's networks: files say the types of all tensors, arithmetic is that of a profile, and nothing is
// rewritten.
// SPDX-License-Identifier: Apache-2.0
#include "network/dialects/dialects.hpp"
#include "network/passes/fold_integers.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/profiles/profiles.hpp"

namespace octet::model {
namespace {

const operator_table &tflite_operators() {
    static const operator_table rows{
        tflite_binary_operators,     tflite_code_tables_operators,
        tflite_dot_operators,        tflite_l2_normalization_operators,
        tflite_lstm_operators,       tflite_pool_softmax_quantize_operators,
        tflite_reductions_operators, tflite_reshape_transpose_pad_operators,
        tflite_resize_operators,     tflite_slice_split_gather_operators,
        tflite_svdf_operators,       tflite_tile_space_to_batch_operators,
        tflite_unary_operators,
    };
    return rows;
}

std::string tflite_operator(const std::string &, const std::string &op) { return op; }

rewrite_history prepare_tflite(graph &g, const network_options &, const evaluator &) {
    fold_integers(g);
    return {};
}

constexpr dialect described_tflite() {
    dialect d;
    d.name = "tflite";
    d.operators = tflite_operators;
    d.operator_name = tflite_operator;
    d.has_narrow_attributes = true;
    d.may_broadcast_batch = true;
    d.quantization = tflite_rule;
    d.find_runtime = find_tflite_runtime;
    d.prepare = prepare_tflite;
    return d;
}

} // namespace

const dialect tflite_dialect = described_tflite();

} // namespace octet::model
