#pragma once

// Transposes bytes where a level has 32 registers of 64 bytes: 16 rows of 64 columns at a time, four blocks
// of 16 x 16 side by side.

#include <cstdint>
#include <memory>

#include "jit/emitter.hpp"

namespace octet::impl::jit {

struct transpose_args {
    const void *src;
    void *dst;
    std::int64_t src_stride, dst_stride; ///< bytes between rows of src, between rows of dst
    std::int64_t blocks;                 ///< of 16 rows
};

using transpose_function = void (*)(const transpose_args *);

class transpose_kernel : public emitter {
public:
    static constexpr int rows = 16, columns = 64;

    explicit transpose_kernel(cpu_isa level);
    transpose_function function() const { return function_; }

private:
    void generate();

    transpose_function function_ = nullptr;
    const Xbyak::Reg64 reg_src = rsi, reg_dst = r8, reg_src_stride = rdx, reg_dst_stride = r9;
    const Xbyak::Reg64 reg_blocks = rcx, reg_to = r10;
};

/// Null where the level has too few registers.
std::shared_ptr<const transpose_kernel> shared_transpose_kernel(cpu_isa level);

} // namespace octet::impl::jit
