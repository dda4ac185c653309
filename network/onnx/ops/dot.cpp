// ONNX's matrix products and convolutions of codes multiply 8-bit codes minus their zero points and sum in
// int32; the QLinear forms then requantize with rule ort_f32 and the factor (s_x * s_w) / s_y, the Integer
// forms leave the sum as it is.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/dot.hpp"

#include <algorithm>

#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/next_weights.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

bool is_float(const dot_inputs &in) { return in.src_scale == absent && in.src_zero_point == absent; }

} // namespace

void check_node(const lowering &l, const dot_inputs &in) {
    if (l.rule() != requantization_rule::automatic)
        refuse_as_unimplemented(
            std::string("rule ") + to_string(l.rule()) +
            ": an .onnx network has ONNX Runtime's contract and no other, allowed is automatic");
    if (is_float(in)) {
        l.input(in.src, {data_type::f32});
        l.input(in.weights, {data_type::f32});
        return;
    }
    l.input(in.src, {data_type::u8, data_type::s8});
    l.input(in.weights, {data_type::u8, data_type::s8});
}

memory::desc row_desc(const memory::desc &dst) {
    memory::dims dims(dst.dims().size(), 1);
    dims.back() = dst.dims().back();
    return memory::desc(dims, data_type::f32, memory::dims());
}

matrices matrices_of(const lowering &l, const dot_inputs &in, transposes t) {
    check_node(l, in);
    const tensor &a = l.input(in.src), &b = l.input(in.weights);
    if (a.dims.empty() || b.dims.empty())
        refuse("a matrix product of scalars");
    memory::dims a_dims = a.dims, b_dims = b.dims;
    if (a_dims.size() == 1)
        a_dims.insert(a_dims.begin(), 1);
    if (b_dims.size() == 1)
        b_dims.push_back(1);
    const std::size_t rank = std::max(a_dims.size(), b_dims.size());
    const memory::desc src = matrices_desc(a_dims, a.type, rank, t.a),
                       weights = matrices_desc(b_dims, b.type, rank, t.b);

    memory::dims dst_dims =
        src.dims(); // 1-D operands lose their dimension in the output, which changes no byte
    for (std::size_t d = 0; d + 2 < rank; d++)
        dst_dims[d] = std::max(dst_dims[d], weights.dims()[d]);
    dst_dims[rank - 1] = weights.dims()[rank - 1];
    const memory::desc dst(dst_dims, l.output().type, memory::dims());
    if (element_count(dst_dims) != element_count(l.output().dims))
        refuse("matrices " + to_text(a.dims) + " and " + to_text(b.dims) + " do not give " +
               to_text(l.output().dims));
    return {src, weights, dst};
}

std::pair<memory::desc, memory::desc> gemm_matrices(const lowering &l, const dot_inputs &in) {
    const tensor &a = l.input(in.src), &b = l.input(in.weights);
    if (a.dims.size() != 2 || b.dims.size() != 2)
        refuse("A " + to_text(a.dims) + " and B " + to_text(b.dims) + " are no matrices");
    return {matrices_desc(a.dims, a.type, 2, l.integer("transA", 0) != 0),
            matrices_desc(b.dims, b.type, 2, l.integer("transB", 0) != 0)};
}

memory::desc gemm_bias(const tensor &c) {
    if (c.dims.size() > 2)
        refuse("C has dimensions " + to_text(c.dims) + ", allowed are at most 2");
    memory::dims dims(2 - c.dims.size(), 1);
    dims.insert(dims.end(), c.dims.begin(), c.dims.end());
    return memory::desc(dims, c.type, memory::dims());
}

std::int64_t convolution_groups(const lowering &l, const tensor &x, const tensor &w) {
    if (x.dims.size() < 3 || x.dims.size() > 5 || w.dims.size() != x.dims.size())
        refuse("input " + to_text(x.dims) + " and weights " + to_text(w.dims) +
               " are no convolution of 1 to 3 dimensions");
    const std::int64_t groups = l.integer("group", 1);
    if (groups < 1 || w.dims.front() % groups != 0)
        refuse("attribute 'group' is " + std::to_string(groups) + ", allowed is a divisor of the " +
               std::to_string(w.dims.front()) + " output channels");
    return groups;
}

