#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of vector functions.

#include <cstddef>

#include "jit/base/emitter.hpp"

namespace octet::impl::jit {

/// sum = c[0] + c[1] x + c[2] x² + ...
template <std::size_t n> void polynomial(emitter &e, const vec &sum, const vec &x, const float (&c)[n]) {
    e.move(sum, e.constant(c[n - 1]));
    for (std::size_t i = n - 1; i-- > 0;)
        e.vfmadd213ps(sum, x, e.constant(c[i]));
}

} // namespace octet::impl::jit
