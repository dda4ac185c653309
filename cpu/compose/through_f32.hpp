#pragma once // SPDX-License-Identifier: Apache-2.0

// For families that have f32 as their only real type: tensors of bf16 and f16 are copied to f32 before, and a
// result from there, rounded to nearest even once. `Problem` has src and dst, and all but LRN have an out_stage.

#include <type_traits>
#include <vector>

#include "common/element.hpp"
#include "common/lrn_problem.hpp"
#include "cpu/compose/channels_last.hpp"
#include "cpu/stream/nest.hpp"

namespace octet::impl::through_f32 {

/// Plans the problem with the family, between copies where src or dst has 16 bits.
template <typename Problem, plan_function<Problem> family>
candidate plan(const Problem &p, const machine &m) {
    constexpr bool has_epilogue = !std::is_same_v<Problem, lrn_problem>;
    Problem inner = p;
    bool reads_result = false;
    if constexpr (has_epilogue)
        reads_result = reads_dst(p.out_stage);
    std::vector<channels_last::copy> copies;
    const auto copy_as_f32 = [&](int arg, memory_desc &md, bool before, bool after) {
        if (!is_small_float(md.data_type))
            return;
        const memory_desc outside = md;
        md.data_type = data_type::f32;
        md = stream::dense_in_order_of(outside, md);
        copies.push_back({arg, outside, md, before, after});
    };
    copy_as_f32(OCTET_ARG_SRC, inner.src, true, false);
    copy_as_f32(OCTET_ARG_DST, inner.dst, reads_result, true);
    if constexpr (has_epilogue)
        inner.out_stage.dst = inner.dst;
    const candidate computed = family(inner, m);
    return copies.empty() ? computed : channels_last::with_copies(computed, copies, m, scratch_slot::as_f32);
}

} // namespace octet::impl::through_f32
