// Reads the numbers of a node's inputs, asks the function of its operator (known_values.hpp) and writes what
// it gives in the output's type.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/known_integers.hpp"

#include <algorithm>
#include <cmath>

#include "network/shapes/known_values.hpp"

namespace octet::model {
namespace {

/// Masks of a long sequence are larger than shapes, but nothing useful is larger than this; floats are scales
/// and sizes.
constexpr std::int64_t most_elements = std::int64_t{1} << 22, most_floats = std::int64_t{1} << 10;

bool is_followed(data_type type, std::int64_t count) {
    return type == data_type::f32
               ? count <= most_floats
               : (type == data_type::s32 || type == data_type::u8) && count <= most_elements;
}

/// The element that a number becomes: f32 is rounded, s32 saturates towards zero with 0 for NaN, u8 keeps the low bits.
double element_of(data_type type, double value) {
    if (type == data_type::f32)
        return static_cast<double>(static_cast<float>(value));
    const double s32 = std::isnan(value) ? 0. : std::clamp(std::trunc(value), -0x1p31, 0x1p31 - 1);
    return type == data_type::u8 ? static_cast<double>(static_cast<std::int64_t>(s32) & 255) : s32;
}

template <typename T> known_values numbers_of(const tensor &t) {
    const std::vector<T> elements = values_of<T>(t);
    return {elements.begin(), elements.end()};
}

/// Numbers of a tensor: a constant's, or those that `follow_integers` left in `tensor::data`.
std::optional<known_values> known_numbers(const tensor &t) {
    const std::int64_t count = element_count(t.dims);
    const bool is_here = t.is_constant || !t.data.empty() || (count == 0 && t.type != data_type::undef);
    if (!is_here || !is_followed(t.type, count))
        return {};
    return t.type == data_type::s32   ? numbers_of<std::int32_t>(t)
           : t.type == data_type::f32 ? numbers_of<float>(t)
                                      : numbers_of<std::uint8_t>(t);
}

template <typename T> std::vector<std::uint8_t> elements_of(const known_values &numbers) {
    return bytes_of(std::vector<T>(numbers.begin(), numbers.end()));
}

/// Returns the operator's known result for the node in the output's type; nothing if an operand is not known.
std::optional<known_values> result_of(const graph &g, const node &n, const operator_facts &facts) {
    const tensor &y = tensor_at(g, output_of(n));
    const bool are_code_rows = facts.flow == size_flow::gathered && y.type == data_type::u8;
    const bool is_table = // neither scales nor sizes
        y.dims.size() > 1 && (y.type == data_type::f32 || are_code_rows);
    if (is_table || !is_followed(y.type, element_count(y.dims)))
        return {};
    const bool are_constants =
        all_of(inputs_of(n), [&](tensor_id t) { return !t || tensor_at(g, t).is_constant; });
    if (!facts.is_known_from_dims &&
        (n.inputs.empty() || (y.type == data_type::f32 && are_constants))) // the latter are another pass's
        return {};
    auto result = known_result(g, n, facts, [&](tensor_id t) {
        return t ? known_numbers(tensor_at(g, t)) : std::optional<known_values>(known_values());
    });
    if (result && !facts.is_known_from_dims)
        for (double &v : *result)
            v = element_of(y.type, v);
    return result;
}

} // namespace

std::optional<std::vector<std::int64_t>> known_integers(const tensor &t) {
    const auto numbers = t.type == data_type::f32 ? std::nullopt : known_numbers(t);
    return numbers ? std::optional<std::vector<std::int64_t>>({numbers->begin(), numbers->end()})
                   : std::nullopt;
}

std::vector<std::int64_t> known_integers_of(const graph &g, const node &n, std::size_t input) {
    const tensor_id t = input_of(n, input);
    const auto integers = t ? known_integers(tensor_at(g, t)) : std::nullopt;
    return integers.value_or(std::vector<std::int64_t>());
}

void follow_integers(graph &g, const node &n, const operator_facts &facts) {
    if (n.outputs.size() != 1)
        return;
    const auto result = result_of(g, n, facts);
    if (!result)
        return;
    tensor &y = tensor_at(g, output_of(n));
    y.data = y.type == data_type::u8    ? elements_of<std::uint8_t>(*result)
             : y.type == data_type::f32 ? elements_of<float>(*result)
                                        : elements_of<std::int32_t>(*result);
}

} // namespace octet::model
