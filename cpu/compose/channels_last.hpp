#pragma once

// For kernels that need channels innermost in memory: other layouts are copied to channels-last and the
// result from there. `Problem` has src, dst and an out_stage.

#include "cpu/registry.hpp"

namespace octet::impl::channels_last {

bool is_channels_last(const memory_desc &md);
/// The tensor in a layout whose channels are innermost: its own, or dense.
memory_desc channels_last_of(const memory_desc &md);

/// `compute` between copies of `src` and `dst` to and from the layouts that it takes.
offer with_copies(const offer &compute, const memory_desc &src, const memory_desc &inner_src,
                  const memory_desc &inner_dst, const memory_desc &dst, const machine &m);

template <typename Problem> Problem with_channels_last(Problem p) {
    p.src = channels_last_of(p.src);
    p.dst = p.out_stage.dst = channels_last_of(p.dst);
    return p;
}

/// What the family makes of the problem, or of one with copies around it.
template <typename Problem, plan_function<Problem> family> offer plan(const Problem &p, const machine &m) {
    const offer direct = family(p, m);
    if (!direct.is_refused() || (is_channels_last(p.src) && is_channels_last(p.dst)) ||
        reads_dst(p.out_stage))
        return direct;
    const Problem inner = with_channels_last(p);
    return with_copies(family(inner, m), p.src, inner.src, inner.dst, p.dst, m);
}

} // namespace octet::impl::channels_last