namespace {

constexpr dot_inputs qlinear_conv_inputs = {0, 1, 2, 3, 4, 5, 6, 7, 8};
constexpr dot_inputs qlinear_matmul_inputs = {0, 1, 2, 3, 4, 5, 6, 7, absent};
constexpr dot_inputs integer_inputs = {0, absent, 2, 1, absent, 3, absent, absent, absent};
constexpr dot_inputs matmul_to_float_inputs = {0, 2, 4, 1, 3, 5, absent, absent, absent};
constexpr std::size_t matmul_to_float_bias = 6; ///< f32, behind the sum
constexpr dot_inputs qgemm_inputs = {0, 1, 2, 3, 4, 5, 7, 8, 6};

/// Masks of "one value per output channel".
struct channel_masks {
    int dst, weights;
};

/// The single value of a scale that may not vary.
float only(const std::vector<float> &values, const char *what) {
    if (values.size() != 1)
        refuse_as_unimplemented(std::string(what) + " has " + std::to_string(values.size()) +
                                " values, allowed is 1");
    return values.front();
}

/// Whether a zero point is computed while the network runs.
bool has_dynamic_zero_point(const lowering &l, std::size_t input) {
    return input != absent && l.has_input(input) && !l.input(input).is_constant;
}

void set_operand_zero_points(primitive_attr &attr, const lowering &l, const dot_inputs &in,
                             channel_masks masks) {
    if (has_dynamic_zero_point(l, in.src_zero_point)) {
        attr.set_zero_points_mask(OCTET_ARG_SRC, 0);
    } else {
        const std::vector<std::int32_t> src = constant_zero_points(l, in.src_zero_point);
        if (src.size() != 1)
            refuse_as_unimplemented("the source has one zero point per row, allowed is one in all");
        set_zero_points(attr, OCTET_ARG_SRC, 0, src);
    }
    if (has_dynamic_zero_point(l, in.weights_zero_point))
        attr.set_zero_points_mask(OCTET_ARG_WEIGHTS, 0);
    else
        set_zero_points(attr, OCTET_ARG_WEIGHTS, masks.weights,
                        constant_zero_points(l, in.weights_zero_point));
}

/// Whether the source's scale is computed while the network runs.
bool has_dynamic_scale(const lowering &l, const dot_inputs &in) {
    return in.src_scale != absent && !l.input(in.src_scale).is_constant;
}

/// Appends post-ops behind a product of floats: a bias that is an input of the operator, then the nodes that
/// a pass fused into it. Returns their arguments.
arguments append_behind(primitive_attr &attr, const lowering &l, std::size_t bias, const memory::desc &dst) {
    arguments args;
    if (bias != absent && l.has_input(bias)) {
        const tensor &t = l.input(bias, {data_type::f32});
        if (element_count(t.dims) != dst.dims().back())
            refuse("the bias has dimensions " + to_text(t.dims) + ", allowed is one value for each of " +
                   std::to_string(dst.dims().back()) + " columns");
        post_ops ops = attr.get_post_ops();
        ops.append_binary(algorithm::binary_add, row_desc(dst));
        attr.set_post_ops(ops);
        args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1] = l.input_buffer(bias, row_desc(dst));
    }
    if (dst.data_type() == data_type::f32)
        append_float_followers(attr, args, l, dst);
    return args;
}

/// The sum as it is.
primitive_attr integer_attr(const lowering &l, channel_masks masks) {
    primitive_attr attr;
    attr.set_requantization(requantization_rule::none);
    attr.set_prefetched_bytes(bytes_of_next_weights(l.get_graph(), l.get_node()));
    set_operand_zero_points(attr, l, integer_inputs, masks);
    return attr;
}

/// s = (s_x * s_w) / s_y per channel; without a destination scale s_x * s_w, and the destination is f32.
primitive_attr qlinear_attr(const lowering &l, const dot_inputs &in, channel_masks masks, float alpha = 1.f) {
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    attr.set_prefetched_bytes(bytes_of_next_weights(l.get_graph(), l.get_node()));
    set_operand_zero_points(attr, l, in, masks);
    if (has_dynamic_scale(l, in)) {
        const std::size_t count = constant_scales(l, in.weights_scale).size();
        attr.set_output_scales(count == 1 ? 0 : masks.dst, {OCTET_RUNTIME_F32_VAL});
        return attr;
    }
    const float src_scale = alpha * only(constant_scales(l, in.src_scale), "the source's scale");
    const float dst_scale =
        l.has_input(in.dst_scale) ? only(constant_scales(l, in.dst_scale), "the output's scale") : 1.f;
    const std::vector<double> factors = real_multipliers(scale_derivation::ort_f32, src_scale,
                                                         constant_scales(l, in.weights_scale), dst_scale);
    attr.set_output_scales(factors.size() == 1 ? 0 : masks.dst,
                           std::vector<float>(factors.begin(), factors.end()));
    if (l.has_input(in.dst_zero_point))
        set_zero_points(attr, OCTET_ARG_DST, 0, constant_zero_points(l, in.dst_zero_point));
    if (l.result().type != data_type::f32)
        append_fused(attr, l, append_qlinear_add);
    return attr;
}

