// Integers for whole vectors, by few instructions: where these differ from the definition in steps, a comment
// says why the bits are the same.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/rounding.hpp"

#include <cmath>

#include "common/rounding.hpp"

namespace octet::impl::jit {

/// Truncating x afterwards rounds to nearest, ties away from zero: the number before 1/2 leaves what lies
/// below a tie there, and ties round up.
void emit_round_half_away(emitter &e, const vec &x) {
    const emitter::temp half(e);
    e.vpand_(half, x, e.constant(0x80000000u));
    e.vpor_(half, half, e.constant(std::nextafter(0.5f, 0.f)));
    e.vaddps(x, x, half);
    e.round_f32(x, x, emitter::to_zero);
}

void emit_saturating_to_s32(emitter &e, const vec &x) {
    const emitter::temp highest(e);
    const emitter::mask overflows(e);
    e.compare_f32(overflows, x, e.constant(0x1p31f), emitter::ge);
    e.vcvtps2dq(x, x);
    e.move(highest, e.constant(static_cast<std::uint32_t>(int32_max)));
    e.blend(x, overflows, x, highest);
}

void emit_divide_by_pot(emitter &e, const vec &x, int exponent) {
    if (exponent == 0)
        return;
    if (exponent > 31)
        return e.zero(x);
    const emitter::temp magnitude(e);
    e.vpabsd(magnitude, x);
    e.vpaddd(magnitude, magnitude, e.constant(std::uint32_t{1} << (exponent - 1)));
    e.vpsrld(magnitude, magnitude, static_cast<std::uint8_t>(exponent));
    e.give_sign(x, magnitude, x);
}

/// The high dword of 2 * x * y, rounded: of bits 31 to 62 of the product plus 2^30.
void emit_multiply_high(emitter &e, const vec &x, const vec &y) {
    const emitter::temp odd(e);
    e.vpsrlq(odd, x, 32);
    e.vpmuldq(x, x, y);
    e.vpsrlq(y, y, 32);
    e.vpmuldq(odd, odd, y);
    e.vpaddq(x, x, e.constant64(std::uint64_t{1} << 30));
    e.vpaddq(odd, odd, e.constant64(std::uint64_t{1} << 30));
    e.vpsrlq(x, x, 31);
    e.vpsllq(odd, odd, 1);
    e.merge_even_odd(x, x, odd);
}

void emit_divide_by_pot(emitter &e, const vec &x, const vec &exponent) {
    const emitter::temp half(e), magnitude(e);
    e.vpsubd(magnitude, exponent, e.constant(1u));
    e.move(half, e.constant(1u));
    e.vpsllvd(half, half, magnitude); // 0 for exponent 0
    e.vpabsd(magnitude, x);
    e.vpaddd(magnitude, magnitude, half);
    e.vpsrlvd(magnitude, magnitude, exponent);
    e.give_sign(x, magnitude, x);
}

} // namespace octet::impl::jit
