#pragma once // SPDX-License-Identifier: Apache-2.0

// Transposes elements of 1, 2 or 4 bytes: a strip of rows whose 16-byte pieces fill a vector, and so many
// columns. The 128-bit parts of a register hold pieces of rows far from each other, so that interleaving
// within parts leaves a whole vector of consecutive rows for each column.

#include <cstdint>
#include <vector>

#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"

namespace octet::impl::jit {

struct transpose_args {
    const void *src;
    void *dst;
    std::int64_t src_stride, dst_stride; ///< bytes between rows of src, between rows of dst
    std::int64_t steps;                  ///< steps of `elements_per_part` columns
    std::int64_t ahead;                  ///< bytes from what is read to what is prefetched
};

constexpr int transpose_part_bytes = 16;
/// Rows of a part, columns of a step.
constexpr int elements_per_part(int element_bytes) { return transpose_part_bytes / element_bytes; }
constexpr int transpose_line_steps = 4; ///< steps that read whole lines, and prefetch

struct transpose_spec {
    instruction_set isa;
    int element_bytes;
    int parts;           ///< parts of rows, at most those of a vector
    bool is_nontemporal; ///< whole aligned vectors are stored past the caches
};

/// Most parts of a spec: those of a vector.
int max_transpose_parts(instruction_set isa);

/// The kernel of a spec.
shared_code<const transpose_args> transpose_code(const transpose_spec &spec);

} // namespace octet::impl::jit
