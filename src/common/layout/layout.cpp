#include "common/layout/layout.hpp"

#include <algorithm>

#include "common/text.hpp"

namespace octet::impl {

namespace {

dim_t checked_product(dim_t a, dim_t b, const memory_desc &md) {
    dim_t product;
    // 2^56 bytes: more than any address space, so sums of products can't overflow either.
    if (__builtin_mul_overflow(a, b, &product) || product > dim_t{1} << 56)
        throw_invalid("memory::desc: dims ", dims_text(md), " overflow the size of a tensor");
    return product;
}

} // namespace

std::string dims_text(const memory_desc &md) {
    std::string s = "{";
    for (int d = 0; d < md.ndims; d++)
        s += (d ? ", " : "") + std::to_string(md.dims[d]);
    return s + "}";
}

dim_t element_count(const memory_desc &md) {
    if (std::find(md.dims, md.dims + md.ndims, 0) != md.dims + md.ndims)
        return 0;
    dim_t count = md.ndims == 0 ? 0 : 1;
    for (int d = 0; d < md.ndims; d++)
        count = checked_product(count, md.dims[d], md);
    return count;
}

packed_geometry packed_geometry_of(const memory_desc &md) {
    packed_geometry p{1, 1, 1, 1, md.packed_groups, 1, 1, md.packed_width, 1, false, {}};
    if (md.packed_kind == packed_kind::matmul) {
        for (int d = 0; d < md.ndims - 2; d++)
            p.groups *= md.dims[d];
        p.i = p.i_per_member = md.dims[md.ndims - 2];
        p.o = p.o_per_member = md.dims[md.ndims - 1];
        return p;
    }
    const int first = md.packed_kind == packed_kind::grouped_convolution ? 1 : 0;
    if (first)
        p.groups = md.dims[0] / p.merged;
    p.o_per_member = md.dims[first];
    p.i_per_member = md.dims[first + 1];
    for (int d = first + 2; d < md.ndims; d++)
        p.taps *= md.dims[d];
    p.taps /= p.fused_width;
    for (int d = first + 2; d < md.ndims - 1; d++)
        p.lines *= md.dims[d];
    p.o = p.merged * p.o_per_member;
    p.i = p.fused_width * p.merged * p.i_per_member;
    p.has_patches = md.packed_patches.height > 0;
    if (p.has_patches) {
        p.i = p.i_per_member;
        p.patches = patches_from(md.packed_patches, p.lines, md.dims[md.ndims - 1]);
    }
    return p;
}

void set_packed_by_patches(memory_desc &md, const tap_patches &patches) {
    md.format_kind = format_kind::packed;
    md.packed_kind = packed_kind::grouped_convolution;
    md.packed_groups = md.dims[0];
    md.packed_width = 1;
    md.packed_patches = order_of(patches);
}

void set_packed(memory_desc &md, packed_kind kind, bool may_fuse_width) {
    md.format_kind = format_kind::packed;
    md.packed_kind = kind;
    md.packed_groups = 1;
    md.packed_width = 1;
    if (kind == packed_kind::matmul)
        return;
    const int first = kind == packed_kind::grouped_convolution ? 1 : 0;
    const dim_t groups = first ? md.dims[0] : 1, o = md.dims[first], i = md.dims[first + 1];

    // Dot products per logical group, for each number of merged groups; among equals the widest.
    const auto cost = [&](dim_t m) { return div_up(m * i, packed_i_block) * div_up(m * o, packed_o_block); };
    for (dim_t m = 2; m <= groups && m * std::max<dim_t>(o, 1) <= 4 * packed_o_block; m++)
        if (groups % m == 0 && cost(m) * md.packed_groups <= cost(md.packed_groups) * m)
            md.packed_groups = m;

    const bool one_group = groups == md.packed_groups, has_width = md.ndims > first + 2;
    if (may_fuse_width && one_group && has_width && groups * i % packed_i_block != 0)
        md.packed_width = md.dims[md.ndims - 1];
}

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
        offset = checked_product(offset + static_cast<dim_t>(size_in_bytes(md)), 1, packed);
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

std::size_t size_in_bytes(const memory_desc &md) {
    const std::size_t element = memory::data_type_size(md.data_type);
    if (element_count(md) == 0)
        return 0;
    if (md.format_kind == format_kind::packed && has_parts(md.packed_kind)) {
        const kernel_part last = kernel_parts(md).back();
        return static_cast<std::size_t>(last.offset) + size_in_bytes(last.weights);
    }
    if (md.format_kind == format_kind::packed) {
        const packed_geometry p = packed_geometry_of(md);
        const dim_t columns = checked_product(p.groups, p.o_blocks() * packed_o_block, md);
        const dim_t row_bytes = checked_product(p.block_vectors(), packed_i_block, md);
        return static_cast<std::size_t>(
            checked_product(columns, row_bytes + p.lines * static_cast<dim_t>(sizeof(std::int32_t)), md));
    }
    if (md.format_kind != format_kind::plain)
        return 0;
    dim_t last = md.offset0;
    for (int d = 0; d < md.ndims; d++)
        last += checked_product(md.dims[d] - 1, md.strides[d], md);
    return static_cast<std::size_t>(checked_product(last + 1, 1, md)) * element;
}

dim_t element_offset(const memory_desc &md, const coordinates &at) {
    if (md.format_kind == format_kind::plain)
        return plain_offset(md, at);
    if (has_parts(md.packed_kind)) {
        const int first = md.packed_kind == packed_kind::grouped_deconvolution ? 1 : 0;
        std::array<dim_t, 3> tap{};
        for (int d = md.ndims - 1, a = 2; d >= first + 2; d--, a--)
            tap[a] = at[d];
        const part_tap found = find_tap(md, tap);
        const kernel_part part = kernel_parts(md)[found.part];
        return part.offset + packed_geometry_of(part.weights)
                                 .offset(first ? at[0] : 0, at[first], at[first + 1], found.tap);
    }
    const packed_geometry p = packed_geometry_of(md);
    dim_t group = 0, tap = 0;
    if (md.packed_kind == packed_kind::matmul) {
        for (int d = 0; d < md.ndims - 2; d++)
            group = group * md.dims[d] + at[d];
        return p.offset(group, at[md.ndims - 1], at[md.ndims - 2], 0);
    }
    const int first = md.packed_kind == packed_kind::grouped_convolution ? 1 : 0;
    if (first)
        group = at[0];
    for (int d = first + 2; d < md.ndims; d++)
        tap = tap * md.dims[d] + at[d];
    return p.offset(group, at[first], at[first + 1], tap);
}

dim_t masked_count(int mask, const memory_desc &md) {
    dim_t count = 1;
    for (int d = 0; d < md.ndims; d++)
        if (mask & (1 << d))
            count *= md.dims[d];
    return count;
}

coordinates coordinates_of(dim_t index, const memory_desc &md) {
    coordinates at{};
    for (int d = md.ndims - 1; d >= 0; d--) {
        at[d] = index % md.dims[d];
        index /= md.dims[d];
    }
    return at;
}

bool same_dims(const memory_desc &a, const memory_desc &b) {
    return a.ndims == b.ndims && std::equal(a.dims, a.dims + a.ndims, b.dims);
}

void set_row_major(memory_desc &md) {
    md.format_kind = format_kind::plain;
    dim_t stride = 1;
    for (int d = md.ndims - 1; d >= 0; d--) {
        md.strides[d] = stride;
        stride = checked_product(stride, std::max<dim_t>(md.dims[d], 1), md);
    }
}

} // namespace octet::impl
