// Masks and groups find K and N here, whichever comes first.
// SPDX-License-Identifier: Apache-2.0
#include "api/dynamic_weights.hpp"

#include <algorithm>
#include <utility>

#include "api/tensors/format_tag.hpp"
#include "common/layout/layout.hpp"
#include "common/text.hpp"

namespace octet::impl {

namespace {

/// The product of dimensions 1 and up.
dim_t inner_size(const memory_desc &md) {
    dim_t size = 1;
    for (int d = 1; d < md.ndims; d++)
        size *= md.dims[d];
    return size;
}

/// Dimensions 1 and up as one.
memory_desc flattened(const char *operation, const char *name, const memory_desc &md) {
    memory_desc flat = md;
    flat.ndims = 2;
    flat.dims[1] = inner_size(md);
    flat.strides[1] = md.strides[md.ndims - 1];
    if (md.format_kind != format_kind::plain || element_count(md) == 0)
        return flat;
    dim_t below = md.dims[md.ndims - 1];
    for (int d = md.ndims - 2; d > 0; below *= md.dims[d--])
        if (md.dims[d] != 1 && below > 1 && md.strides[d] != below * flat.strides[1])
            throw_unimplemented(operation, ": ", name, " is ", memory::desc(md).to_string(),
                                " with set_source_quantization, implemented: channels and positions in ",
                                "row-major order, without gaps");
        else if (below == 1)
            flat.strides[1] = md.strides[d];
    return flat;
}

struct groups_of_weights {
    dim_t length;
    bool are_given;
};

/// The elements of K that share a value.
groups_of_weights groups_of(const described_weights &w, const std::string &what, int mask,
                            const memory::dims &groups) {
    const int of_column = w.column_mask(), of_groups = w.group_mask();
    const dim_t all = std::max<dim_t>(w.k(), 1);
    if (mask != 0 && mask != of_column && (mask != of_groups || of_groups == 0))
        throw_invalid(w.operation, ": mask of ", what, " is ", mask, ", allowed: 0, ", of_column,
                      " (columns)",
                      of_groups == 0 ? std::string() : text(", ", of_groups, " (groups of K and columns)"));
    if (mask != of_groups || of_groups == 0) {
        if (!groups.empty() && (groups[0] != 1 || groups[1] != 1))
            throw_invalid(w.operation, ": ", what, " have groups ", joined(groups.data(), groups.size()),
                          " with mask ", mask,
                          ", allowed: ", of_groups == 0 ? std::string("none") : text("mask ", of_groups));
        return {all, false};
    }
    const int of_k = w.has_columns_first ? 1 : 0;
    const dim_t length = groups.empty() ? 1 : groups[of_k], columns = groups.empty() ? 1 : groups[1 - of_k];
    if (columns != 1 || length > all)
        throw_invalid(w.operation, ": ", what, " have groups ", joined(groups.data(), groups.size()),
                      " for dims ", dims_text(w.md), ", allowed: 1 to ", w.k(), " of K, 1 of N");
    return {length, true};
}

template <typename T>
weight_values lower_values(const described_weights &w, const std::string &what, int flag,
                           const masked_values<T> &given) {
    weight_values v;
    v.arg = flag | w.arg;
    v.is_set = given.is_set();
    v.has_columns = (given.mask & w.column_mask()) != 0;
    v.has_columns_first = w.has_columns_first;
    v.groups = div_up(std::max<dim_t>(w.k(), 1), groups_of(w, what, given.mask, given.groups).length);
    if (given.runtime) {
        v.type = given.type != data_type::undef ? given.type
                 : std::is_same_v<T, float>     ? data_type::f32
                                                : data_type::s32;
        return v;
    }
    v.values.assign(given.values.begin(), given.values.end());
    if (v.is_set && static_cast<dim_t>(v.values.size()) != v.count(w.n()))
        throw_invalid(w.operation, ": ", v.values.size(), " ", what, " with mask ", given.mask, " for dims ",
                      dims_text(w.md), ", allowed: ", v.count(w.n()));
    if constexpr (std::is_same_v<T, float>)
        check_scales(w.operation, what.c_str(), v.values.data(), v.values.size(), scale_signs::not_negative);
    else
        check_weight_zero_points(w.operation, what.c_str(), v.values.data(), v.values.size(), w.md.data_type);
    return v;
}

} // namespace

dim_t described_weights::k() const { return has_columns_first ? inner_size(md) : md.dims[md.ndims - 2]; }

memory_desc matrix_of_rows(const char *operation, const char *name, const memory_desc &rows) {
    return rows.ndims == 2 ? rows : flattened(operation, name, rows);
}

memory_desc matrix_of_columns(const char *operation, const memory_desc &weights) {
    memory_desc matrix = matrix_of_rows(operation, "weights", weights);
    std::swap(matrix.dims[0], matrix.dims[1]);
    std::swap(matrix.strides[0], matrix.strides[1]);
    if (is_packed_with_scales(weights))
        set_columns_first(matrix, false);
    else if (matrix.format_kind == format_kind::packed && weights.ndims == 2 &&
             matrix.packed_kind == packed_kind::convolution)
        matrix.packed_kind = packed_kind::matmul; // without positions they are one layout
    return matrix;
}

memory_desc columns_of_matrix(const memory_desc &matrix, const memory_desc &given) {
    memory_desc columns = matrix;
    columns.ndims = given.ndims;
    std::copy_n(given.dims, given.ndims, columns.dims);
    if (is_packed_with_scales(matrix))
        set_columns_first(columns, true);
    else if (matrix.format_kind == format_kind::packed)
        columns.packed_kind = packed_kind::convolution;
    else
        set_row_major(columns);
    return columns;
}

lowered_weights lower_weight_values(const primitive_attr &attr, const described_weights &w) {
    const auto scales = attr.scales().find(w.arg);
    if (scales == attr.scales().end())
        throw_invalid(w.operation, ": no scales of ", w.tensor, ", allowed: set_scales(",
                      argument_to_string(w.arg), ", …)");
    const std::string scales_text = text("scales of ", w.tensor),
                      zero_points_text = text("zero points of ", w.tensor);
    const groups_of_weights groups = groups_of(w, scales_text, scales->second.mask, scales->second.groups);
    lowered_weights lowered;
    lowered.group = groups.length;
    lowered.has_groups = groups.are_given;
    lowered.scales = lower_values(w, scales_text, OCTET_ARG_ATTR_SCALES, scales->second);
    const auto zero_points = attr.zero_points().find(w.arg);
    if (zero_points == attr.zero_points().end())
        return lowered;
    lowered.zero_points = lower_values(w, zero_points_text, OCTET_ARG_ATTR_ZERO_POINTS, zero_points->second);
    if (lowered.zero_points.groups != 1 && lowered.zero_points.groups != lowered.scales.groups)
        throw_invalid(w.operation, ": ", lowered.zero_points.groups, " groups of zero points and ",
                      lowered.scales.groups, " of scales, allowed: as many, or no groups of zero points");
    return lowered;
}

} // namespace octet::impl
