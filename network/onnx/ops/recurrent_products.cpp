// Gates' products of floats. Octet's matrix product adds up with fma in ascending order, so each block of the
// reduction is one; one row of weights that ONNX Runtime has not packed is a loop.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops/vector_products.hpp"
#include "network/onnx/ops/recurrent.hpp"

namespace octet::model {
namespace {

/// Weights [directions, gates units, inner] as a matrix of all columns.
memory::desc columns_of(const tensor &weights) {
    const dim_t inner = weights.dims[2], all = weights.dims[0] * weights.dims[1];
    return memory::desc({inner, all}, data_type::f32, memory::dims{1, inner});
}

class blocked_product final : public gate_product {
public:
    blocked_product(const lowering &l, const gate_product_place &p, dim_t block) {
        const tensor &weights = l.input(p.weights);
        const memory::desc src = p.src.get_desc(), columns = columns_of(weights);
        const dim_t rows = src.dims()[0], inner = src.dims()[1];
        const memory::desc dst = p.dst.get_desc().submemory_desc({rows, p.count}, {0, p.dst_first});
        for (dim_t k = 0; k < inner; k += block) {
            const dim_t size = std::min(block, inner - k);
            const memory::desc a = src.submemory_desc({rows, size}, {0, k}),
                               b = columns.submemory_desc({size, p.count}, {k, p.first});
            primitive_attr attr;
            if (p.adds || k > 0) {
                post_ops ops;
                ops.append_sum(1.f);
                attr.set_post_ops(ops);
            }
            const matmul::primitive_desc pd({a, planned_weights(b, weights), dst}, attr, l.get_engine());
            blocks_.add(pd, {{OCTET_ARG_SRC, p.src.seen_through(a)},
                             {OCTET_ARG_WEIGHTS, l.packed_input(p.weights, b, pd.weights_desc())},
                             {OCTET_ARG_DST, p.dst.seen_through(dst)}});
        }
    }
    void make_primitives() override { blocks_.make_primitives(); }
    void run(const stream &s, const run_memory &m, dim_t) const override { blocks_.run(s, m); }
    std::string implementation() const override { return blocks_.implementation(); }
    std::string explain() const override { return blocks_.explain(); }

private:
    primitive_step blocks_;
};

class row_product final : public gate_product {
public:
    row_product(const lowering &l, const gate_product_place &p)
        : src_(p.src), weights_(l.input_buffer(p.weights)), dst_(p.dst), inner_(l.input(p.weights).dims[2]),
          first_(p.first), count_(p.count), dst_first_(p.dst_first), adds_(p.adds) {}

    void make_primitives() override {}
    void run(const stream &, const run_memory &m, dim_t) const override {
        const float *const x = m.at<float>(src_), *const w = m.at<float>(weights_) + first_ * inner_;
        float *const y = m.at<float>(dst_) + dst_first_;
        constexpr dim_t part = 64; // a multiple of the columns that are added up alike
        loops::parallel_for((count_ + part - 1) / part, part * inner_, [&](dim_t begin, dim_t end) {
            const dim_t from = begin * part, to = std::min(end * part, count_);
            loops::multiply_column(w + from * inner_, inner_, x, inner_, y + from, to - from, !adds_);
        });
    }
    std::string implementation() const override { return "loop"; }
    std::string explain() const override {
        return "a plain loop over one row and " + std::to_string(count_) + " columns";
    }

private:
    buffer src_, weights_, dst_;
    dim_t inner_, first_, count_, dst_first_;
    bool adds_;
};

/// Lengths of sequences decide whether there is one row or several.
class product_of_rows final : public gate_product {
public:
    product_of_rows(std::unique_ptr<gate_product> one, std::unique_ptr<gate_product> several)
        : one_(std::move(one)), several_(std::move(several)) {}

    void make_primitives() override { several_->make_primitives(); }
    void run(const stream &s, const run_memory &m, dim_t rows) const override {
        (rows == 1 ? one_ : several_)->run(s, m, rows);
    }
    std::string implementation() const override { return several_->implementation(); }
    std::string explain() const override { return several_->explain() + "\n" + one_->explain(); }

private:
    std::unique_ptr<gate_product> one_, several_;
};

} // namespace

bool are_packed_ahead(const lowering &l, std::size_t weights) {
    return l.input(weights).is_constant && !l.marks().has_dequantized;
}

std::unique_ptr<gate_product> float_gate_product(const lowering &l, const gate_product_place &p,
                                                 bool is_packed) {
    constexpr dim_t packed_block = 256;
    if (is_packed)
        return std::make_unique<blocked_product>(l, p, packed_block);
    if (p.src.get_desc().dims()[0] == 1)
        return std::make_unique<row_product>(l, p);
    const dim_t block = float_reduction_block(p.src.get_desc().dims()[1], p.count);
    auto several = std::make_unique<blocked_product>(l, p, block);
    if (l.input(p.weights).is_constant) // its elements may be there packed alone
        return several;
    return std::make_unique<product_of_rows>(std::make_unique<row_product>(l, p), std::move(several));
}

} // namespace octet::model
