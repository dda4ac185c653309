#pragma once // SPDX-License-Identifier: Apache-2.0

// Operators of LiteRT on x86 and on AArch64, a second time: an operator with inputs and the result that is
// right (litert_draw.cpp), by the formulas of that runtime's specification (litert_formulas.cpp). Products
// are those of arithmetic.cpp.

#include <map>
#include <string>
#include <vector>

#include "octet/network.hpp"
#include "oracle/arithmetic.hpp"

namespace octet::oracle::litert {

/// How LiteRT was compiled, and for which machine.
struct build {
    const char *profile;
    bool is_arm = false;   ///< AArch64
    bool is_clang = false; ///< Clang's, which contracts in XNNPACK too
    bool delegates = true; ///< to XNNPACK
};

/// A tensor of codes, or of floats where the type is f32.
struct numbers {
    data_type type = data_type::s8;
    dims shape;
    float scale = 0;
    std::int32_t zero = 0;
    std::vector<std::int32_t> codes;
    std::vector<float> reals;
    std::vector<float> scales = {}; ///< one per index of dimension `axis`; else there is one
    int axis = 0;

    double lo() const { return lowest(type); }
    double hi() const { return highest(type); }
};

struct one_operator {
    build by;
    std::string op;
    std::vector<numbers> inputs;
    std::vector<bool> is_constant;                ///< one for each input; the lists come behind them
    std::vector<std::vector<std::int32_t>> lists; ///< constant s32 inputs: axes, a size
    numbers output;                               ///< with the codes, or reals, that are right
    std::map<std::string, model::attribute> attributes;
};

// ---- the specification: results of single codes. Numbers are its sections.

std::int32_t clamped(double code, const numbers &y);
/// Codes that a fused activation leaves: 2.1, the zero point before rounding; TFLite's kernels add it behind.
struct interval {
    double low, high;
};
interval codes_of(const std::string &activation, const numbers &y, bool is_xnnpack);
std::int32_t limited(double code, const interval &to);

std::int32_t sum_of(const build &by, const numbers &a, const numbers &b, const numbers &y, std::int32_t qa,
                    std::int32_t qb, bool subtracts,
                    const std::string &activation); ///< 2.3, and what is not delegated
std::int32_t product_of(const build &by, const numbers &a, const numbers &b, const numbers &y,
                        std::int32_t qa, std::int32_t qb, const std::string &activation); ///< 2.4, likewise
/// 2.5, 4.2; Arm's 5.1 where the element is in a whole group.
std::int32_t requantized(const build &by, const numbers &x, const numbers &y, std::int32_t q,
                         bool is_in_group);
std::int32_t quantized(const numbers &y, float x);                                                    ///< 2.5
std::int32_t leaky(const build &by, const numbers &x, const numbers &y, std::int32_t q, float alpha); ///< 2.5
std::int32_t tabulated(const build &by, const std::string &op, const numbers &x, const numbers &y,
                       std::int32_t q); ///< 2.6, Arm's 3
/// 2.7, of the raw codes' sum; Arm's 3, 5.4.
struct reduction_kind {
    bool is_mean, is_spatial, is_in_group;
};
std::int32_t reduced(const build &by, const reduction_kind &kind, const numbers &x, const numbers &y,
                     std::int64_t sum, std::int64_t n);
/// 2.8: the places that output i lies between, and the weight of the second one.
struct neighbours {
    dim_t a, b;
    std::int64_t w;
};
neighbours along(const build &by, dim_t i, dim_t in, dim_t out, bool align, bool half);
void softmax_row(const build &by, const numbers &x, numbers &y, std::size_t first, std::size_t size,
                 float beta); ///< 4.4, Arm's 2, appends
std::int32_t hard_swish(const numbers &x, const numbers &y, std::int32_t q,
                        bool is_in_group); ///< 4.5, Arm's 5.2
std::int32_t rectified(const std::string &op, const numbers &x, const numbers &y, std::int32_t q); ///< 4.6
std::int32_t prelu(const numbers &x, const numbers &a, const numbers &y, std::int32_t q,
                   std::int32_t qa); ///< 4.6
/// The code of a sum of products: 2.2, and the section on operators that are not delegated.
std::int32_t accumulated(const build &by, bool is_delegated, bool is_in_group, const numbers &x,
                         float weights_scale, const numbers &y, std::int32_t sum);
/// An input's code in the result of CONCATENATION of u8: operators.md 3.9, Arm's 3.
std::int32_t joined(const build &by, const numbers &x, const numbers &y, std::int32_t q);

// ---- the draw

one_operator draw_operator(std::uint64_t seed, std::uint64_t number);

} // namespace octet::oracle::litert
