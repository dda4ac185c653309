// Reads operands; whatever does not fit the other inputs of its case is a malformed file.
// SPDX-License-Identifier: Apache-2.0
#include "check/dynamic_operands.hpp"

#include <algorithm>

#include "common/element.hpp"

namespace octet::vectors {

namespace {

/// Each element as `load` reads it, from a copy: a blob promises its tensors no alignment.
template <typename value>
std::vector<value> elements_of(const tensor_record &t, value (*load)(const void *, data_type, dim_t)) {
    const std::vector<std::uint8_t> aligned(t.bytes.data, t.bytes.data + t.bytes.size);
    std::vector<value> values;
    for (dim_t i = 0; i < model::element_count(t.dims); i++)
        values.push_back(load(aligned.data(), t.type, i));
    return values;
}

} // namespace

std::vector<float> floats_of(const tensor_record &t) { return elements_of(t, impl::load_f32); }
std::vector<std::int32_t> codes_of(const tensor_record &t) { return elements_of(t, impl::load_s32); }

namespace {

/// A tensor of one value or one per column, or where there are groups one for each of them; empty if absent.
tensor_record per_column(const dynamic_case &c, const char *name, dim_t columns, dim_t groups) {
    constexpr dim_t any = dynamic_case::any;
    if (groups > 0)
        return c.input(name, {columns, groups});
    const tensor_record t = c.input(name, {any});
    return t.dims[0] == 1 ? t : c.input(name, {columns});
}
/// Values of a file's scalar, 0 if absent.

} // namespace

std::int32_t optional_code(const dynamic_case &c, const char *name) {
    return c.has_input(name) ? codes_of(c.input(name, {1}))[0] : 0;
}

dynamic_source quantized(const dynamic_case &c, source_quantizer by, parameter_span shared) {
    const tensor_record x = c.input("x", {dynamic_case::any, dynamic_case::any});
    const std::vector<float> values = floats_of(x);
    const json_value params = c.params();
    source_quantization q{by, source_mode::asymmetric, data_type::s8};
    if (by == source_quantizer::onnxruntime || by == source_quantizer::qnnpack)
        q.code = data_type::u8;
    if ((params.has("mode") && params["mode"].text() == "sym") ||
        (params.has("asymmetric") && !params["asymmetric"].boolean()))
        q.mode = source_mode::symmetric;
    if (params.has("code"))
        q.code = type_from_text(params["code"]);
    q.span = shared == parameter_span::tensor ? source_span::tensor : source_span::row;
    dynamic_source s;
    s.rows = x.dims[0];
    s.k = s.group = x.dims[1];
    s.is_tensor = shared == parameter_span::tensor;
    s.is_zero = std::all_of(values.begin(), values.end(), [](float v) { return v == 0.f; });
    s.has_groups = params.has("source_scale") && params["source_scale"].text() == "group";
    if (s.has_groups)
        q.span = source_span::group;
    s.quantization = q;
    if (s.has_groups)
        s.group = params["group"].integer(1, s.k);
    const dim_t rows = s.is_tensor ? 1 : s.rows, k = s.is_tensor ? s.rows * s.k : s.k;
    const dim_t group = s.is_tensor ? k : s.group;
    std::vector<std::uint8_t> codes(values.size());
    s.parameters.resize(static_cast<std::size_t>(rows * impl::div_up(k, group)));
    impl::quantize_source(q, values.data(), rows, k, group, codes.data(), s.parameters.data());
    for (std::size_t i = 0; i < codes.size(); i++)
        s.codes.push_back(impl::load_s32(codes.data(), q.code, static_cast<dim_t>(i)));
    return s;
}

namespace {

/// Codes of rows that begin with a byte each.
std::vector<std::int32_t> unpacked(const tensor_record &w, data_type type, dim_t k) {
    std::vector<std::int32_t> codes;
    for (dim_t n = 0; n < w.dims[0]; n++)
        for (dim_t i = 0; i < k; i++)
            codes.push_back(impl::load_s32(w.bytes.data + n * w.dims[1], type, i));
    return codes;
}
std::vector<std::int32_t> transposed(const tensor_record &w) {
    const std::vector<std::int32_t> codes = codes_of(w);
    std::vector<std::int32_t> result;
    for (dim_t n = 0; n < w.dims[1]; n++)
        for (dim_t k = 0; k < w.dims[0]; k++)
            result.push_back(codes[static_cast<std::size_t>(k * w.dims[1] + n)]);
    return result;
}

data_type type_of_weights(const dynamic_case &c, weights_form form) {
    if (form == weights_form::nibbles)
        return data_type::u4;
    if (form == weights_form::by_parameters) {
        const json_value named = c.params()["weight"];
        for (const data_type type : {data_type::s8, data_type::s4, data_type::u4})
            if (named.text() == to_string(type))
                return type;
        named.fail("is '" + named.text() + "', allowed: s8, s4, u4");
    }
    return c.tensor("inputs", "w").type;
}

/// Elements of a column that share a scale, 0 without groups. Weights in nibbles have kernels of 32.
dim_t group_of(const dynamic_case &c, weights_form form, dim_t k) {
    for (const char *name : {"block", "group"})
        if (const json_value params = c.params(); params.has(name)) {
            const dim_t group = params[name].integer(1, k);
            if (form == weights_form::nibbles && (group % 32 != 0 || k % group != 0))
                params[name].fail("is " + std::to_string(group) + ", allowed: multiples of 32 that divide " +
                                  std::to_string(k));
            return group;
        }
    return 0;
}

} // namespace

dynamic_weights weights_of(const dynamic_case &c, weights_form form, dim_t k) {
    constexpr dim_t any = dynamic_case::any;
    const data_type type = type_of_weights(c, form);
    const bool is_onnx = form == weights_form::onnx;
    const tensor_record record = c.input(
        "w", is_onnx ? memory::dims{k, any} : memory::dims{any, impl::div_up(k, elements_per_byte(type))});
    if (memory::data_type_size(record.type) != 1)
        c.part("inputs")["w"]["dtype"].fail("is " + model::to_text(record.type) + ", allowed: s8, u8");
    dynamic_weights w;
    w.k = k;
    w.columns = record.dims[is_onnx ? 1 : 0];
    const dim_t group = group_of(c, form, k), groups = group > 0 ? impl::div_up(k, group) : 0;
    w.group = group > 0 ? group : k;
    w.scales = floats_of(per_column(c, "w_scale", w.columns, groups));
    w.codes = is_onnx ? transposed(record) : unpacked(record, type, k);
    w.type = type;
    w.zero_points = {form == weights_form::nibbles ? 8 : 0};
    if (c.has_input("w_zero_point"))
        w.zero_points = codes_of(per_column(c, "w_zero_point", w.columns, groups));
    for (dim_t n = 0; n < w.columns; n++)
        for (dim_t i = 0; i < k; i++)
            w.codes[static_cast<std::size_t>(n * k + i)] -= w.zero_point_at(n, i);
    return w;
}

} // namespace octet::vectors
