// One multiplication of words for the high parts of both weights, one for the low parts.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/code_sum_emitter.hpp"

namespace octet::impl::jit {

/// Both codes of a lane as its two words.
void emit_code_sum(emitter &e, bool ties_away, const vec &x, const vec &y,
                   const std::function<vec_operand(int)> &param) {
    e.vpslld(y, y, 16);
    e.take_high_words(x, y);
    e.vpsubw(x, x, param(0));
    e.vpmaddwd(y, x, param(2));
    e.vpmaddwd(x, x, param(1));
    if (ties_away) {
        const emitter::temp sign(e);
        e.vpsrad(sign, x, 31);
        e.vpaddd(y, y, sign);
    }
    e.vpsrad(y, y, code_sum_low_bits);
    e.vpaddd(x, x, y);
    e.vpaddd(x, x, param(3));
    e.vpsravd(x, x, param(4));
}

} // namespace octet::impl::jit
