#pragma once

// The dot kernel (dot.hpp) with its products in tile registers: same packed weights, same arguments, same epilogue,
// same integers.
//
//   accumulators   up to four, 16 rows x 16 columns of sums each: 1 x 1 to 1 x 4, or 2 x 1 or 2 x 2 of rows x columns
//   a step         16 quads of the reduction, 64 bytes of each row: a tile of source rows at their distance in memory,
//                  and 16 rows of packed weights, which lie one after the other
//   finish         accumulators are stored on the stack, 4 KiB that stay in the first-level cache, and come back as
//                  vectors for the epilogue, which is emitted once for a few rows and loops over them
//
// Rows that are no multiple of 16 are halved: the two tiles have the same shape and may share a row, whose sums
// are stored twice. Reductions that are no multiple of a step end in tiles of their own shape, so that no byte is read
// that vectors would not read. Sources may be signed.

#include "jit/base/tile_registers.hpp"
#include "jit/kernels/dot.hpp"

namespace octet::impl::jit {

/// Rows and column vectors of a tile whose accumulators are in tile registers.
constexpr int amx_rows = 16, most_amx_rows = 32, amx_accumulators = tile_shapes::accumulators;
constexpr int most_amx_quads = 16; ///< of a step

/// Steps of equal size where there are such, else steps of 16 quads and a last one.
tile_shapes amx_shapes(int tile_rows, std::int64_t quads);

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

    void generate();
    void configure();
    void tile();
    void initialise();
    void reduce();
    void reduce_tap();
    void step(std::int64_t quads, bool is_last);
    template <typename Load> Xbyak::Tmm held(tile_pool &pool, int wanted, const Load &load);
    void multiply(const Xbyak::Tmm &acc, const Xbyak::Tmm &source, const Xbyak::Tmm &weights);
    void store_sums();
    void finish_tile();
    void finish_rows(int rows);
    void advance();

    int row_tiles() const { return spec_.rows > spec_.tile_rows ? 2 : 1; }
    /// First row of a tile: the last one ends with the rows.
    int first_row(int row_tile) const { return row_tile == 0 ? 0 : spec_.rows - spec_.tile_rows; }
    Xbyak::Tmm acc(int row_tile, int v) const { return Xbyak::Tmm(row_tile * spec_.vectors + v); }
    std::int64_t block_bytes() const;
    int sum_row_bytes() const { return spec_.vectors * vector_bytes(); }
    int sum_bytes() const { return spec_.rows * sum_row_bytes(); }
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : lanes(); }

    const dot_spec spec_;
    const epilogue_plan &plan_;
    const tile_shapes shapes_;

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_src = rsi, reg_weights = rdx, reg_params = rcx, reg_dst = r8, reg_tiles = r9;
    const Xbyak::Reg64 reg_row = r14, reg_address = r15;
    // In the reduction:
    const Xbyak::Reg64 reg_tap_src = rbx, reg_steps = rax, reg_taps = r12, reg_tap_offsets = r13;
    const Xbyak::Reg64 reg_row_stride = rbp,
                       reg_line = r10; ///< distances of rows: of the source, of 64 bytes
    // In the epilogue:
    const Xbyak::Reg64 reg_sums = rbx, reg_rows = rax, reg_full = rbp, reg_row_sums = r10;
};

} // namespace octet::impl::jit
