#pragma once // SPDX-License-Identifier: Apache-2.0

// The exponentials and sums of softmax. With d = max - x over a row of 8-bit codes, 0 to 255, exponentials of
// the integer forms depend on d alone.

#include <array>

#include "common/lanes.hpp"
#include "common/rules.hpp"
#include "common/softmax_problem.hpp"

namespace octet::impl {

/// The framework's softmax that a problem asks for.
enum class softmax_form {
    tflite,    ///< tflite rules: fixed point
    ort,       ///< ort_f32 of codes: a table of floats, in proportion to the row's length
    litert,    ///< xnnpack rules: a table of floats
    litert_16, ///< ruy_2step: a table of 16 bits and fixed point
    f32        ///< f32 rules, and ort_f32 of floats
};
softmax_form softmax_form_of(const softmax_problem &p);

template <typename T> using softmax_table = std::array<T, 256>; ///< by d

constexpr int softmax_sum_integer_bits = 12; ///< tflite rules: sums are Q12.19

/// tflite rules: exp(-multiplier * d) in Q0.31; 0 where d is so large that TFLite leaves the element out.
softmax_table<std::int32_t> tflite_exponentials(const softmax_problem &p);
/// TFLite's exponentials as terms of a sum.
softmax_table<std::int32_t> tflite_terms(const softmax_problem &p);
/// Bits that the product of an exponential and the reciprocal of the sum is shifted by.
int tflite_softmax_shift(const softmax_problem &p, int bits_over_unit);

/// ort_f32: exponentials, and what they are multiplied by.
softmax_table<float> ort_exponentials(const softmax_problem &p);
float ort_softmax_multiplier(const softmax_problem &p);
/// Whether products of the two are too large for f32, as in rows of few codes, or quotients for s32.
bool ort_softmax_overflows(const softmax_problem &p);

/// litert: exp(-d * scale) in f32. Codes are exponential * (1 / (sum * dst_scale)), plus this half and cut
/// off, below the zero point's distance from the highest code. The number before 1/2 rounds halves away from
/// zero; 1/2 itself, which x86 adds to what becomes u8, takes that number up as well.
softmax_table<float> litert_exponentials(const softmax_problem &p);
float litert_softmax_half(const softmax_problem &p);

/// litert_16: exp(-d * scale) in 1/65535, of which rows as long as this one add up in 32 bits; what
/// exponentials of a row are multiplied by.
softmax_table<std::int32_t> litert_16_bit_exponentials(const softmax_problem &p);
constexpr dim_t most_16_bit_exponentials = 32768;
fixed_point_multiplier litert_16_bit_share(const softmax_problem &p, std::int32_t sum);

/// ort_f32 on floats: as the f32 rules, but for ONNX Runtime's exponential and order of lanes.
inline bool is_ort_of_reals(const softmax_problem &p) {
    return is_ort(p.out_stage.rule) && p.src.data_type == data_type::f32;
}
algorithm exponential_of(const softmax_problem &p);

/// f32 rules and `is_ort_of_reals`: element i of a row is added to lane i mod 16.
constexpr dim_t softmax_lanes = lane_count;
using softmax_lane_sums = f32_lanes;
/// Lanes by halves; those of ort_f32 by halves once, then neighbours, pairs and fours.
float sum_of_lanes(const softmax_problem &p, softmax_lane_sums sums);

} // namespace octet::impl
