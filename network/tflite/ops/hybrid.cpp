// TFLite's hybrid products ("dynamic range quantization"): a source of floats, constant weights of codes, a float
// result. The source of each row becomes codes while the network runs, so a row's result does not depend on the rows
// beside it. Runtimes differ in the quantizer and in the order of the operations on floats: doc/dynamic.md.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "network/tflite/ops/operators.hpp"

namespace octet::model {
namespace {

constexpr std::size_t of_weights = 1, of_bias = 2;

/// rows x k by k x columns. `weights` is the file's tensor as {k, columns}.
struct hybrid_product {
    dim_t rows, k, columns;
    memory::desc weights;
};

/// XNNPACK computes a pixel of an image by the operator of matrices, so that each pixel is a row; from one channel to
/// one it multiplies whole images.
void need_single_pixels(const lowering &l, const tensor &weights) {
    const dim_t h = weights.dims[1], w = weights.dims[2], stride_h = l.integer("stride_h"),
                stride_w = l.integer("stride_w");
    if (h != 1 || w != 1 || stride_h != 1 || stride_w != 1)
        refuse_as_unimplemented("a source of floats and a kernel of " + std::to_string(h) + "x" +
                                std::to_string(w) + " with strides " + std::to_string(stride_h) + "x" +
                                std::to_string(stride_w) + ", allowed: 1x1 with strides 1x1");
    if (weights.dims[0] == 1 && weights.dims[3] == 1)
        refuse_as_unimplemented("a source of floats, from one channel to one, allowed: more channels");
}

/// One scale, or one per column, and zero points of 0.
void check_weights_codes(const tensor &w, dim_t columns, std::int32_t column_axis) {
    const auto scales = static_cast<dim_t>(w.quant.scales.size());
    if (scales != 1 && (scales != columns || w.quant.axis != column_axis))
        refuse("the weights ('" + w.name + "') have " + std::to_string(scales) + " scales along dimension " +
               std::to_string(w.quant.axis) + ", allowed are 1 or " + std::to_string(columns) +
               " along dimension " + std::to_string(column_axis));
    for (const std::int32_t z : w.quant.zero_points)
        if (z != 0)
            refuse("the weights ('" + w.name + "') have a zero point of " + std::to_string(z) +
                   ", allowed is 0");
}

/// The weights' dimensions {k, columns} and their order in the file: rows of k, or of columns.
hybrid_product product_of(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &w = l.input(of_weights, {data_type::s8, data_type::s4});
    const std::string &op = l.get_node().op;
    if (!w.is_constant)
        refuse_as_unimplemented("a source of floats with weights ('" + w.name +
                                "') that are computed, allowed: "
                                "constant weights");
    need_rank(w, "input 1", op == "CONV_2D" ? 4 : 2);
    if (op == "CONV_2D")
        need_single_pixels(l, w);
    if (l.integer("adj_x", 0) != 0)
        refuse_as_unimplemented("adj_x with a source of floats, allowed: false");
    const bool has_rows_of_k = op != "BATCH_MATMUL" || l.integer("adj_y", 0) != 0;
    hybrid_product p;
    p.columns = has_rows_of_k ? w.dims.front() : w.dims.back();
    p.k = has_rows_of_k ? w.dims.back() : w.dims.front();
    p.rows = p.k > 0 ? element_count(x.dims) / p.k : 0;
    if (p.rows < 1 || p.rows * p.k != element_count(x.dims) ||
        (x.dims.back() != p.k && op != "FULLY_CONNECTED"))
        refuse("input " + to_text(x.dims) + " does not divide into rows of " + std::to_string(p.k) +
               ", as weights " + to_text(w.dims) + " need");
    check_weights_codes(w, p.columns, has_rows_of_k ? 0 : static_cast<std::int32_t>(w.dims.size()) - 1);
    if (w.type == data_type::s4 && (has_rows_of_k ? p.k : p.columns) % 2 != 0)
        refuse_as_unimplemented("the weights ('" + w.name + "') have rows of " +
                                std::to_string(w.dims.back()) + " codes of 4 bits, allowed: an even number");
    const memory::dims strides = has_rows_of_k ? memory::dims{1, p.k} : memory::dims{p.columns, 1};
    p.weights = memory::desc({p.k, p.columns}, w.type, strides);
    return p;
}

void append_activation(primitive_attr &attr, const std::string &activation) {
    constexpr float most = std::numeric_limits<float>::infinity();
    if (activation == "NONE")
        return;
    const float low = activation == "RELU_N1_TO_1" ? -1.f : 0.f, high = activation == "RELU"    ? most
                                                                        : activation == "RELU6" ? 6.f
                                                                                                : 1.f;
    post_ops ops;
    ops.append_eltwise(1.f, algorithm::eltwise_clip, low, high);
    attr.set_post_ops(ops);
}

std::unique_ptr<step> lower_hybrid(const lowering &l, source_quantizer by, combination order) {
    const hybrid_product p = product_of(l);
    const tensor &w = l.input(of_weights), &y = l.output({data_type::f32});
    if (element_count(y.dims) != p.rows * p.columns || y.dims.empty() || y.dims.back() != p.columns)
        need_output_dims(l, {p.rows, p.columns});
    const bool is_asymmetric =
        by == source_quantizer::xnnpack || l.integer("asymmetric_quantize_inputs", 0) != 0;
    primitive_attr attr;
    attr.set_source_quantization({by, is_asymmetric ? source_mode::asymmetric : source_mode::symmetric});
    attr.set_combination(order);
    attr.set_scales(OCTET_ARG_WEIGHTS, w.quant.scales.size() == 1 ? 0 : 1 << 1, w.quant.scales);
    append_activation(attr, l.text("activation", "NONE"));

    const memory::desc src({p.rows, p.k}, data_type::f32, format_tag::ab),
        dst({p.rows, p.columns}, data_type::f32, format_tag::ab);
    const bool has_bias = l.has_input(of_bias);
    const memory::desc bias =
        has_bias ? memory::desc({1, p.columns}, data_type::f32, format_tag::ab) : memory::desc();
    const matmul::primitive_desc pd(matmul::desc(src, planned_weights(p.weights, w), bias, dst), attr,
                                    l.get_engine());
    auto s = std::make_unique<primitive_step>();
    arguments args = {{OCTET_ARG_SRC, l.input_buffer(0, src)},
                      {OCTET_ARG_WEIGHTS, l.packed_input(of_weights, p.weights, pd.weights_desc())},
                      {OCTET_ARG_DST, l.output_buffer(dst)}};
    if (has_bias)
        args.emplace(OCTET_ARG_BIAS, l.input_buffer(of_bias, bias));
    s->add(pd, args);
    return s;
}

} // namespace

std::unique_ptr<step> lower_hybrid_xnnpack(const lowering &l) {
    return lower_hybrid(l, source_quantizer::xnnpack, combination::xnnpack);
}
std::unique_ptr<step> lower_hybrid_xnnpack_unfused(const lowering &l) {
    return lower_hybrid(l, source_quantizer::xnnpack, combination::xnnpack_unfused);
}
std::unique_ptr<step> lower_hybrid_litert(const lowering &l) {
    return lower_hybrid(l, source_quantizer::litert, combination::litert);
}

} // namespace octet::model
