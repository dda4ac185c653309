// Taps of a part are those with the same remainder along each axis, last tap first.
// SPDX-License-Identifier: Apache-2.0
#include "common/layout/parts.hpp"

#include <algorithm>

namespace octet::impl {

namespace {

/// Taps of the kernel in depth, height and width.
std::array<dim_t, 3> kernel_of(const memory_desc &packed) {
    std::array<dim_t, 3> kernel{1, 1, 1};
    const int first_spatial = packed.packed_kind == packed_kind::grouped_deconvolution ? 3 : 2;
    for (int d = packed.ndims - 1, a = 2; d >= first_spatial; d--, a--)
        kernel[a] = packed.dims[d];
    return kernel;
}

/// Remainders of depth, height and width of a part's taps.
std::array<dim_t, 3> remainders_of(const memory_desc &packed, dim_t part) {
    std::array<dim_t, 3> first{};
    for (int a = 2; a >= 0; part /= packed.packed_steps[a--])
        first[a] = part % packed.packed_steps[a];
    return first;
}

dim_t count_of_parts(const memory_desc &packed) {
    return packed.packed_steps[0] * packed.packed_steps[1] * packed.packed_steps[2];
}

/// Taps of a part in depth, height and width.
std::array<dim_t, 3> taps_of_part(const memory_desc &packed, dim_t part) {
    std::array<dim_t, 3> taps = kernel_of(packed);
    const std::array<dim_t, 3> first = remainders_of(packed, part);
    for (int a = 0; a < 3; a++)
        taps[a] = div_up(taps[a] - first[a], packed.packed_steps[a]);
    return taps;
}

tap_patches patches_of_part(const memory_desc &packed, dim_t part) {
    const std::array<dim_t, 3> taps = taps_of_part(packed, part);
    return choose_patches({taps[1], 1, 1}, {taps[2], 1, 1});
}

} // namespace

std::vector<kernel_part> kernel_parts(const memory_desc &packed) {
    const bool has_groups = packed.packed_kind == packed_kind::grouped_deconvolution;
    std::vector<kernel_part> parts;
    dim_t offset = 0;
    for (dim_t i = 0; i < count_of_parts(packed); i++) {
        const std::array<dim_t, 3> taps = taps_of_part(packed, i);
        memory_desc md = packed;
        md.packed_kind = has_groups ? packed_kind::grouped_convolution : packed_kind::convolution;
        for (int d = md.ndims - 1, a = 2; d >= (has_groups ? 3 : 2); d--, a--)
            md.dims[d] = taps[a];
        std::fill(md.packed_steps, md.packed_steps + 3, 1);
        if (packed.packed_width > 1)
            md.packed_width = taps[2];
        if (packed.packed_patches.height > 0)
            set_packed_by_patches(md, patches_of_part(packed, i));
        parts.push_back({md, offset});
        offset = checked_product(offset + static_cast<dim_t>(packed_bytes(md)), 1, packed);
    }
    return parts;
}

memory_desc plain_part(const memory_desc &plain, const memory_desc &packed, std::size_t part) {
    const std::array<dim_t, 3> first = remainders_of(packed, static_cast<dim_t>(part)),
                               taps = taps_of_part(packed, static_cast<dim_t>(part));
    memory_desc view = plain;
    const int first_spatial = packed.packed_kind == packed_kind::grouped_deconvolution ? 3 : 2;
    for (int d = plain.ndims - 1, a = 2; d >= first_spatial; d--, a--) {
        const dim_t step = packed.packed_steps[a];
        view.dims[d] = taps[a];
        view.offset0 += (first[a] + (taps[a] - 1) * step) * plain.strides[d];
        view.strides[d] = -step * plain.strides[d];
    }
    return view;
}

part_tap find_tap(const memory_desc &packed, const std::array<dim_t, 3> &tap) {
    const std::array<dim_t, 3> kernel = kernel_of(packed);
    dim_t part = 0, index = 0;
    for (int a = 0; a < 3; a++) {
        const dim_t step = packed.packed_steps[a], remainder = tap[a] % step;
        const dim_t taps = div_up(kernel[a] - remainder, step);
        part = part * step + remainder;
        index = index * taps + taps - 1 - tap[a] / step;
    }
    return {static_cast<std::size_t>(part), index};
}

void set_packed_in_parts(memory_desc &md, packed_kind kind, const std::array<dim_t, 3> &steps,
                         bool may_fuse_width) {
    const bool has_groups = kind == packed_kind::grouped_deconvolution;
    set_packed(md, has_groups ? packed_kind::grouped_convolution : packed_kind::convolution, may_fuse_width);
    md.packed_kind = kind;
    md.packed_patches = {};
    dim_t parts = 1;
    for (int a = 0; a < 3; a++) {
        md.packed_steps[a] = std::min(steps[a], kernel_of(md)[a]);
        parts = std::min(parts, max_kernel_parts) * std::min(md.packed_steps[a], 2 * max_kernel_parts);
    }
    if (parts > max_kernel_parts)
        std::fill(md.packed_steps, md.packed_steps + 3, 1);
}

void set_parts_in_patches(memory_desc &md) {
    const tap_patches largest = patches_of_part(md, 0);
    if (largest.rows.size == 0)
        return;
    md.packed_groups = md.packed_width = 1;
    md.packed_patches = order_of(largest);
}

} // namespace octet::impl
