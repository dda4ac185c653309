#pragma once // SPDX-License-Identifier: Apache-2.0

// ONNX Runtime's functions for one vector: the operations of common/eltwise_ort.hpp in the same order.

#include <vector>

#include "jit/base/emitter.hpp"
#include "octet/types.hpp"

namespace octet::impl::jit {

/// x (f32 lanes) = f(x); algorithms eltwise_ort_*.
void emit_eltwise_ort(emitter &e, algorithm alg, float alpha, float beta, const vec &x);

/// eltwise_ort_gelu_erf of several vectors side by side. Takes five registers for each, and one.
void emit_ort_gelu_erf(emitter &e, const std::vector<vec> &x);

/// eltwise_ort_exp of several vectors side by side, no lane above 0. Takes two registers for each, and one.
void emit_ort_exp(emitter &e, const std::vector<vec> &x);

} // namespace octet::impl::jit
