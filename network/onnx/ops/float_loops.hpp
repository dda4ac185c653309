#pragma once // SPDX-License-Identifier: Apache-2.0

// Float operators whose bits no primitive has, in plain loops.

#include <algorithm>
#include <string>

#include "network/onnx/ops/operators.hpp"

namespace octet::model {

/// What fold makes of term(0) to term(n - 1), which lie `place` floats behind a tensor's first: vectors of four begin at multiples of 16
/// bytes. Two of them take turns; then their halves, what comes before the first, and what is left. Eigen's for SSE.
template <typename Term, typename Fold>
float fold_row(dim_t n, dim_t place, const Term &term, const Fold &fold) {
    const dim_t head = std::min(n, (4 - place % 4) % 4), fours = head + (n - head) / 4 * 4,
                eights = head + (n - head) / 8 * 8;
    float result = 0.f;
    dim_t from = 0; // of what is taken one by one
    if (fours == head) {
        result = term(0);
        from = 1;
    } else {
        float lanes[4], pairs[8];
        for (dim_t l = 0; l < 4; l++)
            lanes[l] = term(head + l);
        if (eights > head) {
            for (dim_t l = 0; l < 8; l++)
                pairs[l] = term(head + l);
            for (dim_t i = head + 8; i < eights; i += 8)
                for (dim_t l = 0; l < 8; l++)
                    pairs[l] = fold(pairs[l], term(i + l));
            for (dim_t l = 0; l < 4; l++)
                lanes[l] = fold(pairs[l], pairs[l + 4]);
            if (fours > eights)
                for (dim_t l = 0; l < 4; l++)
                    lanes[l] = fold(lanes[l], term(eights + l));
        }
        result = fold(fold(lanes[0], lanes[2]), fold(lanes[1], lanes[3]));
        for (dim_t i = 0; i < head; i++)
            result = fold(result, term(i));
        from = fours;
    }
    for (dim_t i = from; i < n; i++)
        result = fold(result, term(i));
    return result;
}
template <typename Term> float sum_of_row(dim_t n, dim_t place, const Term &term) {
    return fold_row(n, place, term, [](float a, float b) { return a + b; });
}

/// What is reduced. Dimensions of one kind that follow each other are one: "kr" has its last dimensions reduced.
struct reduction_form {
    std::string kinds;
    memory::dims sizes;
};
/// The input's dimensions with 1 where the node reduces them, as inferred; none where nothing is.
inline memory::dims reduced_shape(const lowering &l) { return l.marks().reduced.value_or(memory::dims()); }
/// The form of a node with its axes; refuses one whose `reduced_shape` is another.
reduction_form reduction_form_of(const lowering &l, data_type type);

/// Operators that are a function of single floats: null where it is not one of those here.
std::unique_ptr<step> make_function_loop(const lowering &l);

/// Images, what is made of them, and the windows.
struct pooled_images {
    memory::desc src, dst;
    memory::dims kernel;
    window_geometry g;
};

/// Averages of windows, of which what lies in the image counts, or what lies there or in the padding; windows may reach further.
/// Images lie row by row, channel by channel.
std::unique_ptr<step> make_average_loop(const lowering &l, const pooled_images &p, bool counts_padding);
/// Maxima likewise.
std::unique_ptr<step> make_maximum_loop(const lowering &l, const pooled_images &p);

/// What a pass fused into the node, behind a function that changes nothing of its output, which lies in `dst`.
void add_followers(primitive_step &s, const lowering &l, const memory::desc &dst);

/// A loop, and primitives for what a pass fused into its node.
class followed_loop : public step {
public:
    void make_primitives() override { followers_.make_primitives(); }
    std::string implementation() const override;
    std::string explain() const override;

protected:
    /// Where the node has any; to be called once.
    void take_followers(const lowering &l, const memory::desc &dst);
    virtual std::string explain_loop() const = 0;
    void run_followers(const stream &s, const run_memory &m) const { followers_.run(s, m); }

private:
    primitive_step followers_;
};

/// One row times a matrix of rows `row_stride` apart, in ONNX Runtime's order for them: four rows of the matrix at a time, then
/// two, then one. Their products, rounded, are added up in order, and the sum to those before, if it does not begin with them.
void multiply_row(const float *a, const float *b, dim_t row_stride, dim_t inner, float *y, dim_t columns,
                  bool begins);

/// Rows of a matrix, `row_stride` apart, times one column, in ONNX Runtime's order for that: eight sums of rounded products, which are
/// added up in another order in groups of four rows, of two, and of one; the sum is added to what is there, if it does not begin.
void multiply_column(const float *rows, dim_t row_stride, const float *column, dim_t inner, float *y,
                     dim_t count, bool begins);
/// `multiply_column` with a dense matrix whose columns, `count` of them, are its rows; the sums begin.
void multiply_column_by_transposed(const float *matrix, const float *column, dim_t inner, float *y,
                                   dim_t count);

/// Sums of products, each block of which `alpha` multiplies as it is added to those before.
struct scaled_blocks {
    std::vector<primitive_step> products; ///< to `product`
    buffer product, dst;                  ///< matrices of the same dimensions
    memory::desc c; ///< input 2 of a matrix, which the sums begin with, or the zero descriptor
    float alpha;
};
std::unique_ptr<step> make_scaled_sums(const lowering &l, scaled_blocks blocks);

/// A norm whose scale, input 1, or shift, input 2 if there is one, broadcasts to the source in another way than as a row of numbers,
/// one for each that is normalized; null: both are such rows.
std::unique_ptr<step> make_spread_normalization(const lowering &l, float epsilon, bool is_simplified);

/// Products of single rows, input 0, with matrices, input 1, or of matrices with single columns. Their descriptors have equal ranks.
struct vector_product {
    enum class rows { of_each_matrix, together, alone }; ///< which rows of src are one product
    memory::desc src, weights, dst;
    memory::desc
        c; ///< input 2, which the sums begin with, under the dimensions of dst; or the zero descriptor
    bool is_column, is_transposed; ///< the second matrix is a column; the other operand is read transposed
    rows split = rows::of_each_matrix;
};
/// A step of such products in ONNX Runtime's orders, and of what a pass fused into them.
std::unique_ptr<step> make_vector_product(const lowering &l, const vector_product &p);

} // namespace octet::model
