#pragma once

// Maxima and sums of rows of 8-bit codes for softmax in fixed point, with AVX512_VBMI: terms depend on the
// distance d = max - x alone, and their bytes are looked up and added by themselves, 64 at a time.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/softmax_codes.hpp"

namespace octet::impl::jit {

constexpr int softmax_term_bytes = 3; ///< TFLite's terms are 2^19 at most

/// Byte b of the term of d.
struct softmax_terms {
    alignas(64) std::uint8_t bytes[softmax_term_bytes][256];
};

struct softmax_sums_spec {
    cpu_isa level = cpu_isa::avx512_vnni;
    bool is_signed = false;
    /// 0, 1, 2 or 4 times 64 terms, behind which this byte is 0.
    std::array<int, softmax_term_bytes> blocks{4, 4, 4};

    std::string key() const;
};

struct softmax_sums_args {
    const void *src;
    softmax_code_row *row; ///< gets maximum and, as its number, the sum modulo 2^32
    const softmax_terms *terms;
    std::int64_t rows, columns;
    std::int64_t src_step; ///< bytes from row to row
};

using softmax_sums_function = void (*)(const softmax_sums_args *);

class softmax_sums_kernel : public emitter {
public:
    explicit softmax_sums_kernel(const softmax_sums_spec &spec);
    softmax_sums_function function() const { return function_; }

private:
    void generate();
    void load_terms();
    void maximum();
    void raise(const vec &highest, const Xbyak::Operand &by);
    void sum();
    void add_terms(bool is_tail);
    void add_lanes();
    template <typename Whole, typename Tail> void for_each_vector(const Whole &whole, const Tail &tail);
    Xbyak::Address field(std::size_t offset) { return ptr[reg_args + static_cast<int>(offset)]; }

    const softmax_sums_spec spec_;
    std::array<std::vector<vec>, softmax_term_bytes> tables_;
    std::array<vec, softmax_term_bytes> sums_;
    vec highest_, none_;
    softmax_sums_function function_ = nullptr;

    const Xbyak::Reg64 reg_src = rsi, reg_row = rdx, reg_terms = rcx, reg_rows = r10, reg_columns = r9;
    const Xbyak::Reg64 reg_at = r8, reg_valid = rax;
    // The emitter's masks are not taken here, its tail mask is not set.
    const Xbyak::Opmask k_below_64 = k1, k_below_128 = k2, k_valid = k7;
};

std::shared_ptr<const softmax_sums_kernel> shared_softmax_sums_kernel(const softmax_sums_spec &spec);

} // namespace octet::impl::jit
