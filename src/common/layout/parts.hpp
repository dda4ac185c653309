#pragma once // SPDX-License-Identifier: Apache-2.0

// Weights of a deconvolution are several kernels of convolutions one after the other ("parts"): outputs at a
// distance of the strides meet the same taps, which are those with equal index modulo `packed_steps`. A
// convolution runs through them backwards, so the last tap is stored first. Parts of depthwise weights may be
// stored in patches.

#include <array>
#include <vector>

#include "common/layout/packed.hpp"

namespace octet::impl {

/// One of the kernels that packed weights of a deconvolution consist of.
struct kernel_part {
    memory_desc weights; ///< packed for a convolution
    dim_t offset;        ///< bytes from the start
};
constexpr bool has_parts(packed_kind kind) {
    return kind == packed_kind::deconvolution || kind == packed_kind::grouped_deconvolution;
}
/// All parts, row-major over the remainders of depth, height and width.
std::vector<kernel_part> kernel_parts(const memory_desc &packed);
/// The part's taps in the same order, as a view of plain weights of these dims.
memory_desc plain_part(const memory_desc &plain, const memory_desc &packed, std::size_t part);
/// The part and the place in it where a tap {depth, height, width} is stored.
struct part_tap {
    std::size_t part;
    dim_t tap;
};
part_tap find_tap(const memory_desc &packed, const std::array<dim_t, 3> &tap);

/// More parts than this are not made: the kernel then stays one.
constexpr dim_t max_kernel_parts = 1024;
/// Gives weights of a deconvolution (`kind` has parts) the packed layout for these steps {depth, height,
/// width}.
void set_packed_in_parts(memory_desc &md, packed_kind kind, const std::array<dim_t, 3> &steps,
                         bool may_fuse_width);
/// Packs depthwise weights in parts: each gets patches of its own, unless it is too large for them.
void set_parts_in_patches(memory_desc &md);

} // namespace octet::impl
