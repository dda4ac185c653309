// This file is compiled without contraction to fma, so that compiled loops have the bits that are written
// here.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/float_loops.hpp"
#include "loops/parallel.hpp"
#include "loops/vector_products.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "network/graph/index_walk.hpp"
#include "network/onnx/ops/operators.hpp"

namespace octet::model {

void add_followers(primitive_step &s, const lowering &l, const memory::desc &dst) {
    primitive_attr attr;
    arguments args;
    append_float_followers(attr, args, l, dst);
    args[OCTET_ARG_SRC] = args[OCTET_ARG_DST] = l.output_buffer(dst);
    const eltwise_forward::desc same(inference, algorithm::eltwise_relu, dst, dst, 1.f);
    s.add(eltwise_forward::primitive_desc(same, attr, l.get_engine()), args);
}

void followed_loop::take_followers(const lowering &l, const memory::desc &dst) {
    if (!l.get_node().fused.empty())
        add_followers(followers_, l, dst);
}

std::string followed_loop::implementation() const {
    const std::string behind = followers_.implementation();
    return behind.empty() ? "loop" : "loop + " + behind;
}

std::string followed_loop::explain() const {
    const std::string behind = followers_.explain();
    return explain_loop() + (behind.empty() ? "" : "\n" + behind);
}

namespace {

// ---- A row times a matrix, a matrix times a column

/// Elements from the first matrix of a tensor to the one at an index; dimensions of 1 are repeated.
dim_t matrix_offset(const memory::desc &md, const memory::dims &at) {
    const memory::dims dims = md.dims(), strides = md.get_strides();
    dim_t offset = 0;
    for (std::size_t d = 0; d < at.size(); d++)
        offset += dims[d] == 1 ? 0 : at[d] * strides[d];
    return offset;
}

class vector_product_step final : public followed_loop {
public:
    vector_product_step(const lowering &l, const vector_product &p)
        : vector_(l.input_buffer(p.is_column ? 1 : 0)), matrix_(l.input_buffer(p.is_column ? 0 : 1)),
          dst_(l.output_buffer()), has_dense_rows_(p.is_column == !p.is_transposed),
          inner_(p.src.dims().back()) {
        const memory::dims dims = p.dst.dims();
        const std::size_t rank = dims.size(), along = p.is_column ? rank - 2 : rank - 1;
        count_ = dims[along];
        if (!p.c.is_zero()) {
            c_ = l.input_buffer(2);
            c_stride_ = p.c.dims()[along] == 1 ? 0 : p.c.get_strides()[along];
        }
        const memory::desc &v = p.is_column ? p.weights : p.src, &m = p.is_column ? p.src : p.weights;
        const memory::dims strides = m.get_strides();
        row_stride_ = strides[has_dense_rows_ == p.is_column ? rank - 2 : rank - 1];
        take_followers(l, p.dst);
        if (p.split != vector_product::rows::of_each_matrix) {
            const dim_t rows = element_count(dims),
                        products = p.split == vector_product::rows::alone ? rows : 1;
            count_ = rows / products;
            for (dim_t i = 0; i < products; i++)
                products_.push_back({i * inner_, 0});
            return;
        }
        memory::dims at(rank - 2);
        for (std::int64_t left = element_count(dims) / std::max<dim_t>(count_, 1); left > 0; left--) {
            products_.push_back({matrix_offset(v, at), matrix_offset(m, at)});
            next_index(at, dims);
        }
    }

    void run(const stream &s, const run_memory &m) const override {
        loops::for_parts(
            static_cast<dim_t>(products_.size()), count_, loops::vector_part, inner_,
            [&](dim_t product, dim_t first, dim_t count) { multiply(m, product, first, count); });
        run_followers(s, m);
    }

private:
    std::string explain_loop() const override {
        return "a plain loop over " + std::to_string(products_.size()) + " vectors times matrices, " +
               (has_dense_rows_ ? "eight sums each" : "four products at a time");
    }

