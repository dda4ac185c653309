// TFLite's operators on single codes: pooling, MEAN, SOFTMAX, QUANTIZE, DEQUANTIZE.

#include <algorithm>
#include <cmath>

#include "network/lower/tflite.hpp"

namespace octet::model {
namespace {

constexpr requantization_rule tflite_rule = requantization_rule::tflite_2step;

fixed_point_multiplier fixed_point(double real) { return from_double(tflite_rule, real); }

/// A larger window can only be a mistake or an attack: its work does not show in the size of any tensor.
constexpr dim_t max_padded_window = 4096;

window make_pool_window(const lowering &l, char axis, dim_t size) {
    const dim_t kernel = l.integer(std::string("filter_") + axis);
    if (kernel > std::max(size, max_padded_window))
        refuse("a window of " + std::to_string(kernel) + " elements over " + std::to_string(size) +
               " is not supported");
    return make_window(l, axis, size, kernel);
}

std::unique_ptr<step> pooling(const lowering &l, algorithm alg) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output();
    need_rank(src, "input 0", 4);
    need_equal_quantization(src, dst, "input and output");
    const window h = make_pool_window(l, 'h', src.dims[1]), w = make_pool_window(l, 'w', src.dims[2]);
    need_output_dims(l, {src.dims[0], h.positions, w.positions, src.dims[3]});

    primitive_attr attr;
    if (alg != algorithm::pooling_max)
        attr.set_requantization(tflite_rule);
    append_clip(attr, activation_interval(l.text("activation", "NONE"), dst), 0); // raw codes, no zero points
    const pooling_forward::desc d(prop_kind::forward_inference, alg, nhwc_desc(src), nhwc_desc(dst),
                                  {h.stride, w.stride}, {h.kernel, w.kernel}, {h.padding_l, w.padding_l},
                                  {h.padding_r, w.padding_r});
    return one_step(pooling_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, nhwc_desc(src))},
                     {OCTET_ARG_DST, l.output_buffer(nhwc_desc(dst))}});
}

/// Which dimensions MEAN reduces.
std::vector<bool> reduced_dims(const lowering &l, std::size_t rank) {
    std::vector<bool> reduced(rank, false);
    for (std::int64_t axis : l.constant_integers(1)) {
        if (axis < 0)
            axis += static_cast<std::int64_t>(rank);
        if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
            refuse("an axis is outside the " + std::to_string(rank) + " dimensions of the input");
        reduced[static_cast<std::size_t>(axis)] = true;
    }
    return reduced;
}

/// A mean over any axes as a pooling with one window: kept dimensions are {N, C}, reduced ones spatial.
/// Neighbours of one kind in a row-major tensor are one dimension, so few are left.
struct reduction {
    struct dim {
        dim_t size, stride;
    };
    std::vector<dim> kept, reduced; // outermost first

