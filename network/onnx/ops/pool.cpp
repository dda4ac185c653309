// ONNX's poolings, quantized and float, and ONNX Runtime's QLinearAveragePool and QLinearGlobalAveragePool.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

memory::dims spatial(const memory::desc &d) {
    const memory::dims dims = d.dims();
    return {dims.begin() + 2, dims.end()};
}

memory::dims read_dims(const lowering &l, const char *name, const memory::dims &fallback) {
    const memory::dims values = l.integers(name, fallback);
    if (values.size() != fallback.size())
        refuse("attribute '" + std::string(name) + "' has " + std::to_string(values.size()) +
               " entries, allowed is " + std::to_string(fallback.size()));
    return values;
}

void need_positive(const memory::dims &values, const char *name, std::int64_t lowest) {
    for (const std::int64_t v : values)
        if (v < lowest || v > std::int64_t{1} << 31)
            refuse("attribute '" + std::string(name) + "' has an entry of " + std::to_string(v) +
                   ", allowed are " + std::to_string(lowest) + " or more");
}

std::unique_ptr<step> pooling_step(const lowering &l, const primitive_attr &attr, algorithm alg,
                                   const pooled_images &p) {
    const pooling_forward::desc d(inference, alg, p.src, p.dst, p.g.strides, p.kernel, p.g.dilates,
                                  p.g.padding_l, p.g.padding_r);
    return one_step(pooling_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, p.src)}, {OCTET_ARG_DST, l.output_buffer(p.dst)}});
}

void check_ranks(const tensor &x, const tensor &y) {
    if (x.dims.size() < 3 || x.dims.size() > 5 || y.dims.size() != x.dims.size())
        refuse("input " + to_text(x.dims) + " and output " + to_text(y.dims) +
               " are no pooling of 1 to 3 dimensions");
}

/// ceil_mode is a padding that lets the output's last window in.
pooled_images pooled(const lowering &l, const tensor &x, const tensor &y) {
    check_ranks(x, y);
    const memory::desc src = activation_desc(l, x), dst = activation_desc(l, y);
    const memory::dims in = spatial(src), out = spatial(dst), kernel = read_dims(l, "kernel_shape", in);
    need_positive(kernel, "kernel_shape", 1);
    window_geometry g = read_windows(l, in, kernel);
    for (std::size_t i = 0; i < in.size(); i++) {
        const dim_t covered = (kernel[i] - 1) * (g.dilates[i] + 1) + 1;
        const dim_t needed = (out[i] - 1) * g.strides[i] + covered - in[i] - g.padding_l[i];
        if (l.integer("ceil_mode", 0) != 0 && needed > g.padding_r[i] &&
            needed < g.padding_r[i] + g.strides[i])
            g.padding_r[i] = needed;
    }
    return {src, dst, kernel, g};
}

algorithm average_of(const lowering &l) {
    return l.integer("count_include_pad", 0) != 0 ? algorithm::pooling_avg_include_padding
                                                  : algorithm::pooling_avg_exclude_padding;
}

/// One window for each image.
pooled_images whole_images(const memory::desc &src, const memory::desc &dst) {
    pooled_images p{src, dst, spatial(src), {}};
    p.g.strides.resize(p.kernel.size(), 1);
    p.g.dilates = p.g.padding_l = p.g.padding_r = memory::dims(p.kernel.size());
    return p;
}

/// All pixels under one factor, s_x / (s_y * n).
std::unique_ptr<step> global_average(const lowering &l, const memory::desc &src, const memory::desc &dst) {
    const linear_parameters x = per_tensor_parameters(l, 1, 2), y = per_tensor_parameters(l, 3, 4);
    const pooled_images p = whole_images(src, dst);
    const std::int64_t count = element_count(p.kernel);
    const float factor = x.scale / (y.scale * static_cast<float>(count));
    if (!(factor >= 0x1p-32f && factor < 256.f) || count >= std::int64_t{1} << 24)
        refuse("the average of " + std::to_string(count) + " pixels has the factor " +
               std::to_string(factor) + ", allowed are 2^-32 to 256 and less than 2^24 pixels");
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    attr.set_output_scales(0, {factor});
    set_zero_points(attr, OCTET_ARG_SRC, 0, {x.zero_point});
    set_zero_points(attr, OCTET_ARG_DST, 0, {y.zero_point});
    return pooling_step(l, attr, algorithm::pooling_avg_exclude_padding, p);
}

bool cover_images(const pooled_images &p) {
    const memory::dims zeros(p.kernel.size(), 0);
    return p.kernel == spatial(p.src) && p.g.padding_l == zeros && p.g.padding_r == zeros;
}

std::unique_ptr<step> lower_max_pool(const lowering &l) {
    const tensor &x = l.input(0, {data_type::u8, data_type::s8, data_type::f32}), &y = l.output(0, {x.type});
    const pooled_images p = pooled(l, x, y);
    return x.type == data_type::f32 ? make_maximum_loop(l, p)
                                    : pooling_step(l, {}, algorithm::pooling_max, p);
}

