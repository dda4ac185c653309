// TFLite's operators that reduce dimensions: MEAN, SUM, REDUCE_MAX, REDUCE_MIN.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/tflite/tflite.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/tflite.hpp"

namespace octet::model {
namespace {

/// A sum over any axes as a pooling with one window: kept dimensions are {N, C}, reduced ones spatial.
/// Neighbours of one kind in a row-major tensor are one dimension, so few are left.
struct merged_dims {
    struct dim {
        dim_t size, stride;
    };
    std::vector<dim> kept, reduced; // outermost first

    merged_dims(const memory::dims &dims, const std::vector<bool> &is_reduced) {
        dim_t stride = 1;
        int last = -1; // kind of the innermost dimension merged so far
        for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) {
            if (dims[i] == 1)
                continue;
            std::vector<dim> &kind = is_reduced[i] ? reduced : kept;
            if (last == is_reduced[i])
                kind.front().size *= dims[i];
            else
                kind.insert(kind.begin(), {dims[i], stride});
            last = is_reduced[i];
        }
        if (kept.size() > 2 || reduced.size() > 3)
            refuse_as_unimplemented("the axes leave " + std::to_string(kept.size()) + " separate kept and " +
                                    std::to_string(reduced.size()) +
                                    " separate reduced dimensions, allowed are 2 and 3");
        while (kept.size() < 2)
            kept.insert(kept.begin(), {1, 1});
        if (reduced.empty())
            reduced.push_back({1, 1});
    }

    memory::dims window() const {
        memory::dims sizes;
        for (const dim &d : reduced)
            sizes.push_back(d.size);
        return sizes;
    }

    memory::desc src_desc(data_type type) const {
        memory::dims sizes = {kept[0].size, kept[1].size}, strides = {kept[0].stride, kept[1].stride};
        for (const dim &d : reduced) {
            sizes.push_back(d.size);
            strides.push_back(d.stride);
        }
        return memory::desc(sizes, type, strides);
    }

    memory::desc dst_desc(data_type type) const {
        memory::dims sizes = {kept[0].size, kept[1].size};
        sizes.resize(2 + reduced.size(), 1);
        return memory::desc(sizes, type, memory::dims());
    }
};

memory::dims reduced_dims(const lowering &l, const memory::dims &src, const std::vector<bool> &reduced) {
    const bool keeps_dims = l.integer("keep_dims", 0) != 0;
    memory::dims dims;
    for (std::size_t i = 0; i < src.size(); i++)
        if (!reduced[i])
            dims.push_back(src[i]);
        else if (keeps_dims)
            dims.push_back(1);
    return dims;
}

primitive_attr tflite_sum(const linear_codes &x, const linear_codes &y, std::int64_t count, bool divides) {
    constexpr requantization_rule rule = tflite_rule;
    primitive_attr attr;
    const auto factor = from_double(rule, static_cast<double>(x.scale) / static_cast<double>(y.scale));
    attr.set_requantization(rule, 0, {divides ? divide_by_count(factor, count) : factor});
    set_zero_point(attr, OCTET_ARG_SRC, x.zero_point);
    set_zero_point(attr, OCTET_ARG_DST, y.zero_point);
    return attr;
}

/// The sum of codes as they are, times a factor, plus a number that holds both zero points: f32 throughout, rounded last.
primitive_attr xnnpack_sum(const linear_codes &x, const linear_codes &y, std::int64_t count, bool divides) {
    const auto n = static_cast<float>(count);
    const float ratio = x.scale / y.scale, factor = divides ? ratio * (1.f / n) : ratio;
    const float zero_points = n * static_cast<float>(x.zero_point) * factor;
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule); // without scales a factor and one rounding
    attr.set_output_scales(0, {factor});
    post_ops ops;
    ops.append_eltwise(1.f, algorithm::eltwise_linear, 1.f, static_cast<float>(y.zero_point) - zero_points);
    attr.set_post_ops(ops);
    return attr;
}

/// `divides`: by the number of elements of a sum, which TFLite makes part of the multiplier.
template <bool divides> std::unique_ptr<step> scaled_sum(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    const linear_codes x = per_tensor(src, "input 0"), y = per_tensor(dst, "the output");
    const std::vector<bool> is_reduced = named_dims(l, 1, src.dims.size());
    need_output_dims(l, reduced_dims(l, src.dims, is_reduced));
    const merged_dims r(src.dims, is_reduced);
    const memory::dims window = r.window(), ones(window.size(), 1), zeros(window.size(), 0);

    const std::int64_t count = element_count(window);
    const primitive_attr attr = elementwise_rule(l) == xnnpack_rule ? xnnpack_sum(x, y, count, divides)
                                                                    : tflite_sum(x, y, count, divides);
    const memory::desc src_md = r.src_desc(src.type), dst_md = r.dst_desc(dst.type);
    const pooling_forward::desc d(prop_kind::forward_inference, algorithm::pooling_avg_exclude_padding,
                                  src_md, dst_md, ones, window, zeros, zeros);
    return one_step(pooling_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, src_md)}, {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

/// The largest or smallest of codes as they are.
template <algorithm alg> std::unique_ptr<step> extreme(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    need_equal_quantization(src, dst, "input and output");
    const std::vector<bool> is_reduced = named_dims(l, 1, src.dims.size());
    need_output_dims(l, reduced_dims(l, src.dims, is_reduced));
    const memory::desc src_md = dense_desc(src);
    memory::dims kept = src_md.dims();
    for (std::size_t i = 0; i < is_reduced.size(); i++)
        if (is_reduced[i])
            kept[i] = 1;
    if (kept == src_md.dims()) {
        auto result = std::make_unique<primitive_step>();
        add_copy(*result, l.input_buffer(0), l.output_buffer(src_md));
        return result;
    }
    const memory::desc dst_md(kept, dst.type, memory::dims());
    return one_step(reduction::primitive_desc({alg, src_md, dst_md, 0.f, 0.f}, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0)}, {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

using namespace row_words;

constexpr row tflite_reductions_rows[] = {
    row("MEAN", 2, scaled_sum<true>, tflite_shape::reduce, rows::reduce),
    row("REDUCE_MAX", 2, extreme<algorithm::reduction_max>, tflite_shape::reduce, rows::reduce),
    row("REDUCE_MIN", 2, extreme<algorithm::reduction_min>, tflite_shape::reduce, rows::reduce),
    row("SUM", 2, scaled_sum<false>, tflite_shape::reduce, rows::reduce),
};

} // namespace

operator_rows tflite_reductions_operators() { return tflite_reductions_rows; }

} // namespace octet::model
