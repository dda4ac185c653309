// Matrix products whose source is quantized while they run: the quantizer and the order of operations of each
// contract, as src/common defines them, on the recorded source and weights, and where networks have operators for it
// also these. Start at the table of contracts.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "check/check.hpp"
#include "check/dynamic_operands.hpp"
#include "check/dynamic_primitive.hpp"
#include "common/element.hpp"
#include "common/ggml_blocks.hpp"

namespace octet::vectors {
namespace {

using impl::block_format;
using impl::source_parameters;

/// The value in the type of an expected tensor; a NaN as the file writes it.
template <typename Values> std::vector<std::uint8_t> bytes_in(data_type type, const Values &values) {
    std::vector<std::uint8_t> bytes(values.size() * memory::data_type_size(type));
    for (std::size_t i = 0; i < values.size(); i++)
        if (!impl::is_real(type))
            impl::store_s32(bytes.data(), type, static_cast<dim_t>(i), static_cast<std::int32_t>(values[i]));
        else
            impl::store_f32(bytes.data(), type, static_cast<dim_t>(i),
                            values[i] != values[i] ? std::nanf("") : static_cast<float>(values[i]));
    return bytes;
}

/// Empty, or where the values differ from a tensor of the case.
template <typename Values>
std::string difference(const dynamic_case &c, const char *part, const char *name, const Values &values) {
    const tensor_record expected = c.tensor(part, name);
    const std::vector<std::uint8_t> got = bytes_in(expected.type, values);
    return first_difference(name, expected.type, expected.dims, expected.bytes, {got.data(), got.size()});
}

/// Compares what the file records of the quantizer alone.
std::string quantizer_difference(const dynamic_case &c, const dynamic_source &s) {
    std::vector<float> scales, inverses;
    std::vector<std::int32_t> zero_points;
    for (const source_parameters &p : s.parameters) {
        scales.push_back(p.scale);
        inverses.push_back(p.inverse);
        zero_points.push_back(p.zero_point);
    }
    const json_value recorded = c.part("intermediate");
    std::string text;
    const auto compare = [&](const char *name, const auto &values) {
        if (text.empty() && recorded.has(name))
            text = difference(c, "intermediate", name, values);
    };
    compare("x_codes", s.codes);
    compare("x_scale", scales);
    compare("x_inverse", inverses);
    compare("x_zero_point", zero_points);
    return text;
}

// ---- results

/// Both of the file's clamps keep NaN; they differ in zeros of another sign.
float clamped(const dynamic_case &c, float y) {
    const json_value params = c.params();
    if (params.has("clamp")) {
        const std::vector<float> bounds = params["clamp"].list<float>();
        if (bounds.size() != 2)
            params["clamp"].fail("has " + std::to_string(bounds.size()) + " numbers, allowed: 2");
        const bool keeps_zeros = c.contract().rfind("dynamic_", 0) == 0;
        if (keeps_zeros ? y < bounds[0] : y <= bounds[0])
            y = bounds[0];
        if (keeps_zeros ? y > bounds[1] : y >= bounds[1])
            y = bounds[1];
    }
    if (params.has("activation")) {
        const std::string activation = params["activation"].text();
        if (activation == "RELU6")
            y = std::min(6.f, y);
        if (activation != "NONE")
            y = 0.f < y ? y : 0.f;
    }
    return y;
}

std::vector<float> bias_of(const dynamic_case &c, const dynamic_weights &w) {
    return c.has_input("bias") ? floats_of(c.input("bias", {w.columns})) : std::vector<float>();
}

std::vector<float> product(const dynamic_case &c, combination order, const dynamic_source &x,
                           const dynamic_weights &w) {
    const std::vector<float> bias = bias_of(c, w);
    const bool is_bias_alone = impl::facts_of(order).keeps_bias_of_zeros && x.is_zero;
    std::vector<float> y;
    for (dim_t m = 0; m < x.rows; m++)
        for (dim_t n = 0; n < w.columns; n++) {
            const float *b = bias.empty() ? nullptr : &bias[static_cast<std::size_t>(n)];
            const float value =
                is_bias_alone ? (b ? *b : 0.f) : combine(order, x.k, w.group, x.row(m), w.column(n), b);
            y.push_back(clamped(c, value));
        }
    return y;
}

/// Empty, or how the definition or, where it takes the order, the primitive differs.
std::string product_difference(const dynamic_case &c, const char *name, combination order,
                               const dynamic_source &x, const dynamic_weights &w) {
    std::string text = difference(c, "outputs", name, product(c, order, x, w));
    if (!text.empty() || !w.offsets.empty()) // which no primitive has
        return text;
    const std::vector<float> values = floats_of(c.input("x", {x.rows, x.k}));
    std::vector<float> y = product_by_primitive(order, values, x, w, bias_of(c, w));
    for (float &value : y)
        value = clamped(c, value);
    text = difference(c, "outputs", name, y);
    return text.empty() ? text : "the primitive: " + text;
}

struct output_form {
    const char *name;
    combination order;
};

// ---- the contracts

struct contract_form {
    const char *name;
    source_quantizer by;
    parameter_span shared;
    weights_form weights;
    std::vector<output_form> outputs;
};

const contract_form contract_forms[] = {
    {"dynamic_row",
     source_quantizer::dynamic,
     parameter_span::row,
     weights_form::plain,
     {{"y", combination::dynamic_row}}},
    {"dynamic_group",
     source_quantizer::dynamic,
     parameter_span::row,
     weights_form::by_parameters,
     {{"y", combination::dynamic_group}}},
    {"xnn_qd8_qc8w",
     source_quantizer::xnnpack,
     parameter_span::row,
     weights_form::plain,
     {{"y", combination::xnnpack}, {"y_scalar", combination::xnnpack_unfused}}},
    {"xnn_qd8_qc4w",
     source_quantizer::xnnpack,
     parameter_span::row,
     weights_form::nibbles,
     {{"y", combination::xnnpack}, {"y_scalar", combination::xnnpack_unfused}}},
    {"xnn_qd8_qb4w",
     source_quantizer::xnnpack,
     parameter_span::row,
     weights_form::nibbles,
     {{"y", combination::xnnpack_groups},
      {"y_avx2", combination::xnnpack_groups_avx2},
      {"y_sse", combination::xnnpack_groups_sse},
      {"y_scalar", combination::xnnpack_groups_scalar}}},
    {"kleidiai_qai8dx_qsi8cx",
     source_quantizer::kleidiai,
     parameter_span::row,
     weights_form::plain,
     {{"y", combination::kleidiai}}},
    {"kleidiai_qai8dx_qsi4cx",
     source_quantizer::kleidiai,
     parameter_span::row,
     weights_form::nibbles,
     {{"y", combination::kleidiai}}},
    {"kleidiai_qai8dx_qsi4c32",
     source_quantizer::kleidiai,
     parameter_span::row,
     weights_form::nibbles,
     {{"y", combination::kleidiai_groups}, {"y_kr8", combination::kleidiai_groups_of_4}}},
    {"litert_hybrid",
     source_quantizer::litert,
     parameter_span::row,
     weights_form::plain,
     {{"y", combination::litert}}},
    {"ort_dynamic_quantize_matmul",
     source_quantizer::onnxruntime,
     parameter_span::tensor,
     weights_form::onnx,
     {{"y", combination::onnxruntime}}},
    {"ort_matmul_integer_chain",
     source_quantizer::onnxruntime,
     parameter_span::tensor,
     weights_form::onnx,
     {{"y", combination::onnxruntime}}},
    {"pytorch_qnnpack_linear_dynamic",
     source_quantizer::qnnpack,
     parameter_span::tensor,
     weights_form::plain,
     {{"y", combination::qnnpack}}},
};

std::string product_complaint(const dynamic_case &c, const contract_form &form) {
    const dynamic_source x = quantized(c, form.by, form.shared);
    std::string complaint = quantizer_difference(c, x);
    const dynamic_weights w = weights_of(c, form.weights, x.k);
    for (const output_form &y : form.outputs)
        if (complaint.empty())
            complaint = product_difference(c, y.name, y.order, x, w);
    return complaint;
}

// ---- contracts of another form

/// DynamicQuantizeLinear: the quantizer alone.
std::string quantize_linear_complaint(const dynamic_case &c) {
    const dynamic_source x = quantized(c, source_quantizer::onnxruntime, parameter_span::tensor);
    std::string complaint = difference(c, "outputs", "y", x.codes);
    if (complaint.empty())
        complaint = difference(c, "outputs", "y_scale", std::vector<float>{x.parameters[0].scale});
    if (complaint.empty())
        complaint =
            difference(c, "outputs", "y_zero_point", std::vector<std::int32_t>{x.parameters[0].zero_point});
    return complaint;
}

/// MatMulIntegerToFloat: the source is quantized already.
std::string integer_to_float_complaint(const dynamic_case &c) {
    const tensor_record a = c.input("a", {dynamic_case::any, dynamic_case::any});
    dynamic_source x;
    x.rows = a.dims[0];
    x.k = x.group = a.dims[1];
    x.is_tensor = true;
    x.codes = codes_of(a);
    x.parameters = {{floats_of(c.input("a_scale", {1}))[0], 1.f, optional_code(c, "a_zero_point")}};
    return difference(c, "outputs", "y",
                      product(c, combination::onnxruntime, x, weights_of(c, weights_form::onnx, x.k)));
}

struct block_contract {
    const char *name;
    block_format source, weights;
    combination order;
};
const block_contract block_contracts[] = {
    {"ggml_q8_0", block_format::q8_0, block_format::q8_0, combination::ggml_q8_0},
    {"ggml_q4_0", block_format::q8_0, block_format::q4_0, combination::ggml_q4_0},
    {"ggml_q4_1", block_format::q8_1, block_format::q4_1, combination::ggml_q4_1},
};

std::vector<std::uint8_t> as_blocks(const std::vector<float> &x, block_format format, source_quantizer by) {
    std::vector<std::uint8_t> blocks(
        static_cast<std::size_t>(impl::bytes_of_row(format, static_cast<dim_t>(x.size()))));
    impl::quantize_blocks(format, x.data(), static_cast<dim_t>(x.size()), blocks.data(), by);
    return blocks;
}

/// Calls `take` with the values of each block.
template <typename Take> void for_each_block(byte_view blocks, block_format format, Take take) {
    const auto bytes = static_cast<std::size_t>(impl::facts_of(format).bytes);
    for (std::size_t at = 0; at + bytes <= blocks.size; at += bytes)
        take(impl::read_block(format, blocks.data + at), blocks.data + at);
}

std::string block_complaint(const dynamic_case &c, const block_contract &form) {
    constexpr dim_t any = dynamic_case::any;
    const tensor_record x_record = c.input("x", {any, any});
    const tensor_record w_record = c.input("w", {any, impl::bytes_of_row(form.weights, x_record.dims[1])});
    dynamic_weights w;
    w.columns = w_record.dims[0];
    w.k = x_record.dims[1];
    w.group = impl::facts_of(form.weights).elements;
    w.zero_points = {0};
    for_each_block(w_record.bytes, form.weights, [&](const impl::block_values &v, const std::uint8_t *) {
        w.codes.insert(w.codes.end(), v.codes.begin(), v.codes.begin() + w.group);
        w.scales.push_back(v.scales[0]);
        if (impl::facts_of(form.weights).has_offset)
            w.offsets.push_back(v.offsets[0]);
    });
    const struct {
        source_quantizer by;
        const char *blocks, *y;
        combination order;
    } paths[] = {{source_quantizer::ggml, "x_blocks", "y", form.order},
                 {source_quantizer::ggml_avx2, "x_blocks_avx2", "y_avx2", combination::ggml_avx2}};
    std::string complaint;
    for (const auto &path : paths) {
        const std::vector<std::uint8_t> blocks = as_blocks(floats_of(x_record), form.source, path.by);
        if (complaint.empty())
            complaint = difference(c, "intermediate", path.blocks, blocks);
        dynamic_source x;
        x.rows = x_record.dims[0];
        x.k = x_record.dims[1];
        x.group = w.group;
        x.has_groups = true;
        x.quantization = {path.by, source_mode::symmetric, data_type::s8, source_span::group};
        const auto take = [&](const impl::block_values &v, const std::uint8_t *block) {
            x.codes.insert(x.codes.end(), v.codes.begin(), v.codes.begin() + x.group);
            x.parameters.push_back({v.scales[0], 0.f, 0});
            if (form.source == block_format::q8_1)
                x.sums.push_back(impl::load_f32(block, data_type::f16, 1));
        };
        for_each_block({blocks.data(), blocks.size()}, form.source, take);
        if (complaint.empty())
            complaint = product_difference(c, path.y, path.order, x, w);
    }
    return complaint;
}

/// Empty, or how the case differs.
std::string complaint_of(const dynamic_case &c) {
    const std::string contract = c.contract();
    for (const contract_form &form : contract_forms)
        if (contract == form.name)
            return product_complaint(c, form);
    for (const block_contract &form : block_contracts) {
        if (contract == form.name)
            return block_complaint(c, form);
        if (contract == std::string("ggml_quantize_") + impl::facts_of(form.weights).name)
            return difference(c, "outputs", "blocks",
                              as_blocks(floats_of(c.input("x", {dynamic_case::any, dynamic_case::any})),
                                        form.weights, source_quantizer::ggml));
    }
    if (contract == "ort_dynamic_quantize_linear")
        return quantize_linear_complaint(c);
    if (contract == "ort_matmul_integer_to_float")
        return integer_to_float_complaint(c);
    c.part("contract").fail("is '" + contract + "', which is no known contract");
}

} // namespace

void replay_dynamic_products(const vector_file &file, const options &opt, report &results) {
    const std::vector<std::uint8_t> blob = file.read_blob();
    for (const json_value &item : file.root()["cases"].items()) {
        const dynamic_case c(item, blob);
        if (!results.wants(c.contract()))
            continue;
        results.begin(c.name());
        try {
            const std::string complaint = complaint_of(c);
            const std::optional<operator_case> network = network_of(c);
            if (network && complaint.empty())
                replay(*network, opt, results);
            else
                results.judge(c.contract(), c.name(), complaint, "definition");
        } catch (const malformed_file &) {
            throw;
        } catch (const error &e) {
            results.fail(c.contract(), c.name(), e.what());
        }
    }
}

} // namespace octet::vectors
