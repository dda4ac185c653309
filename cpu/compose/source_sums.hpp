#pragma once // SPDX-License-Identifier: Apache-2.0

// Weights zero points where the products' kernel has no sums of its own for them, as in merged groups: the sums of
// source codes are products with weights of 1. With zs of the source and zw of stored weights w
//
//   Σ (s - zs)(w - zw)  =  Σ (s - zs) w - zw Σ (s - zs)
//
// both sums are the family's, and the stream kernel subtracts one from the other before the epilogue.

#include "common/deconvolution_problem.hpp"
#include "cpu/compose/deconvolution.hpp"
#include "cpu/compose/separate_epilogue.hpp"

namespace octet::impl::source_sums {

/// Layout of the weights that both products read.
memory_desc packed_weights_of(const convolution_problem &p);
inline memory_desc packed_weights_of(const deconvolution_problem &p) { return packed_in_parts(p); }

/// Why this is nothing for the problem, or empty.
std::string refuses(const convolution_problem &p);

/// `weighted` and `plain` are the two sums, of equal layouts; `packed` is what both take as weights.
candidate in_steps(const convolution_problem &p, const memory_desc &packed, const candidate &weighted,
                   const candidate &plain, const memory_desc &sums, const machine &m);

template <typename Problem, plan_function<Problem> family>
candidate plan(const Problem &p, const machine &m) {
    const std::string reason = refuses(p);
    if (!reason.empty())
        return candidate::refused(reason);
    Problem weighted = separate_epilogue::sums_of(p);
    weighted.weights = packed_weights_of(p);
    const memory_desc packed = weighted.weights;
    weighted.weights.data_type = data_type::s8; // as they are stored
    weighted.weights_zero_points.values = {};
    Problem plain = weighted;
    plain.out_stage.bias = {};
    return in_steps(p, packed, family(weighted, m), family(plain, m), weighted.dst, m);
}

} // namespace octet::impl::source_sums
