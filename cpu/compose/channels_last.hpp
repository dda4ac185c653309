#pragma once

// For kernels that need channels innermost in memory: other layouts are copied to channels-last and the
// result from there. `Problem` has src, dst and an out_stage.

#include <memory>
#include <string>
#include <variant>

#include "cpu/registry.hpp"
#include "cpu/stream/drive.hpp"

namespace octet::impl::channels_last {

bool is_channels_last(const memory_desc &md);
/// The tensor in a layout whose channels are innermost: its own, or dense.
memory_desc channels_last_of(const memory_desc &md);
reorder_problem copy_of(const memory_desc &src, const memory_desc &dst);

/// `compute` between copies, where there are some; null for none.
std::shared_ptr<const kernel> create_with_copies(std::shared_ptr<const kernel> copy_src,
                                                 std::shared_ptr<const kernel> compute,
                                                 std::shared_ptr<const kernel> copy_dst,
                                                 const memory_desc &src, const memory_desc &dst);

template <typename Problem> Problem with_channels_last(Problem p) {
    p.src = channels_last_of(p.src);
    p.dst = p.out_stage.dst = channels_last_of(p.dst);
    return p;
}

template <typename Problem, refuses_function<Problem> refuses_inner>
std::string refuses(const Problem &p, const machine &m) {
    std::string reason = refuses_inner(p, m);
    if (reason.empty() || (is_channels_last(p.src) && is_channels_last(p.dst)) || reads_dst(p.out_stage))
        return reason;
    const Problem inner = with_channels_last(p);
    reason = refuses_inner(inner, m);
    if (reason.empty() && !is_channels_last(p.src))
        reason = stream::refuses(copy_of(p.src, inner.src), m);
    if (reason.empty() && !is_channels_last(p.dst))
        reason = stream::refuses(copy_of(inner.dst, p.dst), m);
    return reason;
}

template <typename Problem, refuses_function<Problem> refuses_inner, create_function<Problem> create_inner>
std::shared_ptr<const kernel> create(const Problem &p, const machine &m) {
    if (refuses_inner(p, m).empty())
        return create_inner(p, m);
    const Problem inner = with_channels_last(p);
    std::shared_ptr<const kernel> copy_src, copy_dst;
    if (!is_channels_last(p.src))
        copy_src = stream::create(copy_of(p.src, inner.src), m);
    if (!is_channels_last(p.dst))
        copy_dst = stream::create(copy_of(inner.dst, p.dst), m);
    return create_with_copies(copy_src, create_inner(inner, m), copy_dst, inner.src, inner.dst);
}

} // namespace octet::impl::channels_last