    reduction(const memory::dims &dims, const std::vector<bool> &is_reduced) {
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

memory::dims mean_output_dims(const lowering &l, const memory::dims &src, const std::vector<bool> &reduced) {
    const bool keeps_dims = l.integer("keep_dims", 0) != 0;
    memory::dims dims;
    for (std::size_t i = 0; i < src.size(); i++)
        if (!reduced[i])
            dims.push_back(src[i]);
        else if (keeps_dims)
            dims.push_back(1);
    return dims;
}

void need_softmax_output(const tensor &dst) {
    const linear_codes q = per_tensor(dst, "the output");
    const bool is_s16 = dst.type == data_type::s16, is_u8 = dst.type == data_type::u8;
    const float scale = is_s16 ? 1.f / 65536 : 1.f / 256;
    const std::int32_t zero_point = is_s16 ? -32768 : is_u8 ? 0 : -128;
    // s16 writers also use 1 / 65535; TFLite allows a thousandth.
    if (std::abs(q.scale - scale) > 0.001f * scale || q.zero_point != zero_point)
        refuse("the output has scale " + std::to_string(q.scale) + " and zero point " +
               std::to_string(q.zero_point) + "; softmax to " + type_text(dst) + " has 1/" +
               (is_s16 ? "65536" : "256") + " and " + std::to_string(zero_point));
}

std::unique_ptr<step> reorder_step(const lowering &l, const primitive_attr &attr) {
    need_output_dims(l, l.input(0).dims);
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    return one_step(reorder_desc(src, dst, attr), {{OCTET_ARG_FROM, src}, {OCTET_ARG_TO, dst}});
}

} // namespace

std::unique_ptr<step> lower_average_pool_2d(const lowering &l) {
    return pooling(l, algorithm::pooling_avg_exclude_padding);
}
std::unique_ptr<step> lower_max_pool_2d(const lowering &l) { return pooling(l, algorithm::pooling_max); }

std::unique_ptr<step> lower_mean(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    const linear_codes x = per_tensor(src, "input 0"), y = per_tensor(dst, "the output");
    const std::vector<bool> is_reduced = reduced_dims(l, src.dims.size());
    need_output_dims(l, mean_output_dims(l, src.dims, is_reduced));
    const reduction r(src.dims, is_reduced);
    const memory::dims window = r.window(), ones(window.size(), 1), zeros(window.size(), 0);

    primitive_attr attr;
    const auto factor = fixed_point(static_cast<double>(x.scale) / static_cast<double>(y.scale));
    attr.set_requantization(tflite_rule, 0, {divide_by_count(factor, element_count(window))});
    set_zero_point(attr, OCTET_ARG_SRC, x.zero_point);
    set_zero_point(attr, OCTET_ARG_DST, y.zero_point);
    const memory::desc src_md = r.src_desc(src.type), dst_md = r.dst_desc(dst.type);
    const pooling_forward::desc d(prop_kind::forward_inference, algorithm::pooling_avg_exclude_padding,
                                  src_md, dst_md, ones, window, zeros, zeros);
    return one_step(pooling_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, src_md)}, {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

std::unique_ptr<step> lower_softmax(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8});
    const tensor &dst = l.output({data_type::s8, data_type::u8, data_type::s16});
    need_output_dims(l, src.dims);
    need_softmax_output(dst);
    const double beta = l.real("beta"), scale = per_tensor(src, "input 0").scale;
    if (!(beta > 0 && std::isfinite(beta)))
        refuse("beta is " + std::to_string(beta) + ", allowed are positive numbers");
    primitive_attr attr;
    attr.set_requantization(tflite_rule);
    attr.set_input_multiplier(OCTET_ARG_SRC, fixed_point(std::min(beta * scale * (1 << 26), 2147483647.0)));
    const memory::desc src_md = dense_desc(src), dst_md = dense_desc(dst);
    const softmax_forward::desc d(prop_kind::forward_inference, src_md, dst_md, src_md.get_ndims() - 1);
    return one_step(softmax_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, src_md)}, {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

std::unique_ptr<step> lower_quantize(const lowering &l) {
    const tensor &src =
        l.input(0, {data_type::f32, data_type::s8, data_type::u8, data_type::s16, data_type::s32});
    const linear_codes y =
        per_tensor(l.output({data_type::s8, data_type::u8, data_type::s16, data_type::s32}), "the output");
    primitive_attr attr;
    if (src.type == data_type::f32) {
        attr.set_requantization(tflite_rule);
        attr.set_scales(OCTET_ARG_DST, 0, {y.scale});
    } else {
        const linear_codes x = per_tensor(src, "input 0");
        const double ratio = static_cast<double>(x.scale) / static_cast<double>(y.scale);
        attr.set_requantization(tflite_rule, 0, {fixed_point(ratio)});
        set_zero_point(attr, OCTET_ARG_SRC, x.zero_point);
    }
    set_zero_point(attr, OCTET_ARG_DST, y.zero_point);
    return reorder_step(l, attr);
}

std::unique_ptr<step> lower_dequantize(const lowering &l) {
    const linear_codes x = per_tensor(l.input(0, {data_type::s8, data_type::u8, data_type::s16}), "input 0");
    l.output({data_type::f32});
    primitive_attr attr;
    attr.set_output_scales(0, {x.scale});
    set_zero_point(attr, OCTET_ARG_SRC, x.zero_point);
    return reorder_step(l, attr);
}

} // namespace octet::model
