// TFLite's operators that reduce dimensions: MEAN, SUM, REDUCE_MAX, REDUCE_MIN.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "loops/parallel.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/groups.hpp"
#include "network/tflite/ops/integers.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

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

/// XNNPACK's SUM and MEAN: rne(S·k + (z_y − f32(n·z_x)·k)) for the sum S of n codes as they are, with k =
/// f32(s_x / s_y) and for MEAN k = f32(f32(s_x / s_y)·f32(1 / n)). Contracted, each product and the sum
/// behind it are one operation.
primitive_attr xnnpack_sum(const linear_codes &x, const linear_codes &y, std::int64_t count, bool divides,
                           bool is_contracted) {
    const auto n = static_cast<float>(count), zero_point = static_cast<float>(y.zero_point);
    const float ratio = x.scale / y.scale, factor = divides ? ratio * (1.f / n) : ratio;
    const float zero_points = n * static_cast<float>(x.zero_point);
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule); // without scales one rounding
    if (!is_contracted)
        attr.set_output_scales(0, {factor});
    post_ops ops;
    ops.append_eltwise(1.f, algorithm::eltwise_linear, is_contracted ? factor : 1.f,
                       product_plus(-zero_points, factor, zero_point, is_contracted));
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
    const requantization_rule rule = elementwise_rule(l);
    const primitive_attr attr = is_xnnpack(rule) ? xnnpack_sum(x, y, count, divides, contracts(rule))
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

/// LiteRT's SUM: rha(S·k + b) + z_y in f32, S the sum of codes as they are; contracted, S·k + b is one
/// operation.
class litert_sum final : public loop_step {
public:
    litert_sum(buffer src, buffer dst, const merged_dims &dims, float k, float b, bool is_contracted,
               std::int32_t zero_point)
        : src_(std::move(src)), dst_(std::move(dst)), dims_(dims), k_(k), b_(b),
          is_contracted_(is_contracted), zero_point_(zero_point) {}

    void run(const stream &, const run_memory &m) const override {
        if (src_.get_desc().data_type() == data_type::s8)
            sums<std::int8_t>(m);
        else
            sums<std::uint8_t>(m);
    }
    std::string explain() const override { return "a plain loop over sums"; }

private:
    template <typename T> void sums(const run_memory &m) const {
        const auto *x = m.at<T>(src_);
        auto *y = m.at<T>(dst_);
        const merged_dims::dim &outer = dims_.kept[0], &inner = dims_.kept[1];
        loops::parallel_for(
            outer.size * inner.size, element_count(dims_.window()), [&](dim_t begin, dim_t end) {
                for (dim_t n = begin; n < end; n++)
                    y[n] = code<T>(sum(x + n / inner.size * outer.stride + n % inner.size * inner.stride, 0));
            });
    }

    template <typename T> std::int32_t sum(const T *x, std::size_t level) const {
        if (level == dims_.reduced.size())
            return *x;
        std::uint32_t total = 0; // of 32 bits, which wrap
        for (dim_t i = 0; i < dims_.reduced[level].size; i++)
            total += static_cast<std::uint32_t>(sum(x + i * dims_.reduced[level].stride, level + 1));
        return static_cast<std::int32_t>(total);
    }

    template <typename T> T code(std::int32_t total) const {
        const float real = std::round(product_plus(static_cast<float>(total), k_, b_, is_contracted_));
        return saturated<T>(static_cast<std::int64_t>(std::clamp(real, -1024.f, 1024.f)) + zero_point_);
    }

    buffer src_, dst_;
    merged_dims dims_;
    float k_, b_;
    bool is_contracted_;
    std::int32_t zero_point_;
};

} // namespace

std::unique_ptr<step> lower_litert_sum(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    const linear_codes x = per_tensor(src, "input 0"), y = per_tensor(dst, "the output");
    const std::vector<bool> is_reduced = named_dims(l, 1, src.dims.size());
    need_output_dims(l, reduced_dims(l, src.dims, is_reduced));
    const merged_dims dims(src.dims, is_reduced);
    const float k = x.scale / y.scale,
                b = static_cast<float>(-x.zero_point) * k * static_cast<float>(element_count(dims.window()));
    return std::make_unique<litert_sum>(l.input_buffer(0, dense_desc(src)), l.output_buffer(dense_desc(dst)),
                                        dims, k, b, contracts(elementwise_rule(l)), y.zero_point);
}

/// LiteRT's MEAN over height and width: M(S) + z, S the sum of codes as they are, with z = z_y − trunc(v ±
/// 0.5) for v = f32(f32(z_x·s_x) / s_y); ± has the sign of v.
std::unique_ptr<step> lower_litert_mean(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    const linear_codes x = per_tensor(src, "input 0"), y = per_tensor(dst, "the output");
    need_output_dims(l, {src.dims[0], 1, 1, src.dims[3]});
    const float zero_point = static_cast<float>(x.zero_point) * x.scale / y.scale,
                rounded = zero_point > 0 ? zero_point + 0.5f : zero_point - 0.5f, // once it is cut off
        count = static_cast<float>(src.dims[1] * src.dims[2]);
    const auto offset = y.zero_point - static_cast<std::int32_t>(std::clamp(rounded, -0x1p30f, 0x1p30f));
    const double factor = static_cast<double>(x.scale / (count * y.scale));
    const memory::dims window{src.dims[1], src.dims[2]}, ones{1, 1}, zeros{0, 0};
    const pooling_forward::desc d(prop_kind::forward_inference, algorithm::pooling_avg_exclude_padding,
                                  nhwc_desc(src), nhwc_desc(dst), ones, window, zeros, zeros);
    return step_in_groups(l, nhwc_desc(dst), [&](primitive_step &s, const lowering &by, const auto &to) {
        primitive_attr attr;
        attr.set_requantization(elementwise_rule(by), 0, {from_double(elementwise_rule(by), factor)});
        set_zero_point(attr, OCTET_ARG_DST, offset);
        s.add(pooling_forward::primitive_desc(d, attr, l.get_engine()),
              {{OCTET_ARG_SRC, l.input_buffer(0, nhwc_desc(src))}, {OCTET_ARG_DST, to()}});
    });
}

namespace {

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
