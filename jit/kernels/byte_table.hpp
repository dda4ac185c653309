#pragma once // SPDX-License-Identifier: Apache-2.0

// dst(i) = table[src(i)] for bytes, by permutes: with AVX512_VBMI two of 128 entries each, without it sixteen
// of 16 entries. Without a table the same rows are copied.

#include <cstdint>

#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"
#include "jit/epilogue/byte_table.hpp"

namespace octet::impl::jit {

/// `rows` rows of `columns` bytes.
struct byte_table_args {
    const void *src;
    void *dst;
    const byte_table *table;
    std::int64_t rows, columns;
    std::int64_t src_step, dst_step; ///< bytes from row to row
};

struct byte_table_spec {
    instruction_set isa;
    bool looks_up = false;       ///< else a copy
    bool is_nontemporal = false; ///< wants rows of dst that begin at cache lines
};

/// The kernel of a spec.
shared_code<const byte_table_args> byte_table_code(const byte_table_spec &spec);

} // namespace octet::impl::jit
