#pragma once

// The depthwise kernel: a tile of rows x columns of outputs of one block of 16 channels, int32 accumulators
// in registers, finished by the epilogue. For each position of a patch of taps (common/tap_patches.hpp) the
// source pixels under it are gathered from up to four rows and brought side by side, a quad per channel
//
//   c0p0 c0p1 c0p2 c0p3 | c1p0 c1p1 c1p2 c1p3 | … | c15p0 c15p1 c15p2 c15p3
//
// which every output of the tile that has taps there multiplies by its packed weights:
//
//   acc(r, c) = initial + Σ over patches dot4(quad(patch row, position of c's patch), weights(phase of r and
//   c, patch))
//
// Quads are gathered anew for each tile: keeping them in memory costs more, because the stores of quads and
// the loads of source pixels get in each other's way.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/tap_patches.hpp"
#include "jit/epilogue.hpp"

namespace octet::impl::jit {

/// Neighbouring tiles of a line with equal code. Of the source columns under a tile, those in [begin, end)
/// lie inside the image; the others are padding.
struct tile_run {
    int columns = 1; ///< outputs; a multiple of the phases of columns in all tiles but the last of a line
    dim_t begin = 0, end = 0;
    dim_t count = 1; ///< tiles
};

/// Everything that decides the code, besides the epilogue.
struct depthwise_spec {
    cpu_isa level = cpu_isa::avx2;
    bool has_byte_permutes = false; ///< AVX512-VBMI, which no level implies
    bool flips_source = false;      ///< signed source: its sign bits are flipped
    bool sums_source = false;       ///< weights have zero points
    tap_patches patches;
    tap_axis column_taps;
    int rows = 1;                  ///< of a tile: the phases of rows, or fewer
    int valid = 16;                ///< channels; fewer than 16 for a last block alone
    std::int64_t pixel_stride = 0; ///< bytes between neighbouring source columns
    std::int64_t dst_row_stride = 0, dst_column_stride = 0; ///< elements
    std::vector<tile_run> line;

    std::string key() const;
};

/// Arguments of one call: a line of tiles for each block.
struct depthwise_args {
    const void *const *rows; ///< per tap row that the tile covers: source row under the line's first column
    const void *padding;     ///< 16 codes of the source's zero point, then 16 of them with flipped sign bit
    const void *weights;     ///< first block
    const std::int32_t *initial; ///< per block: 16 accumulators to start with, then with sums_source 16
                                 ///< zero points of weights
    const std::uint32_t *params; ///< planes of the first block
    void *dst;                   ///< first output and channel
    const void *const *full;     ///< per post-op: the element that `dst` points to (null where unused)
    void *words;                 ///< scratch of `words_bytes`
    std::int64_t blocks;
};

using depthwise_function = void (*)(const depthwise_args *);

/// Scratch for a block of weights as 16-bit words; 0 with a dot-product instruction.
std::int64_t words_bytes(cpu_isa level, const tap_patches &patches);

/// Columns that a tile can have; a multiple of their phases.
int max_tile_columns(cpu_isa level, const tap_patches &patches, bool sums_source, int epilogue_temps);

class depthwise_kernel : public emitter {
public:
    depthwise_kernel(const depthwise_spec &spec, const epilogue_plan &plan);
    depthwise_function function() const { return function_; }

private:
    void generate();
    void take_weights(int v);
    void split_weights(int v);
    void line(int v);
    void tile(const tile_run &run, int v);
    void initialise(int v);
    void multiply_patch_row(const tile_run &run, int patch_row, int v);
    void multiply(const vec &quad, dim_t position, int patch_row, int v);
    void multiply_words(const vec &quad, int row, int column, dim_t vector, std::uint32_t taps, int v);
    void subtract_sums(int v);
    void finish_tile(int v);

    void gather(const vec &quad, const tile_run &run, dim_t position, int patch_row, int v);
    void gather_parts(const vec &quad, const std::vector<Xbyak::RegExp> &pixels);
    void gather_by_unpacking(const vec &quad, const std::vector<Xbyak::RegExp> &pixels, int v);

    std::size_t index(int row, int column) const { return static_cast<std::size_t>(row * columns_ + column); }
    std::uint32_t used_taps(int row, int column, int patch_row, int patch_column) const;
    dim_t used_rows(int patch_row) const;
    dim_t used_columns() const;
    int valid(int v) const;

    const depthwise_spec spec_;
    const epilogue_plan &plan_;
    depthwise_function function_ = nullptr;
    int columns_ = 0; ///< of the tile that is emitted
    std::vector<vec> acc_, sums_;
    std::vector<vec> weights_; ///< of a block, if there are registers for them
    vec order_;                ///< of the permutation that makes quads, with 16 lanes

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_rows[4] = {rbx, r12, r13, r14};
    const Xbyak::Reg64 reg_position = rsi, reg_weights = rdx, reg_params = rcx, reg_dst = r8;
    const Xbyak::Reg64 reg_element = r9, reg_initial = rax, reg_full = rbp, reg_tiles = r10;
    const Xbyak::Reg64 reg_address = r15; ///< row pointers, padding, and the epilogue's
};

/// Kernels by spec and epilogue, shared by all primitives that need the same code.
std::shared_ptr<const depthwise_kernel> shared_depthwise_kernel(const depthwise_spec &spec,
                                                                const epilogue_plan &plan);

} // namespace octet::impl::jit
