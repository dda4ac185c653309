#include "common/layout.hpp"

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
    for (dim_t m = 2; m <= groups && m * o <= 4 * packed_o_block; m++)
        if (groups % m == 0 && cost(m) * md.packed_groups <= cost(md.packed_groups) * m)
            md.packed_groups = m;

    const bool one_group = groups == md.packed_groups, has_width = md.ndims > first + 2;
    if (may_fuse_width && one_group && has_width && groups * i % packed_i_block != 0)
        md.packed_width = md.dims[md.ndims - 1];
}

std::size_t size_in_bytes(const memory_desc &md) {
    const std::size_t element = memory::data_type_size(md.data_type);
    if (element_count(md) == 0)
        return 0;
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
