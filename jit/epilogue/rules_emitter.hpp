#pragma once // SPDX-License-Identifier: Apache-2.0

// The fixed-point rules and those with real scales for one vector of accumulators: the vector form of
// common/requantize.hpp, bit for bit.

#include <functional>

#include "jit/base/emitter.hpp"
#include "jit/epilogue/rule_spec.hpp"

namespace octet::impl::jit {

/// acc (s32 lanes) = rule(acc). `param(i)` is the address of this column vector's part of parameter vector i: 64 bytes,
/// or 32 at levels with 8 lanes (the second 8 columns of a block lie 32 bytes further in every parameter vector).
void emit_requantize(emitter &e, const rule_spec &spec, const vec &acc,
                     const std::function<vec_operand(int)> &param);

} // namespace octet::impl::jit
