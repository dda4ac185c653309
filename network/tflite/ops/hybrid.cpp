// TFLite's hybrid products ("dynamic range quantization"): a source of floats, constant weights of codes, a float
// result. The source of each row becomes codes while the network runs, so a row's result does not depend on the rows
// beside it. Runtimes differ in the quantizer and in the order of the operations on floats: doc/dynamic.md.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "network/shapes/next_weights.hpp"
#include "network/tflite/ops/hybrid_convolution.hpp"
#include "network/tflite/ops/operators.hpp"

namespace octet::model {
namespace {

constexpr std::size_t of_weights = 1, of_bias = 2;

/// rows x k by k x columns. `weights` is the file's tensor as {k, columns}.
struct hybrid_product {
    dim_t rows, k, columns;
    memory::desc weights;
};

/// XNNPACK computes a pixel of an image by the operator of matrices, so that each pixel is a row. Other convolutions,
/// and one from one channel to one, quantize whole images.
bool has_rows_of_pixels(const lowering &l) {
    const tensor &w = l.input(of_weights);
    need_rank(w, "input 1", 4);
    const bool is_of_pixels = w.dims[1] == 1 && w.dims[2] == 1 && l.integer("stride_h") == 1 &&
                              l.integer("stride_w") == 1 && w.dims[3] == l.input(0).dims.back();
    return is_of_pixels && (w.dims[0] != 1 || w.dims[3] != 1);
}

/// The weights' dimensions {k, columns} and their order in the file: rows of k, or of columns.
hybrid_product product_of(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &w = l.input(of_weights, {data_type::s8, data_type::s4});
    const std::string &op = l.get_node().op;
    need_rank(w, "input 1", op == "CONV_2D" ? 4 : 2);
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
    check_hybrid_weights(w, p.columns, has_rows_of_k ? 0 : static_cast<std::int32_t>(w.dims.size()) - 1);
    if (w.type == data_type::s4 && (has_rows_of_k ? p.k : p.columns) % 2 != 0)
        refuse_as_unimplemented("the weights ('" + w.name + "') have rows of " +
                                std::to_string(w.dims.back()) + " codes of 4 bits, allowed: an even number");
    const memory::dims strides = has_rows_of_k ? memory::dims{1, p.k} : memory::dims{p.columns, 1};
    p.weights = memory::desc({p.k, p.columns}, w.type, strides);
    return p;
}

void append_activation(primitive_attr &attr, const std::string &activation) {
    if (activation == "NONE")
        return;
    const real_interval range = interval_of_activation(activation);
    post_ops ops;
    ops.append_eltwise(1.f, algorithm::eltwise_clip, range.low, range.high);
    attr.set_post_ops(ops);
}

std::unique_ptr<step> lower_hybrid(const lowering &l, source_quantizer by, combination order) {
    const std::string &op = l.get_node().op;
    if (op == "TRANSPOSE_CONV" || (op == "CONV_2D" && !has_rows_of_pixels(l)))
        return hybrid_convolution(l, {by, source_mode::asymmetric}, order);
    const hybrid_product p = product_of(l);
    const tensor &w = l.input(of_weights), &y = l.output({data_type::f32});
    if (element_count(y.dims) != p.rows * p.columns || y.dims.empty() || y.dims.back() != p.columns)
        need_output_dims(l, {p.rows, p.columns});
    const bool is_asymmetric =
        by == source_quantizer::xnnpack || l.integer("asymmetric_quantize_inputs", 0) != 0;
    primitive_attr attr;
    attr.set_source_quantization({by, is_asymmetric ? source_mode::asymmetric : source_mode::symmetric});
    attr.set_combination(order);
    attr.set_prefetched_bytes(bytes_of_next_weights(l.get_graph(), l.get_node()));
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

void check_hybrid_weights(const tensor &w, dim_t columns, std::int32_t column_axis) {
    if (!w.is_constant)
        refuse_as_unimplemented("a source of floats with weights ('" + w.name +
                                "') that are computed, allowed: constant weights");
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

real_interval interval_of_activation(const std::string &activation) {
    constexpr float most = std::numeric_limits<float>::infinity();
    if (activation == "NONE")
        return {-most, most};
    return {activation == "RELU_N1_TO_1" ? -1.f : 0.f, activation == "RELU"    ? most
                                                       : activation == "RELU6" ? 6.f
                                                                               : 1.f};
}

std::unique_ptr<step> lower_hybrid_xnnpack(const lowering &l) {
    return lower_hybrid(l, source_quantizer::xnnpack, combination::xnnpack);
}
std::unique_ptr<step> lower_hybrid_xnnpack_unfused(const lowering &l) {
    return lower_hybrid(l, source_quantizer::xnnpack, combination::xnnpack_unfused);
}
std::unique_ptr<step> lower_hybrid_litert(const lowering &l) {
    return lower_hybrid(l, source_quantizer::litert, combination::litert);
}
/// The kernel for one scale per channel quantizes with zero points, the other one without.
std::unique_ptr<step> lower_hybrid_conv_litert(const lowering &l) {
    const bool has_one_scale = l.input(of_weights).quant.scales.size() == 1;
    return hybrid_convolution(
        l, {source_quantizer::litert, has_one_scale ? source_mode::symmetric : source_mode::asymmetric},
        combination::litert);
}
std::unique_ptr<step> lower_hybrid_depthwise_litert(const lowering &l) {
    return hybrid_convolution(l, {source_quantizer::litert, source_mode::asymmetric},
                              combination::xnnpack_unfused); // the scale of the image comes first
}

} // namespace octet::model