std::unique_ptr<step> dot_step(const lowering &l, const dot_inputs &in, const primitive_desc_base &pd,
                               const memory::desc &src, const memory::desc &weights, const memory::desc &bias,
                               const memory::desc &dst, const arguments &more = {}) {
    arguments args = {{OCTET_ARG_SRC, l.input_buffer(in.src, src)},
                      {OCTET_ARG_WEIGHTS, l.packed_input(in.weights, weights, pd.weights_desc())},
                      {OCTET_ARG_DST, l.output_buffer(dst)}};
    if (!bias.is_zero())
        args[OCTET_ARG_BIAS] = l.input_buffer(in.bias, bias);
    args.insert(more.begin(), more.end());
    auto result = std::make_unique<primitive_step>();
    for (const auto &[arg, input] :
         {std::pair{OCTET_ARG_SRC, in.src_zero_point}, std::pair{OCTET_ARG_WEIGHTS, in.weights_zero_point}}) {
        if (!has_dynamic_zero_point(l, input))
            continue;
        const buffer code = l.input_buffer(input),
                     number = l.scratch(memory::desc({1}, data_type::s32, format_tag::x));
        if (element_count(code.get_desc().dims()) != 1)
            refuse_as_unimplemented("input " + std::to_string(input) +
                                    " has one zero point per row or column, allowed is one in all");
        result->add(reorder_desc(code, number, primitive_attr()),
                    {{OCTET_ARG_FROM, code}, {OCTET_ARG_TO, number}});
        args[OCTET_ARG_ATTR_ZERO_POINTS | arg] = number;
    }
    if (has_dynamic_scale(l, in)) { // times the weights' scales
        const auto count = element_count(l.input(in.weights_scale, {data_type::f32}).dims);
        const memory::desc one({1}, data_type::f32, format_tag::x),
            all({count}, data_type::f32, format_tag::x);
        if (element_count(l.input(in.src_scale, {data_type::f32}).dims) != 1)
            refuse_as_unimplemented("the source has one scale per row, allowed is one in all");
        const buffer product = l.scratch(all);
        result->add(
            binary::primitive_desc({algorithm::binary_mul, all, one, all}, primitive_attr(), l.get_engine()),
            {{OCTET_ARG_SRC_0, l.input_buffer(in.weights_scale, all)},
             {OCTET_ARG_SRC_1, l.input_buffer(in.src_scale, one)},
             {OCTET_ARG_DST, product}});
        args[OCTET_ARG_ATTR_OUTPUT_SCALES] = product;
    }
    result->add(pd, std::move(args));
    return result;
}

// ---- Convolutions: X is N x C x spatial, W is M x C/group x kernel.

memory::desc dense(const tensor &t) { return memory::desc(t.dims, t.type, memory::dims()); }

/// M x C/group x kernel, with groups {group, M/group} x C/group x kernel.
memory::desc convolution_weights(const tensor &w, std::int64_t groups) {
    if (groups == 1)
        return dense(w);
    memory::dims dims = w.dims;
    dims.front() /= groups;
    dims.insert(dims.begin(), groups);
    return memory::desc(dims, w.type, memory::dims());
}

std::unique_ptr<step> convolution(const lowering &l, const dot_inputs &in,
                                  primitive_attr (*make_attr)(const lowering &, channel_masks)) {
    check_node(l, in);
    const tensor &x = l.input(in.src), &w = l.input(in.weights);
    const std::int64_t groups = convolution_groups(l, x, w);
    const memory::desc weights = convolution_weights(w, groups);
    const memory::desc src = activation_desc(l, x), dst = activation_desc(l, l.output());
    const memory::dims input = src.dims(), kernel(w.dims.begin() + 2, w.dims.end());
    const window_geometry g = read_windows(l, {input.begin() + 2, input.end()}, kernel);
    memory::desc bias;
    if (in.bias != absent && l.has_input(in.bias))
        bias = dense(l.input(in.bias, {is_float(in) ? data_type::f32 : data_type::s32}));

    const channel_masks masks = {1 << 1, groups == 1 ? 1 << 0 : (1 << 0) + (1 << 1)};
    const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src,
                                      planned_weights(weights, w), bias, dst, g.strides, g.dilates,
                                      g.padding_l, g.padding_r);
    primitive_attr attr = make_attr(l, masks);
    const arguments behind = append_behind(attr, l, absent, dst);
    const convolution_forward::primitive_desc pd(d, attr, l.get_engine());
    return dot_step(l, in, pd, src, weights, bias, dst, behind);
}

