#include "jit/transpose.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "jit/shared_kernels.hpp"

namespace octet::impl::jit {

transpose_kernel::transpose_kernel(cpu_isa level) : emitter(level) {
    generate();
    function_ = reinterpret_cast<transpose_function>(
        reinterpret_cast<std::uintptr_t>(finish(std::string("transpose_") + to_string(level))));
}

void transpose_kernel::generate() {
    const auto field = [this](std::size_t offset) { return ptr[reg_args + static_cast<int>(offset)]; };
    preamble();
    mov(reg_src, field(offsetof(transpose_args, src)));
    mov(reg_dst, field(offsetof(transpose_args, dst)));
    mov(reg_src_stride, field(offsetof(transpose_args, src_stride)));
    mov(reg_dst_stride, field(offsetof(transpose_args, dst_stride)));
    mov(reg_blocks, field(offsetof(transpose_args, blocks)));

    Xbyak::Label next;
    L(next);
    std::vector<vec> v;
    for (int i = 0; i < rows; i++) {
        v.push_back(take_vec());
        move(v.back(), ptr[reg_src]);
        add(reg_src, reg_src_stride);
    }
    // Interleaving row i with row i + 8, four times, transposes each block.
    for (int stage = 0; stage < 4; stage++) {
        std::vector<vec> interleaved;
        for (std::size_t i = 0; i < rows / 2; i++) {
            const vec &a = v[i], &b = v[i + rows / 2];
            const vec low = take_vec();
            vpunpcklbw(low, a, b);
            vpunpckhbw(b, a, b);
            give_vec(a);
            interleaved.push_back(low);
            interleaved.push_back(b);
        }
        v = interleaved;
    }
    mov(reg_to, reg_dst);
    for (int block = 0; block < columns / rows; block++)
        for (const vec &row : v) {
            store_quarters(reg_to, 0, row, block, 1, lanes());
            add(reg_to, reg_dst_stride);
        }
    for (const vec &row : v)
        give_vec(row);
    add(reg_dst, rows);
    dec(reg_blocks);
    jnz(next, T_NEAR);
    postamble();
}

std::shared_ptr<const transpose_kernel> shared_transpose_kernel(cpu_isa level) {
    if (level != cpu_isa::avx512_core && level != cpu_isa::avx512_vnni)
        return nullptr;
    static shared_kernels<transpose_kernel> kernels;
    return kernels.get(to_string(level), [&] { return std::make_shared<const transpose_kernel>(level); });
}

} // namespace octet::impl::jit
