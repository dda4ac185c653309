#pragma once

// The second half of a depthwise convolution: quads (jit/interleave.hpp) times packed patches of taps
// (common/tap_patches.hpp), int32 accumulators in registers, finished by the epilogue. A tile is `rows` x
// `columns` outputs of one block of 16 channels; a quad is loaded once and serves all outputs of the tile.
//
//   acc(r, c) = initial + Σ over patches dot4(quad(patch row, position(c, patch column)), weights(phase of r
//   and c, patch))

#include <cstdint>
#include <memory>
#include <string>

#include "common/tap_patches.hpp"
#include "jit/epilogue.hpp"

namespace octet::impl::jit {

/// Everything that decides the code, besides the epilogue.
struct depthwise_spec {
    cpu_isa level = cpu_isa::avx2;
    tap_patches patches;
    int rows = 1;                    ///< of a tile: the phases of rows, or fewer
    int tile_columns = 0;            ///< a multiple of the phases of columns, or 0: no whole tiles
    int tail_columns = 0;            ///< of a last tile, or 0
    int valid = 16;                  ///< channels; fewer than 16 for a last block alone
    bool sums_source = false;        ///< weights have zero points
    std::int64_t block_stride = 0;   ///< bytes from a block of 16 channels to the next in a row of quads
    std::int64_t dst_row_stride = 0; ///< elements
    std::int64_t dst_column_stride = 0;

    std::string key() const;
};

/// Arguments of one call: a line of tiles for each block.
struct depthwise_args {
    const void *const *patch_rows; ///< quads of the first block and position, one pointer per patch row
    const void *weights;           ///< first block
    const std::int32_t *initial;   ///< per block: 16 accumulators to start with, then with sums_source 16
                                   ///< weights zero points
    const std::uint32_t *params;   ///< planes of the first block
    void *dst;                     ///< first output and channel
    const void *const *full;       ///< per post-op: the element that `dst` points to (null where unused)
    std::int64_t blocks, tiles;    ///< whole tiles of a line
    std::int64_t has_tail;         ///< the line ends with a tile of `tail_columns`
};

using depthwise_function = void (*)(const depthwise_args *);

/// Outputs of a row that a tile can have; a multiple of the phases of columns.
int max_tile_columns(cpu_isa level, const tap_patches &patches, bool sums_source, int epilogue_temps);

class depthwise_kernel : public emitter {
public:
    depthwise_kernel(const depthwise_spec &spec, const epilogue_plan &plan);
    depthwise_function function() const { return function_; }

private:
    void generate();
    void line(int v);
    void tile(int columns, int v);
    void initialise(int v);
    void multiply_patch_row(int patch_row, int v);
    void multiply_patch(int row_phase, int column_phase, int patch_row, int patch_column, int v);
    void multiply_words(const vec &even, int row_phase, int column_phase, int patch_column, int v,
                        std::uint32_t taps);
    void subtract_sums(int v);
    void finish_tile(int v);

    const vec &acc(int r, int c) const { return acc_[static_cast<std::size_t>(r * columns_ + c)]; }
    const vec &sum(int r, int c) const { return sums_[static_cast<std::size_t>(r * columns_ + c)]; }
    int position(int c, int patch_column) const;
    Xbyak::Address quad(int position, int v, int half = 0);
    std::uint32_t used_taps(int row_phase, int column_phase, int patch_row, int patch_column) const;
    int valid(int v) const;

    const depthwise_spec spec_;
    const epilogue_plan &plan_;
    depthwise_function function_ = nullptr;
    int columns_ = 0; ///< of the tile that is emitted
    std::vector<vec> acc_, sums_;
    std::vector<vec> quads_; ///< of a patch row by position, if they all fit

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_patch_rows = rsi, reg_weights = rdx, reg_params = rcx, reg_dst = r8;
    const Xbyak::Reg64 reg_element = r9, reg_initial = rax, reg_full = rbp, reg_position = r14;
    const Xbyak::Reg64 reg_quads = rbx, reg_tiles = r12, reg_blocks = r13, reg_address = r15;
};

std::shared_ptr<const depthwise_kernel> shared_depthwise_kernel(const depthwise_spec &spec,
                                                                const epilogue_plan &plan);

} // namespace octet::impl::jit
