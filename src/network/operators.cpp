// The families of each framework's operators, and their rows by name.
// SPDX-License-Identifier: Apache-2.0
#include "network/operators.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "network/ops/onnx/onnx.hpp"
#include "network/ops/tflite/tflite.hpp"

namespace octet::model {
namespace {

constexpr operator_rows (*tflite[])() = {
    tflite_binary_operators,
    tflite_choices_operators,
    tflite_code_tables_operators,
    tflite_data_operators,
    tflite_dot_operators,
    tflite_elementwise_operators,
    tflite_l2_normalization_operators,
    tflite_lstm_operators,
    tflite_rearranging_operators,
    tflite_reductions_operators,
    tflite_resize_operators,
    tflite_svdf_operators,
    tflite_unary_operators,
};

constexpr operator_rows (*onnx[])() = {
    onnx_attention_mask_operators,
    onnx_block_product_operators,
    onnx_choices_operators,
    onnx_data_operators,
    onnx_deconvolution_operators,
    onnx_dot_operators,
    onnx_elementwise_operators,
    onnx_float_conv_operators,
    onnx_float_elements_operators,
    onnx_float_extremes_operators,
    onnx_float_row_extremes_operators,
    onnx_float_operands_operators,
    onnx_float_products_operators,
    onnx_float_reductions_operators,
    onnx_float_rows_operators,
    onnx_float_sums_operators,
    onnx_indices_operators,
    onnx_lines_operators,
    onnx_moving_operators,
    onnx_normalization_operators,
    onnx_pool_operators,
    onnx_rearranging_operators,
    onnx_replaced_operators,
    onnx_resize_operators,
    onnx_rms_normalization_operators,
    onnx_values_operators,
};

using rows_by_name = std::unordered_map<std::string_view, const operator_facts *>;

template <std::size_t n> rows_by_name joined(operator_rows (*const (&families)[n])()) {
    rows_by_name result;
    for (const auto family : families)
        for (const operator_facts &row : family())
            if (!result.emplace(row.name, &row).second)
                throw std::logic_error(std::string("operator ") + row.name + " has two rows");
    return result;
}

/// Null for a framework that is not known. A process that loads files of one framework never makes the other's table.
const rows_by_name *operators_of(std::string_view framework) {
    if (framework == "onnx") {
        static const rows_by_name rows = joined(onnx);
        return &rows;
    }
    if (framework == "tflite") {
        static const rows_by_name rows = joined(tflite);
        return &rows;
    }
    return nullptr;
}

} // namespace

/// Asked for several times per node by whatever looks at a graph.
const operator_facts *find_operator(std::string_view framework, std::string_view op) {
    const rows_by_name *rows = operators_of(framework);
    if (!rows)
        return nullptr;
    const auto found = rows->find(op);
    return found == rows->end() ? nullptr : found->second;
}

const operator_facts &facts_of(std::string_view framework, std::string_view op) {
    static constexpr operator_facts nothing_known("", {0, input_counts::any_number});
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
    const rows_by_name *rows = operators_of(framework);
    if (!rows)
        refuse("networks of '" + framework + "' cannot be run, allowed are tflite and onnx");
    for (const auto &[name, row] : *rows)
        if (!row->is_internal)
            names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace octet::model
