#pragma once // SPDX-License-Identifier: Apache-2.0

// The code of the rules, for one vector of accumulators. A rule is a 64-bit product P = acc * q, a rounding
// constant and a shift. Vectors multiply only even lanes, so the odd ones are multiplied in a second
// register, and in the end both are merged. What costs is the way back to 32 bits:
//
//   short form   every column shifts out more than the low dword: high dwords are merged and shifted on as
//                dwords
//   long form    the shift is done in 64 bits; in two-step rules the first one, by a constant, and the second
//                in dwords
//
// Constants come in parameter vectors, a dword per column. Multipliers: vector 0 has all of them, vector 1 those of odd
// columns in even lanes. 64-bit constants: two vectors, of even and of odd columns. f64: two vectors in the
// order of emitter::split_lanes. In comments >> rounds down.

#include <functional>

#include "jit/base/emitter.hpp"
#include "jit/epilogue/rule_spec.hpp"

namespace octet::impl::jit {

/// The operands that a rule's code is emitted with; the result replaces acc.
struct requantize_context {
    emitter &e;
    const rule_spec &spec;
    const vec &acc;
    const std::function<vec_operand(int)> &param;
};

/// Results that wrap with ties up: negative ones need a detour past a logical shift, and a parameter vector more.
bool wraps_below_zero(const fixed_point_facts &facts);

/// (P + 2^(s-1)) >> s: tflite_1step, tflite_single_rounding, which wrap, and rounded_shift, which saturates;
/// qnnpack_avgpool does it with |acc| and restores the sign, so that ties go away from zero.
/// Parameters 0, 1 q. Short: 2 2^(s-33), 3 s-32. Long: 2, 3 2^(s-1), 4, 5 s; rules that wrap add 2^63 to the
/// former, and have 2^(63-s) in 6. ruy_2step's long form is this one with 2^30 + 2^(30+e) and s = 31+e.
void emit_one_shift(const requantize_context &c);

/// RDP(SRDHM(acc, q), e): tflite_2step, caffe2_2step, gemmlowp_fixedpoint, gemmlowp_fixedpoint_exponent, ruy_2step.
/// Parameters 0, 1 q; 2, 3 2^30 + 2^(30+e); 4 e-1.
void emit_two_step_short(const requantize_context &c);
/// Parameters 0, 1 q; 2 half of 2^e, which is 0 for e = 0; 3 e.
void emit_two_step(const requantize_context &c);

/// gemmlowp_legacy_scale, RDP((acc + offset) * q, e). Parameters: 0 q, 1 offset, 2 and 3 as in emit_two_step.
void emit_legacy_scale(const requantize_context &c);

/// f64_scale, f64_half_away, onnx_f64, and ev_rte15, rne(acc * q / 2^s). Parameters 0, 1: the factor in f64;
/// of onnx_f64 2, 3: the zero point.
void emit_f64_product(const requantize_context &c);
/// For factors F below 1, in the bits of f64. Parameters, of even and of odd columns: 0, 1 F; 2, 3 -2^52 F.
void emit_f64_product_short(const requantize_context &c);
/// onnx_f64 likewise. Parameters: 0, 1 F; 2, 3 the zero point in f64; 4 the zero point.
void emit_f64_sum_short(const requantize_context &c);

/// caffe_double_round, rha(f32(rha(f32(acc) * mantissa)) * 2^exponent). Parameters: the mantissa, in f32 (0) or
/// f64 (0, 1); then 2^exponent in f32.
void emit_double_round(const requantize_context &c);

/// acc << count: tflite_2step wraps, other rules saturate.
void emit_left_shift(const requantize_context &c, const vec_operand &count);

} // namespace octet::impl::jit
