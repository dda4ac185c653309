#pragma once

// The first half of a depthwise convolution: for each channel, brings the source bytes under a patch of taps
// side by side, as one dot product reads them ("quads"). Up to four source pixels with 16 channels each
// become
//
//   c0p0 c0p1 c0p2 c0p3 | c1p0 c1p1 c1p2 c1p3 | … | c15p0 c15p1 c15p2 c15p3      <- 64 bytes
//
// A signed source leaves with its sign bit flipped. For levels without a dot-product instruction a quad is
// stored as 16-bit words instead: 64 bytes of p0 and p2, then 64 bytes of p1 and p3.

#include <cstdint>
#include <memory>
#include <string>

#include "jit/emitter.hpp"

namespace octet::impl::jit {

/// Bytes of the quads of 16 channels.
std::int64_t quad_bytes(cpu_isa level);

/// Everything that decides the code.
struct interleave_spec {
    cpu_isa level = cpu_isa::avx2;
    bool has_byte_permutes = false; ///< AVX512-VBMI, for the levels with 16 lanes
    bool flips = false;
    int pixels = 4;                ///< of a patch that are read; the others are 0
    int valid = 16;                ///< channels; fewer than 16 for a last block alone
    std::int64_t block_stride = 0; ///< bytes from a block of 16 channels to the next in `quads`

    std::string key() const;
};

/// Arguments of one call: quads of `columns` positions side by side, for `blocks` blocks of 16 channels.
struct interleave_args {
    const void *pixels[4]; ///< first channel of each pixel of the first position
    std::int64_t steps[4]; ///< bytes to the same pixel of the next position
    void *quads;           ///< of the first position and block
    std::int64_t columns, blocks;
};

using interleave_function = void (*)(const interleave_args *);

class interleave_kernel : public emitter {
public:
    explicit interleave_kernel(const interleave_spec &spec);
    interleave_function function() const { return function_; }

private:
    void generate();
    void all_blocks();
    void block(int b);
    void gather(int b);
    void store_words(int b, std::int64_t offset, const Xbyak::Xmm &quads);
    Xbyak::RegExp pixel(int p, int b) const;

    const interleave_spec spec_;
    interleave_function function_ = nullptr;
    vec order_; ///< of the transposition, if one permutation does it

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_pixels[4] = {rsi, rdx, rcx, r8};
    const Xbyak::Reg64 reg_quads = r9, reg_columns = r10, reg_channel = rax, reg_block = rbx,
                       reg_blocks = r12;
};

std::shared_ptr<const interleave_kernel> shared_interleave_kernel(const interleave_spec &spec);

} // namespace octet::impl::jit
