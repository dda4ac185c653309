#pragma once // SPDX-License-Identifier: Apache-2.0

// Float operators whose bits no primitive has, in plain loops.

#include "loops/reductions.hpp"
#include "network/onnx/ops/operators.hpp"

namespace octet::model {

/// The input's dimensions with 1 where the node reduces them, as inferred; none where nothing is.
inline memory::dims reduced_shape(const lowering &l) { return l.marks().reduced.value_or(memory::dims()); }
/// How a node reduces input 0; refuses one whose `reduced_shape` is not that of its axes.
loops::reduction reduction_of(const lowering &l, data_type type);
std::string explain_reduction(const buffer &src);

/// Images, what is made of them, and the windows.
struct pooled_images {
    memory::desc src, dst;
    memory::dims kernel;
    window_geometry g;
};

/// Averages of windows, of which what lies in the image counts, or what lies there or in the padding; windows
/// may reach further. Images lie row by row, channel by channel.
std::unique_ptr<step> make_average_loop(const lowering &l, const pooled_images &p, bool counts_padding);
/// Maxima likewise.
std::unique_ptr<step> make_maximum_loop(const lowering &l, const pooled_images &p);

/// Adds the nodes that a pass fused into the node, behind a function that leaves its output as it is, which
/// lies in `dst`.
void add_followers(primitive_step &s, const lowering &l, const memory::desc &dst);

/// A loop, and primitives for what a pass fused into its node.
class followed_loop : public step {
public:
    void make_primitives() override { followers_.make_primitives(); }
    std::string implementation() const override;
    std::string explain() const override;

protected:
    /// Takes the node's followers, if it has any. To be called once.
    void take_followers(const lowering &l, const memory::desc &dst);
    virtual std::string explain_loop() const = 0;
    void run_followers(const stream &s, const run_memory &m) const { followers_.run(s, m); }

private:
    primitive_step followers_;
};

/// Sums of products, each block of which `alpha` multiplies as it is added to those before.
struct scaled_blocks {
    std::vector<primitive_step> products; ///< to `product`
    buffer product, dst;                  ///< matrices of the same dimensions
    memory::desc c; ///< input 2 of a matrix, which the sums begin with, or the zero descriptor
    float alpha;
};
std::unique_ptr<step> make_scaled_sums(const lowering &l, scaled_blocks blocks);

/// A norm whose scale, input 1, or shift, input 2 if there is one, broadcasts to the source in another way
/// than as a row of numbers, one for each that is normalized; null: both are such rows.
std::unique_ptr<step> make_spread_normalization(const lowering &l, float epsilon, bool is_simplified);

/// Products of single rows, input 0, with matrices, input 1, or of matrices with single columns. Their
/// descriptors have equal ranks.
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
