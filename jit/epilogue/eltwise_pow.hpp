#pragma once // SPDX-License-Identifier: Apache-2.0

#include "jit/base/emitter.hpp"

namespace octet::impl::jit {

/// dst = |x|^y in every lane, rounded once from binary64; y may be anything. Signs and NaN results are the
/// caller's. Takes 4 vector registers besides dst and x, masks included; dst is not x.
void emit_power_of_abs(emitter &e, const vec &dst, const vec &x, float y);

} // namespace octet::impl::jit
