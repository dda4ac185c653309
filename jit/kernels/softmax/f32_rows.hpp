#pragma once

// Softmax of rows of f32: maximum, exponentials and their sum, products with the sum's reciprocal, one row
// after the other, so that a row stays in the first-level cache. Sums run over 16 lanes as the contract says
// (common/softmax.hpp), whatever the width of vectors.

#include <cstdint>
#include <vector>

#include "jit/base/generated.hpp"

namespace octet::impl::jit {

struct softmax_f32_spec {
    instruction_set isa;
    int rest = 0;        ///< columns beyond whole groups of 16
    int factors = 0;     ///< numbers that results are multiplied by
    bool is_ort = false; ///< ONNX Runtime's exponential and order of lanes
};

struct softmax_f32_args {
    const void *src;
    void *dst; ///< may be src
    std::int64_t rows, groups;
    std::int64_t src_step, dst_step; ///< bytes from row to row
    float factors[2];
};

class softmax_f32_kernel : public generated<const softmax_f32_args> {
public:
    explicit softmax_f32_kernel(const softmax_f32_spec &spec);

private:
    void generate();
    void maximum();
    void exponentials();
    void exponentials(int columns);
    void reciprocal();
    void products();
    void products(int columns);
    /// add(a, b): a += b for whatever width; leaves the result of all lanes in lane 0 of v.
    template <typename Add> void add_lanes(const vec &v, const Add &add);
    void add_neighbours(const vec &v);
    template <typename Groups> void for_each_group(int at_a_time, const Groups &groups);
    /// vector(offset in bytes, valid lanes)
    template <typename Vector> void for_each_vector(int columns, const Vector &vector);

    const softmax_f32_spec spec_;
    vec highest_, reciprocal_;
    std::vector<vec> sums_; ///< of the 16 lanes
    std::vector<vec> factors_;

    const Xbyak::Reg64 reg_src = rsi, reg_dst = r8, reg_rows = r10, reg_groups = rcx;
    const Xbyak::Reg64 reg_from = rbx, reg_to = rbp;
};

} // namespace octet::impl::jit
