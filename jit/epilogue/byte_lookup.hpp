#pragma once // SPDX-License-Identifier: Apache-2.0

// A table of 256 bytes, looked up for the bytes of a vector, in the two ways that instruction sets have:
// permutes with AVX512_VBMI, shuffles without. For epilogues that end in a table and for the kernel of tables
// (jit/kernels/byte_table.hpp).

#include <functional>

#include "jit/base/emitter.hpp"

namespace octet::impl::jit {

/// x = entries[x] for the bytes of x, with the table's four vectors `p0` to `p3`. Takes one more.
void emit_byte_permutes(emitter &e, const vec &x, const vec &p0, const Xbyak::Operand &p1, const vec &p2,
                        const Xbyak::Operand &p3);
/// Looks bytes up by 16 shuffles: part(i, to) says where the differences of part i are, once in every 128 bits; it
/// may load them into `to`. Takes three more.
void emit_byte_shuffles(emitter &e, const vec &x,
                        const std::function<const vec &(int i, const vec &to)> &part);
/// Loads 16 bytes into every 128 bits.
void load_byte_part(emitter &e, const vec &to, const Xbyak::Address &from);

} // namespace octet::impl::jit
