// ONNX's matrix products of floats sum in f32, in the blocks of ONNX Runtime, within which the order is that
// of the primitives.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops/plane_products.hpp"
#include "network/onnx/ops/dot.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/matrices.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

std::int64_t matrix_count(const memory::desc &md) {
    const memory::dims dims = md.dims();
    return element_count({dims.begin(), dims.end() - 2});
}

/// Whether rows are multiplied each with a matrix of its own, or one that is no batch. Where any number of rows, the
/// batch, shares one, a single row has the order of several unless its mark says otherwise. Of a column,
/// the order depends on the place of a row anyway.
bool are_single_rows(const lowering &l, const tensor &a, const tensor &b, const matrices &m) {
    const bool has_its_own =
        b.dims.size() > 2 && (matrix_count(m.weights) > 1 || (matrix_count(m.dst) == 1 && !b.is_constant));
    const bool is_alone = matrix_count(m.dst) == 1 && (l.marks().sums_rows_alone || m.dst.dims().back() == 1);
    return m.dst.dims()[m.dst.dims().size() - 2] == 1 && l.integer("transA", 0) == 0 &&
           (a.dims.size() == 1 || has_its_own || is_alone);
}

/// Products of a row or a column that is computed have orders of their own.
std::optional<vector_product> as_vector_product(const lowering &l, const matrices &m, const memory::desc &c) {
    const tensor &a = l.input(float_inputs.src), &b = l.input(float_inputs.weights);
    if (is_packed_ahead(l.get_node(), b) || l.marks().has_scaled_summand || m.src.dims().back() == 0 ||
        element_count(m.dst.dims()) == 0)
        return {};
    const bool is_transposed_a = l.integer("transA", 0) != 0 && a.dims.size() > 1,
               is_transposed_b = l.integer("transB", 0) != 0 && b.dims.size() > 1;
    using rows = vector_product::rows;
    if (are_single_rows(l, a, b, m))
        return vector_product{m.src, m.weights, m.dst, c, false, is_transposed_b};
    if (m.dst.dims().back() != 1 || is_transposed_b)
        return {};
    if (b.dims.size() == 1 && !is_transposed_a)
        return vector_product{m.src, m.weights, m.dst, c, false, false, rows::alone};
    const bool are_together =
        !is_transposed_a && a.dims.size() >= b.dims.size() && matrix_count(m.weights) == 1;
    return vector_product{m.src,
                          m.weights,
                          m.dst,
                          c,
                          true,
                          is_transposed_a,
                          are_together ? rows::together : rows::of_each_matrix};
}

/// Returns how many products ONNX Runtime adds up before it adds their sum to the sums before: constant
/// matrices are packed in blocks of 256 rows, others are read in blocks that fit a cache.
dim_t reduction_block(const lowering &l, const tensor &b, const matrices &m) {
    const std::size_t rank = m.dst.dims().size();
    const dim_t inner = m.src.dims()[rank - 1], columns = m.dst.dims()[rank - 1];
    const bool is_transposed = l.integer("transA", 0) != 0 && l.input(float_inputs.src).dims.size() > 1;
    return is_packed_ahead(l.get_node(), b) ? 256 : float_reduction_block(inner, columns, is_transposed);
}

/// `size` of one dimension, from `first` on.
memory::desc part_of(const memory::desc &whole, std::size_t dimension, dim_t first, dim_t size) {
    memory::dims dims = whole.dims(), offsets(dims.size());
    dims[dimension] = size;
    offsets[dimension] = first;
    return whole.submemory_desc(dims, offsets);
}

/// The part of a product that ONNX Runtime sums up before it adds the sum to those before.
struct product_block {
    memory::desc src, weights;
    bool is_first, is_last;
};

std::vector<product_block> blocks_of(const lowering &l, const matrices &m) {
    const std::size_t rank = m.dst.dims().size();
    const dim_t inner = m.src.dims().back(), block = reduction_block(l, l.input(float_inputs.weights), m);
    if (inner <= block) // also sums of nothing, which are written
        return {{m.src, m.weights, true, true}};
    std::vector<product_block> blocks;
    for (dim_t first = 0; first < inner; first += block) {
        const dim_t size = std::min(block, inner - first);
        blocks.push_back({part_of(m.src, rank - 1, first, size), part_of(m.weights, rank - 2, first, size),
                          first == 0, first + size == inner});
    }
    return blocks;
}

/// alpha * A * B + C, where alpha is not 1 and there is a C or more than one block: alpha multiplies the sum of each.
std::unique_ptr<step> scaled_product(const lowering &l, const matrices &m, float alpha,
                                     const memory::desc &c) {
    const dot_inputs &in = float_inputs;
    const tensor &b = l.input(in.weights);
    scaled_blocks s{{}, l.scratch(m.dst), l.output_buffer(m.dst), c, alpha};
    for (const product_block &k : blocks_of(l, m)) {
        const matmul::primitive_desc pd({k.src, planned_weights(k.weights, b), m.dst}, primitive_attr(),
                                        l.get_engine());
        s.products.emplace_back();
        s.products.back().add(pd,
                              {{OCTET_ARG_SRC, l.input_buffer(in.src, k.src)},
                               {OCTET_ARG_WEIGHTS, l.packed_input(in.weights, k.weights, pd.weights_desc())},
                               {OCTET_ARG_DST, s.product}});
    }
    return make_scaled_sums(l, std::move(s));
}

