#pragma once // SPDX-License-Identifier: Apache-2.0

// The code of a program (stream_program.hpp) for one vector of elements.

#include <vector>

#include "jit/base/emitter.hpp"
#include "jit/kernels/stream_program.hpp"

namespace octet::impl::jit {

/// The registers that say where the operands of a program lie.
struct stream_operands {
    const Xbyak::Reg64 *src; ///< per source: its first element of the group
    const Xbyak::Reg64 &program_params, &scratch;
    const Xbyak::Address table; ///< holds the address of the table
    bool prefetches_wide;       ///< reading takes longer than writing
};

/// Emits the steps of spec.program.
class stream_program_emitter {
public:
    stream_program_emitter(emitter &e, const stream_spec &spec, const stream_operands &operands)
        : e_(e), spec_(spec), at_(operands) {}

    /// Vector v of a group, in a register that the caller gives back.
    vec run(int v, int valid);

private:
    void load(int source, int v, int valid);
    void broadcast(const vec &x, data_type type, const Xbyak::Reg64 &from);
    void unary(const stream_step &step, int v);
    void divide_in_range(const vec &x, int first, int v);
    void pair(const stream_step &step, int v);
    vec_operand param(int index, int v);
    vec pop();

    emitter &e_;
    const stream_spec &spec_;
    const stream_operands at_;
    std::vector<vec> stack_;
};

} // namespace octet::impl::jit
