#pragma once // SPDX-License-Identifier: Apache-2.0

// The generator of the depthwise kernel (depthwise.hpp): tiles and their sums are in depthwise_generator.cpp,
// quads of source codes in depthwise_quads.cpp.

#include <vector>

#include "jit/base/generated.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/kernels/depthwise.hpp"

namespace octet::impl::jit {

class depthwise_kernel : public generated<const depthwise_args> {
public:
    depthwise_kernel(const depthwise_spec &spec, const epilogue_plan &plan);

private:
    /// Outputs of a tile, and of the next one where they slide.
    struct column_range {
        int first, last;
    };
    void generate();
    void group();
    void next_group();
    void interleave_group();
    void interleave(const Xbyak::Reg64 &from, int vectors, int scratch_vectors);
    void lines(int v);
    void line();
    void next_line();
    void take_weights();
    void split_weights();
    void tile(const tile_run &run);
    void initialise();
    void give_accumulators();
    void find_rows(int patch_row);
    void start_sliding();
    int outputs_behind(std::size_t run) const;
    void slide(const tile_run &run, int outputs_behind);
    void multiply_patch_row(const tile_run &run, int patch_row);
    void multiply_position(const tile_run &run, dim_t position, column_range outputs);
    void multiply_patch(const tile_run &run, dim_t position, int patch_row, column_range outputs);
    void multiply(dim_t position, int patch_row, column_range outputs);
    void multiply(std::size_t acc, dim_t tap_vector, int v, std::uint32_t taps);
    void multiply_words(const vec &quad, std::size_t acc, dim_t tap_vector, std::uint32_t taps);
    void subtract_sums();
    void finish_outputs(column_range outputs);

    void gather(const tile_run &run, dim_t position, int patch_row);
    void gather_parts(const std::vector<Xbyak::RegExp> &pixels);
    void gather_blocks(const std::vector<Xbyak::RegExp> &pixels);
    void gather_by_unpacking(const std::vector<Xbyak::RegExp> &pixels);

    /// Values that outlive a line, in memory.
    enum class slot { groups, lines, rows, weights, initial, params, element, line_element, position, count };
    Xbyak::Address at(slot s) { return qword[rsp + 8 * static_cast<int>(s)]; }
    void copy(slot to, const Xbyak::Address &from);

    bool is_interleaved() const { return spec_.blocks == 4 && plan_.can_be_interleaved(); }
    /// Vectors of channels of a tile.
    int vectors() const { return lanes() == 16 ? spec_.blocks : 1; }
    std::size_t index(int row, int column, int vector) const {
        return static_cast<std::size_t>((row * columns_ + column % columns_) * vectors() + vector);
    }
    int widest_tile() const; ///< columns
    int accumulators(int columns) const { return rows_ * columns * vectors(); }
    int initial_bytes() const { return (spec_.sums_source ? 2 : 1) * 64; } ///< bytes per block
    Xbyak::Address weights_at(dim_t tap_vector, int vector);
    Xbyak::Address initial_at(int vector, int offset = 0);
    std::uint32_t used_taps(int row, int column, int patch_row, int patch_column) const;
    int patch_rows() const;
    dim_t used_rows(int patch_row) const;
    dim_t used_columns() const;
    int valid(int v) const;

    const depthwise_spec spec_;
    const epilogue_plan &plan_;
    int first_ = 0; ///< vector of the line that is emitted; not 0 for the second half of a block of 8 lanes
    /// Size of the tile that is emitted; a tile that slides has as many columns as the kernel.
    int rows_ = 0, columns_ = 0;
    std::vector<vec> acc_, sums_;
    /// One vector for each quad of a position; the registers behind them are scratch.
    std::vector<vec> quads_;
    std::vector<vec> weights_; ///< the weights of a block, if there are registers for them
    vec order_;                ///< the permutation that makes quads, with 16 lanes

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_rows[4] = {rbx, r12, r13, r14};
    const Xbyak::Reg64 reg_position = rsi, reg_weights = rdx, reg_params = rcx, reg_dst = r8;
    const Xbyak::Reg64 reg_element = r9, reg_initial = rax, reg_full = rbp, reg_tiles = r10;
    const Xbyak::Reg64 reg_address = r15; ///< row pointers, padding, and the epilogue's
};

} // namespace octet::impl::jit
