// The quads of the depthwise kernel: the pixels of a patch of taps, each with its channels side by side,
// become one vector with the four codes of each channel together.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/depthwise_generator.hpp"

#include <algorithm>
#include <cstddef>

namespace octet::impl::jit {

using Xbyak::RegExp;
using Xbyak::Xmm;
using Xbyak::Zmm;

/// Pixels of a patch whose first one lies `position` columns from the tile's first.
void depthwise_kernel::gather(const tile_run &run, dim_t position, int patch_row) {
    const patch_axis &columns = spec_.patches.columns;
    // For columns that no tap uses, the first pixel is repeated, or nothing is appended at the end.
    std::vector<RegExp> pixels;
    bool has_source = false, has_padding = false;
    const auto rows = static_cast<int>(used_rows(patch_row));
    for (int e = 0; e < rows; e++)
        for (dim_t f = 0; f < (e == rows - 1 ? used_columns() : columns.size); f++) {
            const dim_t x = position + (f < used_columns() ? f : 0) * spec_.column_taps.dilation;
            const bool is_inside = x >= run.begin && x < run.end;
            has_source = has_source || is_inside;
            has_padding = has_padding || !is_inside;
            pixels.push_back(is_inside
                                 ? reg_rows[e] + reg_position +
                                       static_cast<std::size_t>(x * spec_.pixel_stride + first_ * lanes())
                                 : RegExp(reg_address));
        }
    if (has_padding)
        mov(reg_address, arg(&depthwise_args::padding));
    if (!has_source) {
        for (int v = 0; v < vectors(); v++)
            vpbroadcastd(quads_[static_cast<std::size_t>(v)], dword[reg_address + padding_codes]);
        return;
    }
    if (spec_.blocks > 1)
        gather_blocks(pixels);
    else
        lanes() == 16 ? gather_parts(pixels) : gather_by_unpacking(pixels);
    for (int v = 0; v < vectors() && spec_.flips_source; v++)
        vpxor_(quads_[static_cast<std::size_t>(v)], quads_[static_cast<std::size_t>(v)],
               constant(0x80808080u));
}

/// Pixels of several blocks: bytes of two rows are interleaved, then words. Pixels that do not exist have
/// zero weights; any code will do.
void depthwise_kernel::gather_blocks(const std::vector<RegExp> &pixels) {
    std::vector<vec> &q = quads_;
    for (std::size_t i = 0; i < pixels.size(); i++)
        if (is_interleaved())
            move(q[i], ptr[pixels[i]]);
        else
            load_transposed_blocks(q[i], order_, pixels[i], spec_.blocks);
    const bool has_second_pair = pixels.size() > 2;
    const vec last_of_first = q[std::min<std::size_t>(1, pixels.size() - 1)], last = q[pixels.size() - 1];
    const vec low = q[0], high = q[4], second_low = has_second_pair ? q[2] : low,
              second_high = has_second_pair ? q[1] : high;
    const bool has_high = spec_.blocks > 2;
    if (has_high)
        vpunpckhbw(high, q[0], last_of_first);
    vpunpcklbw(low, q[0], last_of_first);
    if (has_second_pair && has_high)
        vpunpckhbw(second_high, q[2], last);
    if (has_second_pair)
        vpunpcklbw(second_low, q[2], last);
    if (has_high) {
        vpunpckhwd(q[3], high, second_high);
        vpunpcklwd(q[4], high, second_high);
    }
    vpunpckhwd(q[1], low, second_low);
    vpunpcklwd(q[0], low, second_low);
    std::swap(q[2], q[4]);
}

/// Pixels side by side in one vector, then one permutation.
void depthwise_kernel::gather_parts(const std::vector<RegExp> &pixels) {
    const vec &quad = quads_[0];
    const Zmm z(quad.getIdx());
    load_codes(xmm_of(quad), pixels[0], spec_.valid);
    for (std::size_t i = 1; i < pixels.size(); i++) {
        const auto part = static_cast<std::uint8_t>(i);
        if (spec_.valid == channels_per_block) {
            // The loads of 256-bit instructions have one port more.
            i == 1 ? vinserti32x4(ymm_of(quad), ymm_of(quad), ptr[pixels[i]], part)
                   : vinserti32x4(z, z, ptr[pixels[i]], part);
        } else {
            const temp pixel(*this);
            load_codes(xmm_of(pixel), pixels[i], spec_.valid);
            vinserti32x4(z, z, xmm_of(pixel), part);
        }
    }
    transpose_codes(quad, order_, isa().byte_permutes);
}

/// Unpacking bytes, then words: 4 channels with their 4 bytes in each half.
void depthwise_kernel::gather_by_unpacking(const std::vector<RegExp> &pixels) {
    const vec &quad = quads_[0];
    const temp p1(*this), p2(*this), p3(*this);
    const Xmm x[] = {xmm_of(quad), xmm_of(p1), xmm_of(p2), xmm_of(p3)};
    for (std::size_t i = 0; i < 4; i++) {
        if (i >= pixels.size())
            vpxor(x[i], x[i], x[i]);
        else if (valid(first_) == lanes())
            vmovq(x[i], ptr[pixels[i]]);
        else
            load_codes(x[i], pixels[i], valid(first_));
    }
    vpunpcklbw(x[0], x[0], x[1]);
    vpunpcklbw(x[2], x[2], x[3]);
    vpunpckhwd(x[1], x[0], x[2]);
    vpunpcklwd(x[0], x[0], x[2]);
    vinserti128(ymm_of(quad), ymm_of(quad), x[1], 1);
}

} // namespace octet::impl::jit
