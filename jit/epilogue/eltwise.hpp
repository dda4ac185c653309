#pragma once // SPDX-License-Identifier: Apache-2.0

// The element-wise functions for one vector: the same IEEE operations in the same order as
// common/eltwise_math.hpp.

#include <vector>

#include "jit/base/emitter.hpp"
#include "octet/types.hpp"

namespace octet::impl::jit {

/// x (f32 lanes) = f(x).
void emit_eltwise(emitter &e, algorithm alg, float alpha, float beta, const vec &x);

/// exp of several vectors side by side, so that none waits for itself. Takes two registers for each, and one.
void emit_exp(emitter &e, const std::vector<vec> &x);

} // namespace octet::impl::jit