/// alpha * A * B + C of floats, then what a pass fused into it. C, where there is one, comes before the second block.
std::unique_ptr<step> float_product(const lowering &l, const matrices &m, float alpha,
                                    const memory::desc &c = {}) {
    l.output({data_type::f32});
    const dot_inputs &in = float_inputs;
    const tensor &b = l.input(in.weights);
    const std::size_t rank = m.dst.dims().size();
    if (rank < 2 || m.src.dims().size() != rank || m.weights.dims().size() != rank)
        refuse("a product of " + to_text(m.src.dims()) + " and " + to_text(m.weights.dims()) + " is not " +
               to_text(m.dst.dims()));
    if (const auto vectors = alpha == 1.f ? as_vector_product(l, m, c) : std::nullopt)
        return make_vector_product(l, *vectors);
    const std::vector<product_block> blocks = blocks_of(l, m);
    if (alpha != 1.f && (!c.is_zero() || blocks.size() > 1))
        return scaled_product(l, m, alpha, c);
    auto result = std::make_unique<primitive_step>();
    for (const product_block &k : blocks) {
        primitive_attr attr;
        if (alpha != 1.f)
            attr.set_output_scales(0, {alpha});
        post_ops ops;
        arguments args;
        if (!k.is_first) {
            ops.append_sum(1.f);
        } else if (!c.is_zero()) {
            ops.append_binary(algorithm::binary_add, c);
            args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1] = l.input_buffer(in.bias, c);
        }
        attr.set_post_ops(ops);
        if (k.is_last)
            append_float_followers(attr, args, l, m.dst);
        const matmul::primitive_desc pd({k.src, planned_weights(k.weights, b), m.dst}, attr, l.get_engine());
        args[OCTET_ARG_SRC] = l.input_buffer(in.src, k.src);
        args[OCTET_ARG_WEIGHTS] = l.packed_input(in.weights, k.weights, pd.weights_desc());
        args[OCTET_ARG_DST] = l.output_buffer(m.dst);
        result->add(pd, args);
    }
    return result;
}

std::unique_ptr<step> lower_float_matmul(const lowering &l) {
    return float_product(l, matrices_of(l, float_inputs), 1.f);
}

/// A matrix product whose sums begin with a row of numbers; a pass makes it.
std::unique_ptr<step> lower_float_matmul_add(const lowering &l) {
    const matrices m = matrices_of(l, float_inputs);
    return float_product(l, m, 1.f, row_desc(m.dst));
}

/// ONNX Runtime's FusedMatMul: alpha * A * B, either of them transposed.
std::unique_ptr<step> lower_fused_matmul(const lowering &l) {
    for (const char *const name : {"transBatchA", "transBatchB"})
        if (l.integer(name, 0) != 0)
            refuse_as_unimplemented(std::string("attribute '") + name + "' is not 0");
    const transposes t = {l.integer("transA", 0) != 0, l.integer("transB", 0) != 0};
    return float_product(l, matrices_of(l, float_inputs, t), l.real("alpha", 1.f));
}

/// alpha * A * B + beta * C; C comes behind the factor, so it is a post-op.
std::unique_ptr<step> lower_float_gemm(const lowering &l) {
    const dot_inputs &in = float_inputs;
    check_node(l, in);
    l.output({data_type::f32});
    const auto [src, weights] = gemm_matrices(l, in);
    const float alpha = l.real("alpha", 1.f), beta = l.real("beta", 1.f);
    memory::desc c;
    if (l.has_input(in.bias) && beta != 0.f) {
        if (beta != 1.f)
            refuse_as_unimplemented("attribute 'beta' is " + std::to_string(beta) + ", allowed are 0 and 1");
        c = gemm_bias(l.input(in.bias, {data_type::f32}));
    }
    return float_product(l, {src, weights, dense_desc(l.output())}, alpha, c);
}

// ---- Whether rows of a batch stay apart

/// With transA the first of two dimensions would become a matrix's columns.
bool fused_matrices_keeps_rows(const node_rows &o) {
    return rows::matrices(o) && (o.rank(0) >= 3 || o.integer("transA", 0) == 0) &&
           o.integer("transBatchA", 0) == 0 && o.integer("transBatchB", 0) == 0;
}

using namespace row_words;

constexpr row onnx_float_products_rows[] = {
    row("FusedMatMul", 2, lower_fused_matmul, shape::matmul, fused_matrices_keeps_rows)
        .in(domains::microsoft)
        .part(accumulates)
        .sizes(flow::matrices)
        .sums(products::of_floats),
    row("Gemm", {2, 3}, lower_float_gemm, shape::gemm, rows::gemm)
        .part(accumulates)
        .becomes(form::gemm, "QGemm")
        .sizes(flow::gemm)
        .sums(products::of_floats)
        .assumes("beta", 1.f),
    row("MatMul", 2, lower_float_matmul, shape::matmul, rows::matrices)
        .part(accumulates)
        .becomes(form::matrix_product, "QLinearMatMul")
        .sizes(flow::matrices)
        .sums(products::of_floats),
    row("MatMulAdd", 3, lower_float_matmul_add, shape::matmul, rows::never)
        .part(accumulates)
        .internal()
        .sums(products::of_floats),
};

} // namespace

dim_t float_reduction_block(dim_t inner, dim_t columns, bool is_transposed) {
    return is_transposed ? 128 : loops::products_in_block(inner, columns);
}

operator_rows onnx_float_products_operators() { return onnx_float_products_rows; }

} // namespace octet::model
