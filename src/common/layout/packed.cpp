// Sizes of a packed tensor follow from its dimensions and the blocks of packed.hpp.
// SPDX-License-Identifier: Apache-2.0
#include "common/layout/packed.hpp"

#include <algorithm>

namespace octet::impl {

packed_geometry packed_geometry_of(const memory_desc &md) {
    packed_geometry p{1, 1, 1, 1, md.packed_groups, 1, 1, md.packed_width, 1};
    p.element_bytes = md.data_type == data_type::f32 ? static_cast<dim_t>(sizeof(float)) : 1;
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
    p.multiplies_own = p.element_bytes > 1 && p.merged > 1;
    if (p.multiplies_own)
        p.i = 1;
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
    if (md.data_type == data_type::f32) {
        if (o == 1 && i == 1)
            md.packed_groups = groups;
        return;
    }

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

constexpr dim_t absent = 1, present = 2; ///< of packed_steps

struct matrix_size {
    dim_t k, n;
};

/// {K, N}, or {N, K…} of inner products.
matrix_size size_with_scales(const memory_desc &md) {
    if (!has_columns_first(md))
        return {md.dims[0], md.dims[1]};
    dim_t k = 1;
    for (int d = 1; d < md.ndims; d++)
        k = checked_product(k, md.dims[d], md);
    return {k, md.dims[0]};
}

dim_t bytes_with_scales(const memory_desc &md) {
    const auto [k, n] = size_with_scales(md);
    const dim_t group = std::min(md.packed_groups, k),
                values = 1 + (md.packed_steps[0] == present) + has_packed_sums(md);
    // 4 codes of each column; those of 2 bits take 4
    const dim_t row = packed_row_bytes / std::min<dim_t>(elements_per_byte(md.data_type), 2);
    const dim_t record =
        div_up(group, 8) * 2 * row + values * packed_o_block * static_cast<dim_t>(sizeof(float));
    return checked_product(checked_product(div_up(k, group), record, md), div_up(n, packed_o_block), md);
}

} // namespace

void set_packed_with_scales(memory_desc &md, dim_t group, bool has_zero_points, bool has_sums) {
    md.format_kind = format_kind::packed;
    md.packed_kind = packed_kind::matmul_with_scales;
    md.packed_groups = group;
    md.packed_width = 1;
    md.packed_steps[0] = has_zero_points ? present : absent;
    md.packed_steps[1] = has_sums ? present : absent;
    set_columns_first(md, false);
}

bool has_packed_sums(const memory_desc &packed) { return packed.packed_steps[1] == present; }
void set_columns_first(memory_desc &packed, bool are_first) {
    packed.packed_steps[2] = are_first ? present : absent;
}
bool has_columns_first(const memory_desc &packed) { return packed.packed_steps[2] == present; }

bool is_packed_with_scales(const memory_desc &md) {
    return md.format_kind == format_kind::packed && md.packed_kind == packed_kind::matmul_with_scales;
}

bool is_well_packed_with_scales(const memory_desc &md) {
    const auto is_answer = [](dim_t step) { return step == absent || step == present; };
    const bool has_codes = md.data_type == data_type::s8 || md.data_type == data_type::u8 ||
                           md.data_type == data_type::s4 || md.data_type == data_type::u4 ||
                           md.data_type == data_type::u2;
    const bool has_rank = has_columns_first(md) ? md.ndims >= 2 && md.ndims <= 5 : md.ndims == 2;
    return has_codes && has_rank && md.offset0 == 0 && md.packed_groups >= 1 &&
           md.packed_groups <= std::max<dim_t>(size_with_scales(md).k, 1) && md.packed_width == 1 &&
           md.packed_patches == patch_order() &&
           std::all_of(std::begin(md.packed_steps), std::end(md.packed_steps), is_answer);
}

std::size_t packed_bytes(const memory_desc &md) {
    if (element_count(md) == 0)
        return 0;
    if (is_packed_with_scales(md))
        return static_cast<std::size_t>(bytes_with_scales(md));
    const packed_geometry p = packed_geometry_of(md);
    const dim_t columns = checked_product(p.groups, p.o_blocks() * packed_o_block, md);
    const dim_t row_bytes = checked_product(p.block_vectors(), packed_i_block, md);
    const dim_t sum_bytes = p.has_sums() ? p.lines * static_cast<dim_t>(sizeof(std::int32_t)) : 0;
    return static_cast<std::size_t>(checked_product(columns, row_bytes + sum_bytes, md));
}

} // namespace octet::impl
