#pragma once // SPDX-License-Identifier: Apache-2.0

// A small description of one operator, as JSON: what kind, what its numbers mean. doc/match.md has the keys.
//
//     {"kind": "product", "inputs": [{"type": "s8", "scale": 0.1}, {"type": "s8", "scale": 0.02}],
//      "output": {"type": "s8", "scale": 0.3, "zero_point": -5}, "activation": "RELU"}

#include <cstdint>
#include <string>
#include <vector>

#include "octet/memory.hpp"
#include "octet/types.hpp"

namespace octet::match {

/// real = scale * (code - zero_point); f32 numbers stand for themselves.
struct operand {
    data_type type = data_type::undef;
    float scale = 0;
    std::int32_t zero_point = 0;
};

/// The facts about a kind of problem: its operators and operands.
struct kind_facts {
    const char *name;
    const char *tflite; ///< the operator of .tflite networks; null: the finder's own arithmetic
    const char *onnx;   ///< the operator of .onnx networks; null: none, or one that is not asked
    int operands;
    enum class form {
        accumulators, ///< s32 numbers
        product,      ///< rows of codes, multiplied with weights that all rows share
        elements,     ///< one code or number per operand
        row,          ///< `count` codes that become one
        codes,        ///< `count` codes that become as many
        image,        ///< `size` codes that become `to`
        quantizer,    ///< rows of `count` numbers that become as many codes, whose scales the device chooses
        own_codes,    ///< the same in front of a product with weights of codes; numbers come out
    } form;
    bool quantizes_source() const { return form == form::quantizer || form == form::own_codes; }
};
/// Throws octet::error with the names that there are.
const kind_facts &facts_of_kind(const std::string &name);

struct description {
    const kind_facts *kind = nullptr;
    std::vector<operand> inputs;
    operand output;
    std::string activation = "NONE"; ///< TFLite's name
    dim_t count = 0;                 ///< elements of a row; the product's length, 0: chosen
    dim_t group = 0;                 ///< elements of a row that share a scale; 0: all
    dim_t channels = 1;              ///< of a product whose scales are chosen here
    bool has_bias = true;            ///< likewise
    std::int64_t limit = 2147483647; ///< largest |accumulator|
    /// One per output channel of accumulators and products: scales of the weights, and biases in units of
    /// both scales' product.
    std::vector<float> channel_scales;
    std::vector<std::int32_t> biases;
    float alpha = 0, beta = 1;               ///< LEAKY_RELU, SOFTMAX
    memory::dims size = {4, 4}, to = {7, 7}; ///< height and width
    bool align_corners = false, half_pixel_centers = false;

    /// The codes that the activation leaves.
    ///@{
    std::int32_t low() const;
    std::int32_t high() const;
    ///@}
};

/// Throws octet::error, which begins with `name`, for text that is no such object, with the key.
description parse_description(const std::string &json, const std::string &name);

} // namespace octet::match
