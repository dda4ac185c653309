#pragma once // SPDX-License-Identifier: Apache-2.0

// The generator of products in tile registers. dot_amx_generator.cpp has the call, its tiles and the
// reduction in steps; dot_amx_results.cpp the epilogue, portion by portion, and the way to the next tile's
// results; dot_amx_gather.cpp the copies of rows that are gathered.

#include <cstddef>
#include <functional>

#include "jit/base/generated.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl::jit {

constexpr int block_quad_bytes = 64; // one quad of a block of 16 columns is one

class amx_dot_kernel : public generated<dot_args> {
public:
    amx_dot_kernel(const dot_spec &spec, const epilogue_plan &plan);

private:
    /// Which tile of sources or of weights each of some registers has.
    struct tile_pool {
        int first_register, registers;
        int held[2] = {-1, -1};
        int next = 0;
    };

    /// Instructions of tile registers in their order, each to be emitted at its turn.
    using instructions = std::vector<std::function<void()>>;

    void generate();
    void configure();
    void multiply_tile();
    void prefetch_results();
    void first_step();
    void later_steps();
    void later_steps_of_gathered();
    void step_among_results(std::int64_t quads, bool is_last, std::int64_t later);
    instructions step(std::int64_t quads, bool is_last, const std::function<void(int, int)> &start = {});
    template <typename Load>
    Xbyak::Tmm held(tile_pool &pool, int wanted, instructions &code, const Load &load);
    void multiply(const Xbyak::Tmm &acc, const Xbyak::Tmm &source, const Xbyak::Tmm &weights);
    void store_last_sums();
    void rest_of_tile();
    int portions_of_step(std::int64_t steps) const;
    void portions_among(const instructions &code, int count);
    void finish_rows(int rows, const std::function<void()> &between);
    void next_rows();
    void choose_steps(int tiles_left);
    void advance(const Xbyak::Operand &what, std::int64_t dot_args::*step);
    void keep_sums();
    void to_next_results();
    void load_tile(const Xbyak::Tmm &to, const Xbyak::Address &from, bool is_streamed) {
        is_streamed ? tileloaddt1(to, from) : tileloadd(to, from);
    }
    instructions fetches_of_step(std::int64_t quads, bool fetches_ahead);

    bool gathers() const { return spec_.tiling.gathered.pieces > 0; }
    std::int64_t steps() const { return spec_.quads / shapes_.quads + (shapes_.last_quads > 0); }
    void gather_first_tiles();
    void find_gathered_tile();
    void copy_piece(int piece);
    void to_next_gathered_row();
    void to_next_gathered_tile();
    instructions copies_of_step();

    /// First line of a register, or its first row if the tile has one line: the last one ends with the tile.
    int first_line(int row_tile) const {
        return std::min(row_tile * registers_.lines, spec_.tiling.lines - registers_.lines);
    }
    int first_row(int row_tile) const {
        return spec_.tiling.lines > 1
                   ? first_line(row_tile) * registers_.distance
                   : std::min(row_tile * spec_.tiling.rows, spec_.rows - spec_.tiling.rows);
    }
    std::int64_t first_source(int row_tile) const {
        return spec_.tiling.lines > 1 ? first_line(row_tile) * spec_.tiling.line_stride
                                      : first_row(row_tile) * spec_.row_stride;
    }
    /// Rows of sums are no results between the lines of a register.
    bool have_gaps() const { return spec_.tiling.lines * registers_.distance > spec_.rows; }
    int sum_rows() const { return have_gaps() ? spec_.tiling.lines * registers_.distance : spec_.rows; }
    Xbyak::Tmm acc(int row_tile, int v) const { return Xbyak::Tmm(row_tile * spec_.vectors + v); }
    std::int64_t block_bytes() const;
    int sum_row_bytes() const { return spec_.vectors * vector_bytes(); }
    int sum_bytes() const { return sum_rows() * sum_row_bytes(); }
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : lanes(); }
    std::size_t vector_offset(int v) const {
        return static_cast<std::size_t>(v) * static_cast<std::size_t>(vector_bytes());
    }
    std::size_t sums_offset(int row, int v) const {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(sum_row_bytes()) + vector_offset(v);
    }
    Xbyak::Address stack(int slot) {
        return qword[rsp + sums_offset(sum_rows(), 0) + static_cast<std::size_t>(slot) * 8];
    }
    /// Where a tile of sums lies; reg_steps has the distance of their rows.
    Xbyak::Address sums_at(const Xbyak::Reg64 &first, int row_tile, int v) {
        return ptr[first + reg_steps + sums_offset(first_row(row_tile), v)];
    }
    int no_tile() const { return sum_bytes() + vector_bytes(); } ///< in reg_sums, before the first tile

    /// Rows of the epilogue that are finished together: four byte results are packed into a vector. Lines with gaps
    /// between them have one distance.
    int portion_rows() const {
        return have_gaps() ? spec_.rows / spec_.tiling.lines
                           : std::min(spec_.rows, spec_.vectors == 3 ? 4 : 4 / spec_.vectors);
    }
    int portions() const { return spec_.rows / portion_rows(); }
    int portion_bytes() const {
        return (have_gaps() ? registers_.distance : portion_rows()) * sum_row_bytes();
    }

    const dot_spec spec_;
    const epilogue_plan &plan_;
    const tile_shapes shapes_;
    const row_tiles registers_;
    const int temps_; ///< of the epilogue; counting them takes as long as a portion

    int pauses_ = 0, portion_code_bytes_ = 0; ///< of a portion: places for other code, and its own
    std::int64_t step_of_tile_ = 0;           ///< that is emitted, of gathered rows
    vec piece_;                               ///< of gathered rows: what is copied

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_address = r15;
    // Of the products:
    const Xbyak::Reg64 reg_weights = rdx, reg_tap_src = rbx, reg_steps = rax, reg_tap_offsets = r13;
    const Xbyak::Reg64 reg_row_stride = rbp,
                       reg_line = r10; ///< distances of rows: of the source, of 64 bytes
    // Of the epilogue of the tile before:
    const Xbyak::Reg64 reg_params = rcx, reg_dst = r8, reg_row = r14, reg_full = rsi, reg_row_sums = r12;
    const Xbyak::Reg64 reg_sums = r9;   ///< bytes of sums that are finished
    const Xbyak::Reg64 reg_ahead = r13; ///< of steps but the first one: where weights are fetched ahead
    // Of gathered rows, which have neither sums of rows nor taps: the next row to be copied, and its place.
    const Xbyak::Reg64 reg_gather_from = reg_row_sums, reg_gather_to = reg_tap_offsets;
    // Slots of the stack:
    static constexpr int former_stack_pointer = 0, next_tap = 1, taps_left = 2, tiles_to_multiply = 3,
                         tiles_to_finish = 4, sums_of_former = 5, register_distance = 6, end_of_ring = 7,
                         slots = 8;
};

} // namespace octet::impl::jit