std::unique_ptr<step> lower_qlinear_average_pool(const lowering &l) {
    const tensor &x = l.input(0, {data_type::u8, data_type::s8}), &y = l.output({x.type});
    const pooled_images p = pooled(l, x, y);
    if (cover_images(p))
        return global_average(l, p.src, p.dst);
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    set_parameters(attr, OCTET_ARG_SRC, per_tensor_parameters(l, 1, 2));
    set_parameters(attr, OCTET_ARG_DST, per_tensor_parameters(l, 3, 4));
    return pooling_step(l, attr, average_of(l), p);
}

std::unique_ptr<step> lower_float_average_pool(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    pooled_images p = pooled(l, x, y);
    const bool counts_padding = average_of(l) == algorithm::pooling_avg_include_padding;
    p.g = read_windows(l, spatial(p.src), p.kernel);
    return make_average_loop(l, p, counts_padding);
}

std::unique_ptr<step> lower_float_global_max_pool(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    check_ranks(x, y);
    return make_maximum_loop(l, whole_images(activation_desc(l, x), activation_desc(l, y)));
}

std::unique_ptr<step> lower_qlinear_global_average_pool(const lowering &l) {
    const tensor &x = l.input(0, {data_type::u8, data_type::s8}), &y = l.output({x.type});
    check_ranks(x, y);
    return global_average(l, activation_desc(l, x), activation_desc(l, y));
}

} // namespace

memory::desc activation_desc(const lowering &l, const tensor &t) {
    if (l.integer("channels_last", 0) == 0)
        return dense_desc(t);
    memory::dims dims = t.dims;
    std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
    constexpr format_tag tags[] = {format_tag::nwc, format_tag::nhwc, format_tag::ndhwc};
    return memory::desc(dims, t.type, tags[dims.size() - 3]);
}

window_geometry read_windows(const lowering &l, const memory::dims &input, const memory::dims &kernel) {
    const std::size_t n = input.size();
    window_geometry g{read_dims(l, "strides", memory::dims(n, 1)),
                      read_dims(l, "dilations", memory::dims(n, 1)), memory::dims(n, 0), memory::dims(n, 0)};
    need_positive(g.strides, "strides", 1);
    need_positive(g.dilates, "dilations", 1);
    for (dim_t &d : g.dilates)
        d--;

    const std::string auto_pad = l.text("auto_pad", "NOTSET");
    if (auto_pad == "NOTSET") {
        const memory::dims pads = read_dims(l, "pads", memory::dims(2 * n, 0)); // all begins, then all ends
        need_positive(pads, "pads", 0);
        g.padding_l.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
        g.padding_r.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
        return g;
    }
    if (auto_pad == "VALID")
        return g;
    if (auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER")
        refuse("attribute 'auto_pad' is " + auto_pad + ", allowed: NOTSET, VALID, SAME_UPPER, SAME_LOWER");
    for (std::size_t i = 0; i < n; i++) {
        const dim_t positions = (input[i] + g.strides[i] - 1) / g.strides[i];
        const dim_t covered = (kernel[i] - 1) * (g.dilates[i] + 1) + 1;
        const dim_t total = std::max<dim_t>((positions - 1) * g.strides[i] + covered - input[i], 0);
        const dim_t smaller = total / 2; // the odd element goes to the end with SAME_UPPER
        g.padding_l[i] = auto_pad == "SAME_UPPER" ? smaller : total - smaller;
        g.padding_r[i] = total - g.padding_l[i];
    }
    return g;
}

namespace {

using namespace row_words;

constexpr row onnx_pool_rows[] = {
    row("AveragePool", 1, lower_float_average_pool, shape::pooling, rows::windows)
        .becomes(form::unary, "QLinearAveragePool")
        .sizes(flow::windows)
        .blocked(block_use::pool)
        .assumes("count_include_pad", std::int64_t{0}),
    row("GlobalMaxPool", 1, lower_float_global_max_pool, shape::global_pooling, rows::windows)
        .blocked(block_use::pool_whole),
    row("MaxPool", 1, lower_max_pool, shape::pooling, rows::windows)
        .layouts(channels_last)
        .moved(code_move::both)
        .sizes(flow::windows)
        .transposed(passing_kind::none)
        .blocked(block_use::pool)
        .becomes(form::moved)
        .passes_pairs(),
    row("QLinearAveragePool", {4, 5}, lower_qlinear_average_pool, shape::pooling, rows::windows)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .layouts(channels_last),
    row("QLinearGlobalAveragePool", {4, 5}, lower_qlinear_global_average_pool, shape::global_pooling,
        rows::windows)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .layouts(channels_last),
};

} // namespace

operator_rows onnx_pool_operators() { return onnx_pool_rows; }

} // namespace octet::model
