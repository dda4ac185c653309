#pragma once // SPDX-License-Identifier: Apache-2.0

// For kernels that need channels innermost in memory: tensors of other layouts are copied to channels-last and the
// result from there. `Problem` has src, dst and an out_stage.

#include <type_traits>
#include <vector>

#include "common/convolution_problem.hpp"
#include "common/matmul_problem.hpp"
#include "cpu/implementation.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl::channels_last {

inline int channel_dim_of(const matmul_problem &p) { return p.dst.ndims - 1; }
template <typename Problem> int channel_dim_of(const Problem &) { return 1; }

bool is_channels_last(const memory_desc &md, int channel_dim);
/// The tensor in a layout whose channels are innermost: its own, or dense.
memory_desc channels_last_of(const memory_desc &md, int channel_dim);

/// An argument that a computation has in another layout.
struct copy {
    int arg;
    memory_desc outside, inside;
    bool before, after; ///< whether it is read or written, or both
};

/// Copies of the destination, and of tensors of its shape that post-ops read; `out` is changed to read them.
std::vector<copy> copies_of(epilogue &out, int channel_dim);

/// `compute` with these arguments copied around it, in a slot that it does not use itself.
candidate with_copies(const candidate &compute, const std::vector<copy> &copies, const machine &m,
                      scratch_slot slot = scratch_slot::channels_last);

/// Plans the problem with the family, or one with copies around it where the family refuses the layout.
template <typename Problem, plan_function<Problem> family>
candidate plan(const Problem &p, const machine &m) {
    // Products read their source in any layout.
    constexpr bool takes_any_source =
        std::is_base_of_v<convolution_problem, Problem> || std::is_same_v<Problem, matmul_problem>;
    const candidate direct = family(p, m);
    if (!direct.is_refused() || p.dst.format_kind != format_kind::plain)
        return direct;
    const int channel_dim = channel_dim_of(p);
    Problem inner = p;
    std::vector<copy> copies = copies_of(inner.out_stage, channel_dim);
    inner.dst = inner.out_stage.dst;
    if (!takes_any_source && !is_channels_last(p.src, channel_dim)) {
        inner.src = channels_last_of(p.src, channel_dim);
        copies.push_back({OCTET_ARG_SRC, p.src, inner.src, true, false});
    }
    return copies.empty() ? direct : with_copies(family(inner, m), copies, m);
}

} // namespace octet::impl::channels_last
