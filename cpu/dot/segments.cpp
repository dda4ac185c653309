// A line is cut where it leaves the image: its middle is read in place, its ends, or all of it, from copies.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/segments.hpp"

#include "cpu/machine/scratch.hpp"

namespace octet::impl {

namespace {

std::uint8_t *scratch_of(const dot_plan &p) {
    return static_cast<std::uint8_t *>(
        thread_scratch(scratch_slot::source_rows, static_cast<std::size_t>(p.scratch_bytes)));
}

row_segment in_place(const dot_geometry &g, const dot_plan &p, const std::uint8_t *src,
                     const row_band &band) {
    const dim_t offset = p.is_flat ? band.first * p.row_stride
                                   : band.od * g.src_row_strides[0] + band.first * g.src_row_strides[1];
    return {0, p.is_flat ? band.count : g.width, src + offset, p.line_stride, p.tap_offsets.data()};
}

/// The rows between the strips; taps outside the image are never read, whatever address they would have.
row_segment middle(const dot_geometry &g, const dot_plan &p, const std::uint8_t *src, const row_band &band) {
    const dim_t line = band.first * g.stride[1] - g.pad[1];
    const dim_t column = p.left_rows * g.stride[2] - g.pad[2];
    return {p.left_rows, g.width - p.left_rows - p.right_rows,
            src + line * g.src_strides[1] + column * g.src_strides[2], g.src_row_strides[1],
            p.tap_offsets.data()};
}

} // namespace

row_segments prepare_rows(const dot_geometry &g, const dot_plan &p, const copy_source &copy,
                          const row_band &band) {
    switch (p.source) {
    case row_source::in_place:
        return {in_place(g, p, copy.base, band)};
    case row_source::copied_rows: {
        std::uint8_t *rows = scratch_of(p);
        const dim_t first = p.is_flat ? band.first : (band.od * g.height + band.first) * g.width;
        copy_rows(g, p, copy, first, p.is_flat ? band.count : band.count * g.width, rows);
        return {row_segment{0, p.is_flat ? band.count : g.width, rows, p.line_stride, p.tap_offsets.data()}};
    }
    case row_source::copied_image: {
        std::uint8_t *image = scratch_of(p);
        copy_image(g, p, copy, {band.od, band.first, band.count, 0}, image);
        return {row_segment{0, g.width, image, p.line_stride, p.tap_offsets.data()}};
    }
    case row_source::gathered: {
        std::uint8_t *image = scratch_of(p) + ring_bytes(p);
        const dim_t line = band.first / g.width, end = (band.first + band.count - 1) / g.width + 1;
        copy_image(g, p, copy, {band.od, line, end - line, 0}, image);
        return {row_segment{0, band.count, image, 0, p.tap_offsets.data(), band.first % g.width}};
    }
    case row_source::copied_edges:
        break;
    }
    std::uint8_t *left = scratch_of(p), *right = left + p.copy[1] * p.copied_line_bytes;
    const dim_t right_row = g.width - p.right_rows;
    if (p.left_rows > 0)
        copy_image(g, p, copy, {band.od, band.first, band.count, 0}, left);
    if (p.right_rows > 0)
        copy_image(g, p, copy, {band.od, band.first, band.count, right_row * g.stride[2]}, right);
    return {row_segment{0, p.left_rows, left, p.line_stride, p.edge_tap_offsets.data()},
            middle(g, p, copy.base, band),
            row_segment{right_row, p.right_rows, right, p.line_stride, p.edge_tap_offsets.data()}};
}

} // namespace octet::impl
