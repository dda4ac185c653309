#pragma once // SPDX-License-Identifier: Apache-2.0

// A number for each distance of a code from its row's maximum, looked up by permutes of bytes: what the
// kernels of results (codes.hpp) and of sums (sums.hpp) share.

#include <vector>

#include "jit/base/emitter.hpp"

namespace octet::impl::jit {

/// to = tables[x] for the bytes of x by byte permutes, with one, two or four vectors; 0 behind them. The
/// masks say where x is below 64 and below 128; `to` is not x.
void emit_distance_permutes(emitter &e, const vec &to, const vec &x, const std::vector<vec> &tables,
                            const Xbyak::Opmask &below_64, const Xbyak::Opmask &below_128);

} // namespace octet::impl::jit