    /// `count` results of one product.
    void multiply(const run_memory &m, dim_t product, dim_t first, dim_t count) const {
        const auto &[v, a] = products_[static_cast<std::size_t>(product)];
        float *const y = m.at<float>(dst_) + product * count_ + first;
        for (dim_t j = 0; c_ && j < count; j++)
            y[j] = m.at<float>(*c_)[(first + j) * c_stride_];
        const float *const vector = m.at<float>(vector_) + v, *const matrix = m.at<float>(matrix_) + a;
        if (has_dense_rows_)
            loops::multiply_column(matrix + first * row_stride_, row_stride_, vector, inner_, y, count, !c_);
        else
            loops::multiply_row(vector, matrix + first, row_stride_, inner_, y, count, !c_);
    }

    struct product {
        dim_t vector, matrix; ///< where they begin
    };
    buffer vector_, matrix_, dst_;
    std::optional<buffer> c_;
    bool has_dense_rows_; ///< what one element of the result is a sum over lies side by side in the matrix
    dim_t row_stride_, inner_, count_, c_stride_ = 0;
    std::vector<product> products_;
};

// ---- Products with a factor

class scaled_sums final : public step {
public:
    scaled_sums(const lowering &l, scaled_blocks blocks) : blocks_(std::move(blocks)) {
        const memory::dims dims = blocks_.dst.get_desc().dims();
        columns_ = dims.back();
        rows_ = columns_ > 0 ? element_count(dims) / columns_ : 0;
        if (!blocks_.c.is_zero()) {
            c_ = l.input_buffer(2, blocks_.c);
            const memory::dims c_dims = blocks_.c.dims();
            row_step_ = c_dims[0] == 1 ? 0 : c_dims[1];
            column_step_ = c_dims[1] == 1 ? 0 : 1;
        }
        has_followers_ = !l.get_node().fused.empty();
        if (has_followers_)
            add_followers(followers_, l, activation_desc(l, l.output()));
    }

    void make_primitives() override {
        for (primitive_step &p : blocks_.products)
            p.make_primitives();
        followers_.make_primitives();
    }
    void run(const stream &s, const run_memory &m) const override {
        const float *product = m.at<float>(blocks_.product), alpha = blocks_.alpha;
        const float *c = blocks_.c.is_zero() ? nullptr : m.at<float>(*c_);
        float *y = m.at<float>(blocks_.dst);
        for (std::size_t k = 0; k < blocks_.products.size(); k++) {
            blocks_.products[k].run(s, m);
            loops::parallel_for(rows_, columns_ * 2, [&](dim_t begin, dim_t end) {
                for (dim_t r = begin; r < end; r++)
                    for (dim_t n = 0; n < columns_; n++) {
                        const dim_t i = r * columns_ + n;
                        const float before = k > 0 ? y[i] : c ? c[r * row_step_ + n * column_step_] : 0.f;
                        y[i] = k == 0 && !c ? alpha * product[i] : std::fma(alpha, product[i], before);
                    }
            });
        }
        if (has_followers_)
            followers_.run(s, m);
    }
    std::string implementation() const override {
        return blocks_.products.front().implementation() + " + loop";
    }
    std::string explain() const override {
        return blocks_.products.front().explain() + "\na plain loop multiplies by alpha";
    }

private:
    scaled_blocks blocks_;
    std::optional<buffer> c_;
    primitive_step followers_;
    dim_t rows_ = 0, columns_ = 0, row_step_ = 0, column_step_ = 0;
    bool has_followers_ = false;
};

} // namespace

std::unique_ptr<step> make_vector_product(const lowering &l, const vector_product &p) {
    return std::make_unique<vector_product_step>(l, p);
}

std::unique_ptr<step> make_scaled_sums(const lowering &l, scaled_blocks blocks) {
    return std::make_unique<scaled_sums>(l, std::move(blocks));
}

} // namespace octet::model
