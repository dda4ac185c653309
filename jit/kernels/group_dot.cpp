// Products of a group in registers, sums of groups in memory.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/group_dot.hpp"

namespace octet::impl::jit {

group_codes group_codes_of(instruction_set isa, int weight_bits) {
    if (weight_bits == 4)
        return group_codes::nibbles;
    return isa.has_dot4() || !isa.has_vectors() ? group_codes::bytes : group_codes::words;
}

} // namespace octet::impl::jit
