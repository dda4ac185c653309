// Overlap of two strided sets of bytes is a hard question in general. Three cases are answered exactly: ranges that
// do not meet, the same elements, and pieces that lie side by side within a common step. All else counts as shared.
// SPDX-License-Identifier: Apache-2.0
#include "api/aliasing.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "common/element.hpp"
#include "common/layout/layout.hpp"

namespace octet::impl {

extent extent_of(const memory_desc &md) {
    extent e;
    if (size_in_bytes(md) == 0)
        return e;
    if (md.format_kind != format_kind::plain) {
        e.element = e.size = static_cast<dim_t>(size_in_bytes(md));
        return e;
    }
    if (shares_bytes(md.data_type)) { // not worth more: as one piece
        e.element = e.size = static_cast<dim_t>(size_in_bytes(md));
        return e;
    }
    e.is_plain = true;
    e.element = static_cast<dim_t>(memory::data_type_size(md.data_type));
    e.first = md.offset0 * e.element;
    e.size = e.element;
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] > 1) {
            e.counts[e.ndims] = md.dims[d];
            e.strides[e.ndims++] = md.strides[d] * e.element;
            e.size += (md.dims[d] - 1) * md.strides[d] * e.element;
        }
    return e;
}

std::vector<byte_range> ranges_of(const std::map<int, extent> &extents) {
    std::vector<byte_range> ranges;
    for (const auto &[arg, e] : extents)
        ranges.insert(arg == OCTET_ARG_DST ? ranges.begin() : ranges.end(), {arg, e.first, e.size});
    return ranges;
}

namespace {

/// Bytes of the piece that dimensions with steps below `limit` make.
dim_t piece_of(const extent &e, dim_t limit) {
    dim_t bytes = e.element;
    for (int d = 0; d < e.ndims; d++)
        if (e.strides[d] < limit)
            bytes += (e.counts[d] - 1) * e.strides[d];
    return bytes;
}

dim_t common_step(const extent &e, dim_t limit, dim_t step) {
    for (int d = 0; d < e.ndims; d++)
        if (e.strides[d] >= limit)
            step = std::gcd(step, e.strides[d]);
    return step;
}

/// True if, modulo a step that all outer dimensions of both are multiples of, their pieces lie side by side.
bool are_interleaved(const extent &a, const extent &b, dim_t distance) {
    for (const extent *e : {&a, &b})
        for (int d = 0; d < e->ndims; d++) {
            const dim_t limit = e->strides[d], step = common_step(b, limit, common_step(a, limit, 0));
            if (step == 0)
                continue;
            const dim_t position = (distance % step + step) % step; // from a's pieces to b's, within a step
            if (position >= piece_of(a, limit) && position + piece_of(b, limit) <= step)
                return true;
        }
    return false;
}

bool have_equal_elements(const extent &a, const extent &b) {
    return a.is_plain && b.is_plain && a.element == b.element && a.ndims == b.ndims && a.counts == b.counts &&
           a.strides == b.strides;
}

} // namespace

sharing share_bytes(const extent &a, const void *a_handle, const extent &b, const void *b_handle) {
    if (a.size == 0 || b.size == 0)
        return sharing::nothing;
    const auto a_start = reinterpret_cast<std::intptr_t>(a_handle) + a.first,
               b_start = reinterpret_cast<std::intptr_t>(b_handle) + b.first;
    if (a_start + a.size <= b_start || b_start + b.size <= a_start)
        return sharing::nothing;
    if (a_start == b_start && have_equal_elements(a, b))
        return sharing::every_element;
    return are_interleaved(a, b, b_start - a_start) ? sharing::nothing : sharing::some_bytes;
}

} // namespace octet::impl
