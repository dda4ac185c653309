#pragma once

// Maxima and sums of rows of 8-bit codes for softmax, with AVX512_VBMI: what is added depends on the distance
// d = max - x alone, and its bytes are looked up 64 at a time, by byte permutes.
//
// In fixed point (TFLite) the order of additions doesn't matter: the bytes of each place are added by
// themselves. Sums of f32 (ONNX Runtime) have an order: 16 rows lie in the lanes of vectors, a column after
// the other.

#include <array>
#include <cstdint>
#include <vector>

#include "jit/kernels/softmax/codes.hpp"

namespace octet::impl::jit {

/// Byte b of the number of d.
struct softmax_terms {
    alignas(64) std::uint8_t bytes[4][256];
};

/// Numbers of 4 places; how many blocks of 64 d each of them has, 0, 1, 2 or 4, behind which it is 0.
struct softmax_sums_spec {
    instruction_set isa;
    bool is_signed = false;
    std::array<int, 4> blocks{4, 4, 4, 4};
};

/// Of softmax_real_sums_kernel: 64 columns of 16 rows, and where these rows are.
struct softmax_sums_work {
    alignas(64) std::uint8_t columns[64][16];
    const void *src[16], *dst[16];
};

struct softmax_sums_args {
    const void *src, *dst;      ///< what softmax_codes will write is prefetched
    softmax_code_rows *numbers; ///< gets all of them
    const softmax_terms *terms;
    std::int64_t rows, columns;
    std::int64_t src_step, dst_step; ///< bytes from row to row
    softmax_sums_work *work;         ///< of sums with an order
};

/// What the kernels share.
class softmax_sums_emitter : public generated<const softmax_sums_args> {
protected:
    explicit softmax_sums_emitter(const softmax_sums_spec &spec) : generated(spec.isa), spec_(spec) {}

    void load_arguments();
    /// The maxima of all rows.
    void maxima();
    void load_tables();
    /// Masks of the distances x that emit_distance_permutes wants.
    void compare(const vec &x);
    void raise(const vec &highest, const Xbyak::Operand &by);
    void maximum_of_bytes(const vec &x);
    /// whole(byte offset from reg_at) for the vectors of a row, tail() with the mask of those bytes that are
    /// left.
    template <typename Whole, typename Tail> void for_each_vector(const Whole &whole, const Tail &tail);

    const softmax_sums_spec spec_;
    std::array<std::vector<vec>, 4> tables_;

    const Xbyak::Reg64 reg_src = rsi, reg_numbers = rdx, reg_terms = rcx, reg_rows = r10, reg_columns = r9;
    const Xbyak::Reg64 reg_at = r8, reg_valid = rax, reg_step = rbx;
    const Xbyak::Reg64 reg_dst = rbp, reg_to_dst = r12; ///< of the row, from src to dst
    // While these are in use, no masks of the emitter are; its tail mask is not set.
    const Xbyak::Opmask k_below_64 = k1, k_below_128 = k2, k_valid = k7;
};

/// Sums, and their reciprocals as TFLite computes them: avx512_vnni, less than 2^13 columns. Counts zeros by
/// AVX512CD, which every CPU with AVX512_VBMI has.
class softmax_fixed_sums_kernel : public softmax_sums_emitter {
public:
    explicit softmax_fixed_sums_kernel(const softmax_sums_spec &spec);

private:
    void generate();
    void sums();
    void add_terms(const vec &highest, int at, bool is_tail);
    void add_lanes();
    void reciprocals();

    std::array<vec, 4> sums_;
};

/// Sums of f32, each in the order of columns.
class softmax_real_sums_kernel : public softmax_sums_emitter {
public:
    explicit softmax_real_sums_kernel(const softmax_sums_spec &spec);

private:
    static constexpr int rows = 16, columns_at_a_time = 64;
    void generate();
    void sums();
    void find_rows();
    void columns();
    void transpose();
    void four_columns(int valid);

    vec sum_, highest_;

    const Xbyak::Reg64 reg_work = r13, reg_offset = r14, reg_from = r8, reg_to = r15;
};

} // namespace octet::impl::jit
