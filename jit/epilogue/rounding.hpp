#pragma once // SPDX-License-Identifier: Apache-2.0

// Rounding and conversions for one vector, with the bits of common/rounding.hpp and common/epilogue.hpp.

#include "jit/base/emitter.hpp"

namespace octet::impl::jit {

/// To an integer, ties away from zero, in f32.
void emit_round_half_away(emitter &e, const vec &x);
/// f32 to s32, nearest even, saturating; NaN gives INT32_MIN.
void emit_saturating_to_s32(emitter &e, const vec &x);
/// RDP(x, exponent): ties away from zero. Exponents of a vector are 0 or more.
void emit_divide_by_pot(emitter &e, const vec &x, int exponent);
void emit_divide_by_pot(emitter &e, const vec &x, const vec &exponent);
/// x = SRDHM(x, y), where not both are INT32_MIN. Clobbers y.
void emit_multiply_high(emitter &e, const vec &x, const vec &y);

} // namespace octet::impl::jit