// ---- Operators

std::unique_ptr<step> matrix_product(const lowering &l, const dot_inputs &in,
                                     primitive_attr (*make_attr)(const lowering &, channel_masks),
                                     std::size_t bias = absent) {
    const auto [src, weights, dst] = matrices_of(l, in);
    const int columns = 1 << (dst.dims().size() - 1);
    primitive_attr attr = make_attr(l, {columns, columns});
    const arguments behind = append_behind(attr, l, bias, dst);
    const matmul::primitive_desc pd({src, planned_weights(weights, l.input(in.weights)), dst}, attr,
                                    l.get_engine());
    return dot_step(l, in, pd, src, weights, {}, dst, behind);
}

std::unique_ptr<step> lower_qlinear_conv(const lowering &l) {
    return convolution(l, qlinear_conv_inputs, [](const lowering &node, channel_masks masks) {
        return qlinear_attr(node, qlinear_conv_inputs, masks);
    });
}

std::unique_ptr<step> lower_conv_integer(const lowering &l) {
    return convolution(l, integer_inputs, integer_attr);
}

std::unique_ptr<step> lower_qlinear_matmul(const lowering &l) {
    return matrix_product(l, qlinear_matmul_inputs, [](const lowering &node, channel_masks masks) {
        return qlinear_attr(node, qlinear_matmul_inputs, masks);
    });
}

std::unique_ptr<step> lower_matmul_integer(const lowering &l) {
    return matrix_product(l, integer_inputs, integer_attr);
}

std::unique_ptr<step> lower_matmul_integer_to_float(const lowering &l) {
    l.output({data_type::f32});
    return matrix_product(
        l, matmul_to_float_inputs,
        [](const lowering &node, channel_masks masks) {
            return qlinear_attr(node, matmul_to_float_inputs, masks);
        },
        matmul_to_float_bias);
}

std::unique_ptr<step> lower_qgemm(const lowering &l) {
    const dot_inputs &in = qgemm_inputs;
    check_node(l, in);
    const auto [src, weights] = gemm_matrices(l, in);
    const memory::desc dst = dense(l.output());
    memory::desc bias;
    if (l.has_input(in.bias))
        bias = gemm_bias(l.input(in.bias, {data_type::s32}));
    if (!l.has_input(in.dst_scale))
        l.output({data_type::f32});

    const float alpha = l.real("alpha", 1.f);
    primitive_attr attr = qlinear_attr(l, in, {1 << 1, 1 << 1}, alpha);
    const arguments behind = append_behind(attr, l, absent, dst);
    const matmul::primitive_desc pd({src, planned_weights(weights, l.input(in.weights)), bias, dst}, attr,
                                    l.get_engine());
    return dot_step(l, in, pd, src, weights, bias, dst, behind);
}

using namespace row_words;

constexpr row onnx_dot_rows[] = {
    row("ConvInteger", {2, 4}, lower_conv_integer, shape::conv_integer, rows::windows)
        .layouts(layout_support::gathers)
        .sizes(flow::windows)
        .sums(products::of_codes),
    row("MatMulInteger", {2, 4}, lower_matmul_integer, shape::matmul_integer, rows::matrices)
        .sizes(flow::matrices)
        .sums(products::of_codes),
    row("MatMulIntegerToFloat", {4, 7}, lower_matmul_integer_to_float, shape::matmul_integer_to_float,
        rows::matrices)
        .in(domains::microsoft)
        .part(accumulates)
        .sizes(flow::matrices)
        .sums(products::of_codes),
    row("QGemm", {6, 9}, lower_qgemm, shape::qgemm, rows::gemm)
        .in(domains::microsoft)
        .scales(0, 2, 7)
        .part(accumulates)
        .sizes(flow::gemm)
        .sums(products::of_codes),
    row("QLinearConv", {8, 9}, lower_qlinear_conv, shape::qlinear_conv, rows::windows)
        .in(domains::both)
        .scales(0, 2, 6)
        .part(accumulates)
        .padded(add_pads)
        .layouts(layout_support::gathers)
        .sizes(flow::windows)
        .sums(products::of_codes),
    row("QLinearMatMul", 8, lower_qlinear_matmul, shape::qlinear_matmul, rows::qlinear_matrices)
        .scales(0, 2, 6)
        .part(accumulates)
        .sizes(flow::matrices)
        .sums(products::of_codes),
};

} // namespace

operator_rows onnx_dot_operators() { return onnx_dot_rows; }

} // namespace octet::model
