// Tensors in words: enough to see whether a result is plausible.
// SPDX-License-Identifier: Apache-2.0
#include "base/tensor_text.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/print.hpp"

namespace octet::tools {
namespace {

template <typename T> std::vector<double> elements(const memory &m) {
    std::vector<T> values(m.get_desc().get_size() / sizeof(T));
    std::memcpy(values.data(), m.get_data_handle(), values.size() * sizeof(T));
    return {values.begin(), values.end()};
}

std::vector<double> elements(const memory &m) {
    switch (m.get_desc().data_type()) {
    case data_type::f32:
        return elements<float>(m);
    case data_type::s32:
        return elements<std::int32_t>(m);
    case data_type::s16:
        return elements<std::int16_t>(m);
    case data_type::s8:
        return elements<std::int8_t>(m);
    case data_type::u8:
        return elements<std::uint8_t>(m);
    case data_type::f16: // in no network
    case data_type::bf16:
    case data_type::s4:
    case data_type::u4:
    case data_type::s2:
    case data_type::u2:
    case data_type::undef:
        break;
    }
    return {};
}

/// "code -17 = 0.433594", or the value alone.
std::string value_text(const model::tensor &t, double value) {
    if (t.type == data_type::f32)
        return fixed(value, 6);
    const std::string code = "code " + fixed(value, 0);
    if (t.quant.scales.size() != 1)
        return code;
    return code + " = " + fixed(t.quant.scales[0] * (value - t.quant.zero_points[0]), 6);
}

std::string largest(const model::tensor &t, const std::vector<double> &values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    order.resize(std::min<std::size_t>(order.size(), 5));
    std::string lines;
    for (const std::size_t i : order)
        lines += "  [" + std::to_string(i) + "]  " + value_text(t, values[i]) + '\n';
    return lines;
}

std::string spread(const model::tensor &t, const std::vector<double> &values) {
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
    return "  lowest " + value_text(t, *lowest) + "\n  highest " + value_text(t, *highest) + "\n  mean " +
           (t.type == data_type::f32 ? "" : "code ") + fixed(mean, 6) + '\n';
}

} // namespace

std::string shape_text(const model::tensor &t) {
    if (t.type == data_type::undef && t.dims.empty()) // computed by a node whose shapes are not inferred
        return "";
    std::string dims;
    for (std::size_t d = 0; d < t.dims.size(); d++) {
        const bool has_name = d < t.dim_names.size() && !t.dim_names[d].empty();
        const std::string open = has_name ? t.dim_names[d] : "?";
        dims += (d > 0 ? "x" : "") + (t.dims[d] < 0 ? open : std::to_string(t.dims[d]));
    }
    return model::type_text(t) + ' ' + (t.dims.empty() ? "scalar" : dims);
}

std::string tensor_text(const model::graph &g, int index) {
    const model::tensor &t = g.tensors.at(static_cast<std::size_t>(index));
    const std::string shape = shape_text(t);
    return std::to_string(index) + " ('" + t.name + "')" + (shape.empty() ? "" : " " + shape);
}

std::string coordinates_text(std::size_t index, const memory::dims &dims) {
    std::string text;
    for (std::size_t d = dims.size(); d-- > 0;) {
        const auto size = static_cast<std::size_t>(dims[d]);
        text = std::to_string(index % size) + (text.empty() ? "" : ",") + text;
        index /= size;
    }
    return "(" + text + ")";
}

std::string summary(const model::tensor &t, const memory &m) {
    const std::vector<double> values = elements(m);
    const bool is_vector = std::count_if(t.dims.begin(), t.dims.end(), [](dim_t d) { return d > 1; }) <= 1;
    return is_vector ? largest(t, values) : spread(t, values);
}

} // namespace octet::tools
