#pragma once

// Transposes elements of 1, 2 or 4 bytes: a strip of rows whose 16-byte pieces fill a vector, and so many
// columns. The 128-bit parts of a register hold pieces of rows far from each other, so that interleaving
// within parts leaves a whole vector of consecutive rows for each column.

#include <cstdint>
#include <vector>

#include "jit/base/generated.hpp"

namespace octet::impl::jit {

struct transpose_args {
    const void *src;
    void *dst;
    std::int64_t src_stride, dst_stride; ///< bytes between rows of src, between rows of dst
    std::int64_t steps;                  ///< of `elements_per_part` columns
    std::int64_t ahead;                  ///< bytes from what is read to what is prefetched
};

constexpr int transpose_part_bytes = 16;
/// Rows of a part, columns of a step.
constexpr int elements_per_part(int element_bytes) { return transpose_part_bytes / element_bytes; }
constexpr int transpose_line_steps = 4; ///< steps that read whole lines, and prefetch

struct transpose_spec {
    instruction_set isa;
    int element_bytes;
    int parts;           ///< of rows, up to those of a vector
    bool is_nontemporal; ///< whole aligned vectors are stored past the caches
};

class transpose_kernel : public generated<const transpose_args> {
public:
    explicit transpose_kernel(const transpose_spec &spec);

    static int max_parts(instruction_set isa);

private:
    void generate();
    void loop(int steps, bool prefetches);
    void step(int prefetched_part);
    void load(std::vector<vec> &v, int prefetched_part);
    void load_part(std::vector<vec> &v, int i, int part, const Xbyak::Address &from);
    void interleave(std::vector<vec> &v);
    void store(const std::vector<vec> &v);
    void store_row(const Xbyak::RegExp &to, const vec &row);
    void interleave_halves(bool high, const vec &dst, const vec &a, const Xbyak::Operand &b);

    const transpose_spec spec_;
    const int count_;                                      ///< rows of a part
    const Xbyak::Reg64 reg_part[4] = {rsi, rbx, rbp, r12}; ///< rows of each part
    const Xbyak::Reg64 reg_stride = rdx, reg_stride3 = r13, reg_next_step = r14, reg_prefetch = rax;
    const Xbyak::Reg64 reg_dst = r8, reg_dst_stride = r9, reg_dst_stride3 = r15, reg_steps = rcx;
    const Xbyak::Reg64 reg_ahead = rdi; ///< in place of the arguments
};

} // namespace octet::impl::jit
