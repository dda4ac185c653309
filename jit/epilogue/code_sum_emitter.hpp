#pragma once // SPDX-License-Identifier: Apache-2.0

// The code of a `code_sum` for one vector of pairs of codes.

#include <functional>

#include "jit/base/emitter.hpp"
#include "jit/epilogue/code_sum.hpp"

namespace octet::impl::jit {

/// s32 lanes with codes: x becomes the sum, y is clobbered. One temp.
void emit_code_sum(emitter &e, bool ties_away, const vec &x, const vec &y,
                   const std::function<vec_operand(int)> &param);

} // namespace octet::impl::jit
