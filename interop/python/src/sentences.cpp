// Two tables, and a walk over a sentence for each. Start with `terms`.
// SPDX-License-Identifier: Apache-2.0
#include "sentences.hpp"

#include <cctype>
#include <string_view>
#include <utility>

namespace octet::python {
namespace {

using replacement = std::pair<std::string_view, std::string_view>;

/// The first that fits counts.
constexpr replacement terms[] = {
    {"multipliers, pass them to set_requantization", "multiplier and shift, or scale"},
    {"real scales, pass them to set_requantization", "scale"},
    {"pass multipliers to set_requantization, see from_double",
     "pass multiplier and shift, see quantize_multiplier"},
    {"multipliers of set_requantization and set_input_multiplier(WEIGHTS)",
     "multiplier, shift, w_multiplier and w_shift"},
    {"multipliers of set_requantization", "multiplier and shift"},
    {"set_scales of src, weights and dst", "x_scale, w_scale and y_scale"},
    {"set_scales of SRC and DST", "x_scale and y_scale"},
    {"scales of SRC_0, SRC_1 and DST", "x_scale, x1_scale and y_scale"},
    {"set_scales(OCTET_ARG_DST, …)", "y_scale"},
    {"both set_output_scales and set_scales are used",
     "both scale and x_scale, w_scale or y_scale are given"},
    {"set_output_scales: ", ""},
    {"set_output_scales", "scale"},
    {"set_requantization", "rule"},
    {"set_source_quantization", "quantize"},
    {"set_combination", "combination"},
    {"set_rnn_data_qparams: shift", "data_shift"},
    {"set_rnn_data_qparams: scale", "data_scale"},
    {"set_rnn_weights_projection_qparams", "projection_scale"},
    {"set_rnn_weights_qparams", "weights_scale"},
    {"set_zero_points", "zero_point"},
    {"set_scales: ", ""},
    {"set_scales", "scale"},
    {"OCTET_ARG_VARIANCE", "variance"},
    {"OCTET_ARG_WEIGHTS", "w"},
    {"OCTET_ARG_SRC_1", "y"},
    {"OCTET_ARG_MEAN", "mean"},
    {"OCTET_ARG_BIAS", "bias"},
    {"OCTET_ARG_SRC", "x"},
    {"OCTET_ARG_DST", "the result"},
    {"num_threads_scope: ", ""},
    {"from_double: factor ", "real is "},
    {"from_double: rule ", "rule is "},
    {"resize of the input or the network", "a call with an array, or resize,"},
};

/// The same of sentences about operations.
constexpr replacement operations_terms[] = {
    {"src zero points", "values of x_zero_point"},     {"src scales", "values of x_scale"},
    {"src0 zero points", "values of x_zero_point"},    {"src0 scales", "values of x_scale"},
    {"src1 zero points", "values of x1_zero_point"},   {"src1 scales", "values of x1_scale"},
    {"weights zero points", "values of w_zero_point"}, {"weights scales", "values of w_scale"},
    {"dst zero points", "values of zero_point"},       {"dst scales", "values of y_scale"},
};

/// Words of sentences about operations. ("weights" is w's name in the documentation, too.)
constexpr replacement words[] = {
    {"src", "x"},
    {"src0", "x"},
    {"src_0", "x"},
    {"src1", "y"},
    {"src_1", "y"},
    {"s8", "int8"},
    {"u8", "uint8"},
    {"s16", "int16"},
    {"s32", "int32"},
    {"f16", "float16"},
    {"dst", "the result"},
    {"s4", "int4"},
    {"u4", "uint4"},
    {"s2", "int2"},
    {"u2", "uint2"},
    {"src_layer", "x"},
    {"weights_layer", "w"},
    {"weights_iter", "r"},
    {"src_iter", "h"},
    {"src_iter_c", "c"},
    {"weights_peephole", "peephole"},
    {"weights_projection", "projection"},
    {"dst_layer", "the result"},
    {"dst_iter", "the last h"},
    {"dst_iter_c", "the last c"},
};

bool is_part_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view translated(std::string_view word) {
    for (const auto &[from, to] : words)
        if (word == from)
            return to;
    return word;
}

template <std::size_t N> std::string replaced(std::string text, const replacement (&table)[N]) {
    for (std::size_t at = 0; at < text.size(); at++)
        for (const auto &[from, to] : table)
            if (text.compare(at, from.size(), from) == 0) {
                text.replace(at, from.size(), to);
                at += to.size() - 1; // the loop goes on behind it, also behind nothing
                break;
            }
    return text;
}

} // namespace

std::string in_terms_of_python(std::string text) { return replaced(std::move(text), terms); }

std::string in_terms_of_operations(const std::string &given) {
    const std::string sentence = replaced(given, operations_terms);
    const bool names_rules = sentence.find("rule") != std::string::npos; // one of them is called f32, too
    std::string result;
    for (std::size_t at = 0; at < sentence.size();) {
        std::size_t end = at;
        while (end < sentence.size() && is_part_of_word(sentence[end]))
            end++;
        const std::string_view word(sentence.data() + at, end - at);
        result += word == "f32" && !names_rules ? "float32" : translated(word);
        if (end < sentence.size())
            result += sentence[end++];
        at = end;
    }
    return result;
}

} // namespace octet::python
