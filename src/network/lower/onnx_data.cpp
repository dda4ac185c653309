// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: reorders with rule ort_f32.

#include <algorithm>
#include <cmath>

#include "network/lower/onnx.hpp"

namespace octet::model {
namespace {

/// Mask of the dimension that per-axis scales belong to.
int axis_mask(const lowering &l, const tensor &x) {
    const auto rank = static_cast<std::int64_t>(x.dims.size());
    const std::int64_t axis = l.integer("axis", 1);
    if (axis < -rank || axis >= rank)
        refuse("attribute 'axis' is " + std::to_string(axis) + ", allowed: " + std::to_string(-rank) +
               " to " + std::to_string(rank - 1));
    return 1 << (axis < 0 ? axis + rank : axis);
}

/// A reorder whose 8-bit side (`arg`) has the scales and zero points of inputs 1 and 2.
std::unique_ptr<step> linear_step(const lowering &l, int arg) {
    const std::vector<float> scales = constant_scales(l, 1);
    const std::vector<std::int32_t> zero_points = constant_zero_points(l, 2);
    const int mask = scales.size() == 1 && zero_points.size() == 1 ? 0 : axis_mask(l, l.input(0));
    primitive_attr attr;
    attr.set_requantization(requantization_rule::ort_f32);
    attr.set_scales(arg, scales.size() == 1 ? 0 : mask, scales);
    set_zero_points(attr, arg, mask, zero_points);
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    auto result = std::make_unique<primitive_step>();
    result->add(reorder_desc(src, dst, attr), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
    return result;
}

/// Finds scale and zero point of what it is given, then quantizes with them. The extremes of rows are found first, by
/// reductions: whatever the order, they are the same.
class dynamic_quantize_step final : public step {
public:
    dynamic_quantize_step(const lowering &l, const buffer &src, const buffer &dst, const buffer &scale,
                          const buffer &zero_point)
        : scale_(scale), zero_point_u8_(zero_point),
          zero_point_s32_(l.scratch(memory::desc({1}, data_type::s32, format_tag::x))) {
        const memory::dims dims = src.get_desc().dims();
        rows_ = element_count({dims.begin(), dims.end() - 1});
        const memory::desc matrix({rows_, dims.back()}, data_type::f32, format_tag::nc),
            column({rows_, 1}, data_type::f32, format_tag::nc);
        lowest_ = l.scratch(column);
        highest_ = l.scratch(column);
        for (const bool is_low : {true, false})
            extremes_.add(
                reduction::primitive_desc(
                    {is_low ? algorithm::reduction_min : algorithm::reduction_max, matrix, column, 0.f, 0.f},
                    l.get_engine()),
                {{OCTET_ARG_SRC, src.seen_through(matrix)}, {OCTET_ARG_DST, is_low ? lowest_ : highest_}});
        primitive_attr attr;
        attr.set_requantization(requantization_rule::ort_f32);
        attr.set_scales_mask(OCTET_ARG_DST, 0);
        attr.set_zero_points_mask(OCTET_ARG_DST, 0);
        quantize_.add(reorder_desc(src, dst, attr),
                      {{OCTET_ARG_SRC, src},
                       {OCTET_ARG_DST, dst},
                       {OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST, scale_},
                       {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST, zero_point_s32_}});
    }

    void make_primitives() override {
        extremes_.make_primitives();
        quantize_.make_primitives();
    }

    void run(const stream &s, const run_memory &m) const override {
        extremes_.run(s, m);
        const float *low = m.at<float>(lowest_), *high = m.at<float>(highest_);
        const dynamic_quantization q = dynamic_quantization_of(*std::min_element(low, low + rows_),
                                                               *std::max_element(high, high + rows_));
        *m.at<float>(scale_) = q.scale;
        *m.at<std::uint8_t>(zero_point_u8_) = static_cast<std::uint8_t>(q.zero_point);
        *m.at<std::int32_t>(zero_point_s32_) = q.zero_point;
        quantize_.run(s, m);
    }

    std::string implementation() const override {
        return extremes_.implementation() + " + " + quantize_.implementation();
    }
    std::string explain() const override { return extremes_.explain() + "\n" + quantize_.explain(); }

private:
    std::int64_t rows_ = 0;
    buffer lowest_, highest_, scale_, zero_point_u8_, zero_point_s32_;
    primitive_step extremes_, quantize_;
};

} // namespace

std::unique_ptr<step> lower_quantize_linear(const lowering &l) {
    l.input(0, {data_type::f32});
    l.output({data_type::u8, data_type::s8});
    return linear_step(l, OCTET_ARG_DST);
}

std::unique_ptr<step> lower_dequantize_linear(const lowering &l) {
    l.input(0, {data_type::u8, data_type::s8, data_type::s32});
    l.output({data_type::f32});
    return linear_step(l, OCTET_ARG_SRC);
}

std::unique_ptr<step> lower_dynamic_quantize_linear(const lowering &l) {
    constexpr std::size_t y = 0, y_scale = 1, y_zero_point = 2;
    l.input(0, {data_type::f32});
    l.output(y, {data_type::u8});
    const tensor &scale = l.output(y_scale, {data_type::f32}),
                 &zero_point = l.output(y_zero_point, {data_type::u8});
    if (element_count(scale.dims) != 1 || element_count(zero_point.dims) != 1)
        refuse("scale " + to_text(scale.dims) + " and zero point " + to_text(zero_point.dims) +
               " must be scalars");
    return std::make_unique<dynamic_quantize_step>(l, l.input_buffer(0), l.output_buffer(y),
                                                   l.output_buffer(y_scale), l.output_buffer(y_zero_point));
}

} // namespace octet::model
