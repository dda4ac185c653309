// Asks the kind of the layout: plain, packed, or packed in parts.
// SPDX-License-Identifier: Apache-2.0
#include "common/layout/layout.hpp"

namespace octet::impl {

std::size_t size_in_bytes(const memory_desc &md) {
    const std::size_t element = memory::data_type_size(md.data_type);
    if (element_count(md) == 0)
        return 0;
    if (md.format_kind == format_kind::packed && has_parts(md.packed_kind)) {
        const kernel_part last = kernel_parts(md).back();
        return static_cast<std::size_t>(last.offset) + packed_bytes(last.weights);
    }
    if (is_packed_recurrent(md))
        return recurrent_bytes(md);
    if (md.format_kind == format_kind::packed)
        return packed_bytes(md);
    if (md.format_kind != format_kind::plain)
        return 0;
    dim_t last = md.offset0;
    for (int d = 0; d < md.ndims; d++)
        last += checked_product(md.dims[d] - 1, md.strides[d], md);
    const dim_t elements = checked_product(last + 1, 1, md);
    return static_cast<std::size_t>(div_up(elements, elements_per_byte(md.data_type))) * element;
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
    if (is_packed_recurrent(md))
        return recurrent_offset(md, at);
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

} // namespace octet::impl
