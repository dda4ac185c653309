// What compilers make of these loops has the bits that are written here: contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/onnx_float_loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "network/lower/fused.hpp"
#include "network/lower/onnx.hpp"

namespace octet::model {

void multiply_row(const float *a, const float *b, dim_t row_stride, dim_t inner, float *y, dim_t columns,
                  bool begins) {
    for (dim_t k = 0; k < inner;) {
        const dim_t left = inner - k, rows = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        const float *r = b + k * row_stride, *factors = a + k;
        const auto sum_at = [=](dim_t j) {
            float sum = factors[0] * r[j];
            for (dim_t i = 1; i < rows; i++)
                sum = sum + factors[i] * r[i * row_stride + j];
            return sum;
        };
        if (begins)
            for (dim_t j = 0; j < columns; j++)
                y[j] = sum_at(j);
        else if (rows == 4)
            for (dim_t j = 0; j < columns; j++)
                y[j] = y[j] + (((factors[0] * r[j] + factors[1] * r[row_stride + j]) +
                                factors[2] * r[2 * row_stride + j]) +
                               factors[3] * r[3 * row_stride + j]);
        else
            for (dim_t j = 0; j < columns; j++)
                y[j] = y[j] + sum_at(j);
        begins = false;
        k += rows;
    }
}

void multiply_column(const float *rows, dim_t row_stride, const float *column, dim_t inner, float *y,
                     dim_t count, bool begins) {
    for (dim_t r = 0, left_in_group = 0, group = 0; r < count; r++, left_in_group--) {
        if (left_in_group == 0)
            group = left_in_group = count - r >= 4 ? 4 : count - r >= 2 ? 2 : 1;
        const float *const row = rows + r * row_stride;
        float s[8] = {};
        for (dim_t k = 0; k < inner; k++)
            s[k % 8] += row[k] * column[k];
        float sum = 0;
        if (group == 4)
            sum = (((s[0] + s[1]) + s[2]) + s[3]) + (((s[4] + s[5]) + s[6]) + s[7]);
        else if (group == 2)
            sum = ((s[0] + s[2]) + (s[4] + s[6])) + ((s[1] + s[3]) + (s[5] + s[7]));
        else
            sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        y[r] = sum + (begins ? 0.f : y[r]);
    }
}

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

// ---- One row times a matrix

/// Elements from the first matrix of a tensor to the one at an index; dimensions of 1 are repeated.
dim_t matrix_offset(const memory::desc &md, const memory::dims &at) {
    const memory::dims dims = md.dims(), strides = md.get_strides();
    dim_t offset = 0;
    for (std::size_t d = 0; d < at.size(); d++)
        offset += dims[d] == 1 ? 0 : at[d] * strides[d];
    return offset;
}

class row_product final : public followed_loop {
public:
    row_product(const lowering &l, const memory::desc &src, const memory::desc &weights,
                const memory::desc &dst, const memory::desc &c)
        : src_(l.input_buffer(0)), weights_(l.input_buffer(1)), dst_(l.output_buffer()),
          row_stride_(weights.get_strides()[weights.dims().size() - 2]), inner_(src.dims().back()),
          columns_(dst.dims().back()) {
        if (!c.is_zero()) {
            c_ = l.input_buffer(2);
            c_stride_ = c.dims().back() == 1 ? 0 : c.get_strides().back();
        }
        memory::dims at(dst.dims().size() - 2);
        const std::int64_t count = element_count(dst.dims()) / std::max<dim_t>(columns_, 1);
        for (std::int64_t i = 0; i < count; i++) {
            matrices_.push_back({matrix_offset(src, at), matrix_offset(weights, at)});
            for (std::size_t d = at.size(); d-- > 0 && ++at[d] == dst.dims()[d];)
                at[d] = 0;
        }
        take_followers(l, dst);
    }

    void run(const stream &s, const run_memory &m) const override {
        float *y = m.at<float>(dst_);
        for (const auto &[a, b] : matrices_) {
            if (c_)
                for (dim_t j = 0; j < columns_; j++)
                    y[j] = m.at<float>(c_)[j * c_stride_];
            multiply_row(m.at<float>(src_) + a, m.at<float>(weights_) + b, row_stride_, inner_, y, columns_,
                         !c_);
            y += columns_;
        }
        run_followers(s, m);
    }

private:
    std::string explain_loop() const override {
        return "a plain loop over " + std::to_string(matrices_.size()) + " rows, four products at a time";
    }

    struct matrix {
        dim_t a, b;
    };
    buffer src_, weights_, dst_, c_;
    dim_t row_stride_, inner_, columns_, c_stride_ = 0;
    std::vector<matrix> matrices_;
};

// ---- Products with a factor

class scaled_sums final : public step {
public:
    scaled_sums(const lowering &l, scaled_blocks blocks) : blocks_(std::move(blocks)) {
        const memory::dims dims = blocks_.dst.get_desc().dims();
        columns_ = dims.back();
        rows_ = element_count({dims.begin(), dims.end() - 1});
        if (!blocks_.c.is_zero()) { // of matrices
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
            for (dim_t r = 0; r < rows_; r++)
                for (dim_t n = 0; n < columns_; n++) {
                    const dim_t i = r * columns_ + n;
                    const float before = k > 0 ? y[i] : c ? c[r * row_step_ + n * column_step_] : 0.f;
                    y[i] = k == 0 && !c ? alpha * product[i] : std::fma(alpha, product[i], before);
                }
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

std::unique_ptr<step> make_row_product(const lowering &l, const memory::desc &src,
                                       const memory::desc &weights, const memory::desc &dst,
                                       const memory::desc &c) {
    return std::make_unique<row_product>(l, src, weights, dst, c);
}

std::unique_ptr<step> make_scaled_sums(const lowering &l, scaled_blocks blocks) {
    return std::make_unique<scaled_sums>(l, std::move(blocks));
}

} // namespace octet::model
