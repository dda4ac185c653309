#pragma once // SPDX-License-Identifier: Apache-2.0

// Sums and differences of two tensors of 8-bit codes by tables (jit/kernels/pair_tables.hpp), in any
// framework's arithmetic, where it is a rounded sum for all of the 65,536 pairs of codes.

#include <optional>

#include "common/binary_problem.hpp"
#include "cpu/implementation.hpp"
#include "jit/kernels/pair_tables.hpp"

namespace octet::impl::stream {

struct code_pairs {
    jit::pair_tables tables;
    bool swaps;            ///< x is src1
    bool has_first;        ///< as in pair_tables_spec
    std::int8_t low, high; ///< the same
};

/// Nothing if numbers are not known, too large, or if some pair of codes has another result.
std::optional<code_pairs> make_code_pairs(const binary_problem &p);

candidate plan_pair_tables(instruction_set isa, const binary_problem &p);

} // namespace octet::impl::stream
