#include "jit/interleave.hpp"

#include <cstddef>

#include "jit/kernel_cache.hpp"

namespace octet::impl::jit {

using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

namespace {

constexpr int channels_per_block = 16;
constexpr int blocks_per_iteration = 4; // a whole cache line of every pixel

} // namespace

std::int64_t quad_bytes(cpu_isa level) {
    return level == cpu_isa::avx512_vnni || level == cpu_isa::avx_vnni ? 64 : 128;
}

std::string interleave_spec::key() const {
    std::string k;
    for (const std::int64_t x :
         {static_cast<std::int64_t>(level), std::int64_t{has_byte_permutes}, std::int64_t{flips},
          std::int64_t{pixels}, std::int64_t{valid}, block_stride})
        k += std::to_string(x) + ",";
    return k;
}

interleave_kernel::interleave_kernel(const interleave_spec &spec) : emitter(spec.level), spec_(spec) {
    generate();
    function_ = reinterpret_cast<interleave_function>(reinterpret_cast<std::uintptr_t>(finish()));
}

void interleave_kernel::generate() {
    const auto argument = [this](std::size_t offset) { return ptr[reg_args + static_cast<int>(offset)]; };
    preamble();
    if (spec_.valid < channels_per_block)
        set_tail(spec_.valid);
    for (int p = 0; p < spec_.pixels; p++)
        mov(reg_pixels[p], argument(offsetof(interleave_args, pixels) + 8 * static_cast<std::size_t>(p)));
    mov(reg_quads, argument(offsetof(interleave_args, quads)));
    mov(reg_columns, argument(offsetof(interleave_args, columns)));
    if (lanes() == 16) {
        order_ = take_vec();
        load_transposition(order_, spec_.has_byte_permutes);
    }

    Xbyak::Label column;
    L(column);
    all_blocks();
    for (int p = 0; p < spec_.pixels; p++)
        add(reg_pixels[p], argument(offsetof(interleave_args, steps) + 8 * static_cast<std::size_t>(p)));
    add(reg_quads, static_cast<std::uint32_t>(quad_bytes(level())));
    dec(reg_columns);
    jnz(column, T_NEAR);
    postamble();
}

void interleave_kernel::all_blocks() {
    Xbyak::Label many, single, done;
    xor_(reg_channel, reg_channel);
    mov(reg_block, reg_quads);
    mov(reg_blocks, ptr[reg_args + static_cast<int>(offsetof(interleave_args, blocks))]);
    const auto advance = [this](int blocks) {
        add(reg_channel, blocks * channels_per_block);
        add(reg_block, static_cast<std::uint32_t>(blocks * spec_.block_stride));
        sub(reg_blocks, blocks);
    };
    if (spec_.valid == channels_per_block) {
        L(many);
        cmp(reg_blocks, blocks_per_iteration);
        jl(single, T_NEAR);
        for (int b = 0; b < blocks_per_iteration; b++)
            block(b);
        advance(blocks_per_iteration);
        jmp(many, T_NEAR);
    }
    L(single);
    test(reg_blocks, reg_blocks);
    jz(done, T_NEAR);
    block(0);
    advance(1);
    jmp(single, T_NEAR);
    L(done);
}

Xbyak::RegExp interleave_kernel::pixel(int p, int b) const {
    return reg_pixels[p] + reg_channel + b * channels_per_block;
}

void interleave_kernel::block(int b) {
    if (lanes() == 16) {
        gather(b);
        return;
    }
    // Unpacking bytes, then words: 4 channels with their 4 bytes in each of 4 vectors.
    const temp p0(*this), p1(*this), p2(*this), p3(*this), high(*this);
    const Xmm x[] = {xmm_of(p0), xmm_of(p1), xmm_of(p2), xmm_of(p3)};
    for (int p = 0; p < 4; p++) {
        if (p >= spec_.pixels)
            vpxor(x[p], x[p], x[p]);
        else
            load_codes(x[p], pixel(p, b), spec_.valid);
        if (spec_.flips)
            vpxor(x[p], x[p], constant(0x80808080u));
    }
    vpunpckhbw(xmm_of(high), x[0], x[1]);
    vpunpcklbw(x[0], x[0], x[1]);
    vpunpckhbw(x[1], x[2], x[3]);
    vpunpcklbw(x[2], x[2], x[3]);
    vpunpckhwd(x[3], x[0], x[2]);
    vpunpcklwd(x[0], x[0], x[2]);
    vpunpckhwd(x[2], xmm_of(high), x[1]);
    vpunpcklwd(x[1], xmm_of(high), x[1]);
    const Xmm in_order[] = {x[0], x[3], x[1], x[2]};
    for (int i = 0; i < 4; i++) {
        const std::int64_t offset = b * spec_.block_stride + 16 * i;
        if (has_dot4())
            vmovups(ptr[reg_block + offset], in_order[i]);
        else
            store_words(b, 16 * i, in_order[i]);
    }
}

/// Pixels side by side in one vector, then one permutation.
void interleave_kernel::gather(int b) {
    const temp quads(*this), other(*this);
    const Zmm z(quads.get().getIdx());
    const bool is_partial = spec_.valid < channels_per_block;
    is_partial ? load_codes(xmm_of(quads), pixel(0, b), spec_.valid)
               : vmovdqu8(xmm_of(quads), ptr[pixel(0, b)]);
    for (int p = 1; p < spec_.pixels; p++) {
        if (is_partial) {
            load_codes(xmm_of(other), pixel(p, b), spec_.valid);
            vinserti32x4(z, z, xmm_of(other), static_cast<std::uint8_t>(p));
        } else {
            vinserti32x4(z, z, ptr[pixel(p, b)], static_cast<std::uint8_t>(p));
        }
    }
    transpose_codes(quads, order_, spec_.has_byte_permutes);
    if (spec_.flips)
        vpxor_(quads, quads, constant(0x80808080u));
    if (has_dot4())
        vmovups(ptr[reg_block + b * spec_.block_stride], quads);
    else
        store_words(b, 0, quads);
}

/// Even and odd bytes as words.
void interleave_kernel::store_words(int b, std::int64_t offset, const Xmm &quads) {
    const temp words(*this);
    const vec even = quads.isZMM() ? words.get() : Xmm(xmm_of(words));
    const Xbyak::RegExp to = reg_block + b * spec_.block_stride + offset;
    vpand_(even, quads, constant(0x00ff00ffu));
    vmovups(ptr[to], even);
    vpsrlw(even, quads, 8);
    vmovups(ptr[to + 64], even);
}

std::shared_ptr<const interleave_kernel> shared_interleave_kernel(const interleave_spec &spec) {
    static kernel_cache<interleave_kernel> kernels;
    return kernels.get(spec.key(), [&] { return std::make_shared<const interleave_kernel>(spec); });
}

} // namespace octet::impl::jit
