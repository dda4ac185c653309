#include "cpu/dot/copy.hpp"

#include <algorithm>
#include <cstring>

namespace octet::impl {

namespace {

/// `positions` source positions, `channels` bytes each; a pixel is contiguous at the destination.
void copy_positions(const copy_source &src, const std::uint8_t *from, dim_t positions, dim_t position_stride,
                    dim_t channels, dim_t channel_stride, std::uint8_t *to) {
    if (channel_stride == 1 && position_stride == channels) {
        channels *= positions;
        positions = 1;
    }
    for (dim_t w = 0; w < positions; w++, from += position_stride, to += channels) {
        if (channel_stride != 1)
            for (dim_t c = 0; c < channels; c++)
                to[c] = from[c * channel_stride] ^ src.flip;
        else if (src.flip)
            for (dim_t c = 0; c < channels; c++)
                to[c] = from[c] ^ src.flip;
        else
            std::memcpy(to, from, static_cast<std::size_t>(channels));
    }
}

} // namespace

void copy_rows(const dot_geometry &g, const dot_plan &p, const copy_source &src, dim_t first, dim_t count,
               std::uint8_t *to) {
    for (dim_t r = first; r < first + count; r++, to += p.row_stride) {
        const dim_t ow = r % g.width, oh = r / g.width % g.height, od = r / g.width / g.height;
        const std::uint8_t *row =
            src.base + od * g.src_row_strides[0] + oh * g.src_row_strides[1] + ow * g.src_row_strides[2];
        std::uint8_t *out = to;
        for (dim_t kd = 0; kd < g.kernel[0]; kd++)
            for (dim_t kh = 0; kh < g.kernel[1]; kh++, out += g.kernel[2] * g.channels)
                copy_positions(src, row + kd * g.src_tap_strides[0] + kh * g.src_tap_strides[1], g.kernel[2],
                               g.src_tap_strides[2], g.channels, g.src_channel_stride, out);
    }
}

void copy_image(const dot_geometry &g, const dot_plan &p, const copy_source &src, const image_part &part,
                std::uint8_t *to) {
    const dim_t lines = (part.count - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
    const dim_t line_bytes = p.copy[2] * g.channels;
    // Columns of the copy that lie inside the image: [left, right).
    const dim_t origin = part.column - g.pad[2];
    const dim_t left = std::clamp<dim_t>(-origin, 0, p.copy[2]);
    const dim_t right = std::clamp<dim_t>(g.in[2] - origin, left, p.copy[2]);
    for (dim_t kd = 0; kd < g.kernel[0]; kd++) {
        const dim_t id = part.od * g.stride[0] + kd * g.dilation[0] - g.pad[0];
        for (dim_t r = 0; r < lines; r++) {
            std::uint8_t *line = to + (kd * p.copy[1] + r) * line_bytes;
            const dim_t ih = part.first * g.stride[1] + r - g.pad[1];
            if (id < 0 || id >= g.in[0] || ih < 0 || ih >= g.in[1] || right == left) {
                std::memset(line, src.padding, static_cast<std::size_t>(line_bytes));
                continue;
            }
            std::memset(line, src.padding, static_cast<std::size_t>(left * g.channels));
            std::memset(line + right * g.channels, src.padding,
                        static_cast<std::size_t>((p.copy[2] - right) * g.channels));
            copy_positions(
                src,
                src.base + id * g.src_strides[0] + ih * g.src_strides[1] + (left + origin) * g.src_strides[2],
                right - left, g.src_strides[2], g.channels, g.src_channel_stride, line + left * g.channels);
        }
    }
}

} // namespace octet::impl
