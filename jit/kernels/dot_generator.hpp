#pragma once // SPDX-License-Identifier: Apache-2.0

// Emits the dot kernel (dot.hpp): the reduction of codes and floats is in dot_generator.cpp, that of words in
// dot_words.cpp.

#include <vector>

#include "jit/base/generated.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/kernels/dot.hpp"

namespace octet::impl::jit {

/// Fetches the operands of the epilogue during the reduction; rows lie too far apart for the machine to foresee.
/// Clobbers the last register.
void prefetch_dst(emitter &e, const dot_spec &spec, const epilogue &out,
                  const Xbyak::Reg64 (&dst_row_scratch)[3]);

class dot_kernel : public generated<dot_args> {
public:
    dot_kernel(const dot_spec &spec, const epilogue_plan &plan);

private:
    void generate();
    void tiles_one_by_one();
    void tile();
    void overlapping_tiles();
    void multiply_tile(const std::vector<epilogue_result> &before);
    std::vector<vec> take_tile();
    void initialise();
    Xbyak::Address initial(int v);
    void reduce();
    void reduce_taps();
    void reduce_tap(const Xbyak::Reg64 &src);
    void reduce_quads(const Xbyak::Reg64 &src, int count);
    void fetch_ahead(int q);
    void quad(const Xbyak::Reg64 &src, int q);
    void quad_of_words(const Xbyak::Reg64 &src, int q);
    void few_rows_of_words(const Xbyak::Reg64 &src, int q);
    Xbyak::Address source_pair(const Xbyak::Reg64 &src, int row, int part, int q, int pair);
    void multiply_words(const vec &acc, const vec &source, const vec &words, const vec &product);
    void load_pair(const vec &words, int v, int q, int part, int pair);
    void widen_pair(const vec &words, const vec &weights, int pair);
    void filter();
    void skip_pass(int pass);
    void results_of_parts();
    void divide();
    void own_quad(const Xbyak::Reg64 &src);
    void take_orders();
    void grouped_tap(const Xbyak::Reg64 &src);
    void multiply(const vec &acc, const vec &source, const vec &weights);
    bool are_floats() const {
        return spec_.products == dot_products::floats || spec_.products == dot_products::own_floats;
    }
    std::vector<epilogue_result> results() const;
    epilogue_operands operands() const;
    void finish_tile();

    const vec &acc(int r, int v) const;
    int end_vector() const { return first_vector_ + vectors_; }
    int accumulated_rows() const;
    int source_quad_bytes() const;
    int quad_bytes() const;
    std::int64_t weights_offset(int v, int q) const;
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : lanes(); }

    const dot_spec spec_;
    const epilogue_plan &plan_;
    std::vector<vec> acc_;
    std::vector<vec>
        orders_; ///< of grouped_codes, during the reduction: the dword of 16 bytes that each column takes
    int first_vector_ = 0, vectors_ = 0; ///< that are worked on: all, or of winograd_f43 one after the other
    row_range rows_;                     ///< that the tap multiplies
    int pass_ = 0;                       ///< of winograd_f43

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_src = rsi, reg_weights = rdx, reg_params = rcx, reg_dst = r8, reg_tiles = r9;
    const Xbyak::Reg64 reg_tap_src = rbx, reg_quads = rax, reg_taps = r12, reg_tap_offsets = r13;
    const Xbyak::Reg64 reg_row = r14, reg_full = rbp, reg_row_sums = r10, reg_address = r15;
};

} // namespace octet::impl::jit
