// Rows gathered from an image: the first tiles in front of all products, the others among the products of the
// tiles before them.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/dot_amx_generator.hpp"

namespace octet::impl::jit {

/// All tiles of the ring but the one that is gathered while the first tile is multiplied.
void amx_dot_kernel::gather_first_tiles() {
    piece_ = take_vec();
    mov(reg_gather_from, arg(&dot_args::src));
    mov(reg_gather_to, arg(&dot_args::ring));
    const std::int64_t tile_bytes = gathered_tile_bytes(spec_.rows, spec_.quads);
    lea(reg_address, ptr[reg_gather_to + static_cast<std::size_t>(tiles_of_ring * tile_bytes)]);
    mov(stack(end_of_ring), reg_address);
    for (int tile = 1; tile < tiles_of_ring; tile++) {
        Xbyak::Label row;
        mov(reg_steps, spec_.rows);
        L(row);
        for (int piece = 0; piece < spec_.tiling.gathered.pieces; piece++)
            copy_piece(piece);
        to_next_gathered_row();
        dec(reg_steps);
        jnz(row);
        to_next_gathered_tile();
    }
}

/// The tile that is multiplied next is the one behind the place of the next copies.
void amx_dot_kernel::find_gathered_tile() {
    lea(reg_tap_src, ptr[reg_gather_to + static_cast<int>(gathered_tile_bytes(spec_.rows, spec_.quads))]);
    cmp(reg_tap_src, stack(end_of_ring));
    cmovae(reg_tap_src, arg(&dot_args::ring));
}

/// By a vector that is no shorter than the piece. What it writes too much is overwritten by the next piece or row.
void amx_dot_kernel::copy_piece(int piece) {
    const std::int64_t bytes = spec_.quads * bytes_per_quad / spec_.tiling.gathered.pieces;
    const auto from =
        ptr[reg_gather_from + static_cast<std::size_t>(piece * spec_.tiling.gathered.piece_stride)];
    const auto to = ptr[reg_gather_to + static_cast<std::size_t>(piece * bytes)];
    if (constexpr int ymm_bytes = 32; bytes > ymm_bytes) {
        vmovdqu32(piece_, from);
        vmovdqu32(to, piece_);
        return;
    }
    // The first registers, of which this is one, have shorter instructions.
    constexpr int xmm_bytes = 16;
    const int index = piece_.getIdx();
    const vec part = bytes > xmm_bytes ? static_cast<vec>(Xbyak::Ymm(index)) : vec(index);
    vmovdqu(part, from);
    vmovdqu(to, part);
}

void amx_dot_kernel::to_next_gathered_row() {
    Xbyak::Label is_same_line;
    add(reg_gather_from, static_cast<std::uint32_t>(spec_.tiling.gathered.row_step));
    add(reg_gather_to, static_cast<std::uint32_t>(spec_.row_stride));
    dec(arg(&dot_args::rows_of_line));
    jnz(is_same_line);
    add(reg_gather_from, static_cast<std::uint32_t>(spec_.tiling.gathered.line_step));
    mov(arg(&dot_args::rows_of_line), static_cast<std::uint32_t>(spec_.tiling.gathered.line_rows));
    L(is_same_line);
}

void amx_dot_kernel::to_next_gathered_tile() {
    add(reg_gather_to, cache_line);
    cmp(reg_gather_to, stack(end_of_ring));
    cmovae(reg_gather_to, arg(&dot_args::ring));
}

/// This step's share of the copies for the tile after the next one.
amx_dot_kernel::instructions amx_dot_kernel::copies_of_step() {
    instructions all;
    for (int row = 0; row < spec_.rows; row++) {
        for (int piece = 0; piece < spec_.tiling.gathered.pieces; piece++)
            all.push_back([this, piece] { copy_piece(piece); });
        all.push_back([this] { to_next_gathered_row(); });
    }
    all.push_back([this] { to_next_gathered_tile(); });
    const auto first = [&](std::int64_t step) {
        return all.begin() + static_cast<std::int64_t>(all.size()) * step / steps();
    };
    return {first(step_of_tile_), first(step_of_tile_ + 1)};
}

/// One after the other, since each has copies of its own.
void amx_dot_kernel::later_steps_of_gathered() {
    for (step_of_tile_ = 1; step_of_tile_ < steps(); step_of_tile_++) {
        const bool is_last = shapes_.last_quads > 0 && step_of_tile_ + 1 == steps();
        step_among_results(is_last ? shapes_.last_quads : shapes_.quads, is_last, steps() - 1);
    }
    step_of_tile_ = 0;
}

} // namespace octet::impl::jit
