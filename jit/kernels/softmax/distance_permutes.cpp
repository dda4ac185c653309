// The permutes that look up numbers of distances: one, two or four vectors of 64 entries each.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/softmax/distance_permutes.hpp"

namespace octet::impl::jit {

void emit_distance_permutes(emitter &e, const vec &to, const vec &x, const std::vector<vec> &tables,
                            const Xbyak::Opmask &below_64, const Xbyak::Opmask &below_128) {
    if (tables.size() == 1)
        return e.vpermb(to | below_64 | e.T_z, x, tables[0]);
    e.move(to, x);
    if (tables.size() == 2)
        return e.vpermi2b(to | below_128 | e.T_z, tables[0], tables[1]);
    const emitter::temp lower(e);
    e.move(lower, x);
    e.vpermi2b(lower, tables[0], tables[1]);
    e.vpermi2b(to, tables[2], tables[3]);
    e.vmovdqu8(to | below_128, lower);
}

} // namespace octet::impl::jit
