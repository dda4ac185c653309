// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: reorders with rule ort_f32, and loops where blocks have scales of their own.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include <immintrin.h>

#include "loops/levels.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/choosing.hpp"
#include "network/shapes/node_rows.hpp"

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
    attr.set_requantization(onnxruntime_rule);
    attr.set_scales(arg, scales.size() == 1 ? 0 : mask, scales);
    set_zero_points(attr, arg, mask, zero_points);
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    auto result = std::make_unique<primitive_step>();
    result->add(reorder_desc(src, dst, attr), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
    return result;
}

/// Scales, and zero points or none, for blocks of elements along an axis; any of them may be computed.
template <typename X, typename Y, typename Z> class block_step final : public loop_step {
public:
    block_step(const lowering &l, std::size_t axis, dim_t block)
        : src_(l.input_buffer(0)), scale_(l.input_buffer(1)), dst_(l.output_buffer()), block_(block) {
        if (l.has_input(2))
            zero_point_ = l.input_buffer(2);
        const memory::dims &x = l.input(0).dims;
        const auto at = x.begin() + static_cast<std::ptrdiff_t>(axis);
        outer_ = element_count({x.begin(), at});
        size_ = *at;
        inner_ = element_count({at + 1, x.end()});
    }

    void run(const stream &, const run_memory &m) const override {
        const X *x = m.at<X>(src_);
        Y *y = m.at<Y>(dst_);
        const float *scale = m.at<float>(scale_);
        const Z *zero_point = zero_point_ ? m.at<Z>(*zero_point_) : nullptr;
        const dim_t blocks = (size_ + block_ - 1) / block_;
        for (dim_t o = 0; o < outer_; o++)
            for (dim_t k = 0; k < size_; k++)
                for (dim_t i = 0; i < inner_; i++) {
                    const dim_t parameter = (o * blocks + k / block_) * inner_ + i;
                    *y++ = convert(*x++, scale[parameter], zero_point ? zero_point[parameter] : Z{0});
                }
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(outer_ * size_ * inner_) + " elements";
    }

private:
    Y convert(X x, float scale, Z zero_point) const {
        if constexpr (std::is_same_v<Y, float>)
            return static_cast<float>(std::int64_t{x} - zero_point) * scale;
        else {
            constexpr std::int32_t low = std::is_signed_v<Y> ? -128 : 0, high = low + 255;
            const float real = std::nearbyint(x / scale);
            // MLAS limits floats, others the integers that x86 makes of them; NaN is the lowest.
            if (inner_ == 1) {
                const float code = real + static_cast<float>(zero_point);
                return static_cast<Y>(code >= high ? high
                                      : code > low ? static_cast<std::int32_t>(code)
                                                   : low);
            }
            const std::int32_t integer = std::abs(real) < 0x1p31f ? static_cast<std::int32_t>(real)
                                                                  : std::numeric_limits<std::int32_t>::min();
            const auto code = static_cast<std::int32_t>(static_cast<std::uint32_t>(integer) +
                                                        static_cast<std::uint32_t>(zero_point));
            return static_cast<Y>(std::clamp(code, low, high));
        }
    }

    buffer src_, scale_, dst_;
    std::optional<buffer> zero_point_;
    dim_t block_, outer_ = 0, size_ = 0, inner_ = 0;
};

bool has_blocks(const lowering &l) { return l.integer("block_size", 0) != 0; }

/// X, Y and Z are the types of the source, of the output and of zero points.
template <typename X, typename Y, typename Z>
std::unique_ptr<step> block_loop(const lowering &l, data_type codes) {
    const memory::dims &x = l.input(0).dims, &scales = l.input(1, {data_type::f32}).dims;
    const std::size_t axis = axis_among(l.integer("axis", 1), x.size());
    const std::int64_t block = l.integer("block_size");
    memory::dims expected = x;
    expected[axis] = block < 1 ? 0 : x[axis] / block + (x[axis] % block != 0);
    if (block < 1 || scales != expected || l.output().dims != x)
        refuse("attribute 'block_size' is " + std::to_string(block) + " and input 1 has dimensions " +
               to_text(scales) + ", allowed are sizes from 1 on and one scale for each block of " +
               to_text(x));
    if (l.has_input(2) && l.input(2, {codes}).dims != scales)
        refuse("input 2 has dimensions " + to_text(l.input(2).dims) + ", allowed are those of the scales, " +
               to_text(scales));
    return std::make_unique<block_step<X, Y, Z>>(l, axis, block);
}

struct extremes {
    float low = std::numeric_limits<float>::infinity(), high = -std::numeric_limits<float>::infinity();

    // MLAS's instructions give the second operand where one is NaN: one number behind a NaN makes it forgotten, and all that
    // was before it.
    void include(float x) {
        low = low < x ? low : x;
        high = high > x ? high : x;
    }
    void include(const extremes &e) {
        low = low < e.low ? low : e.low;
        high = high > e.high ? high : e.high;
    }
    void include_number(float x) {
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
};

/// Extremes of what may be or have NaN, in MLAS's order for AVX: four times eight lanes, joined by pairs; eight lanes, joined by
/// halves; what is left, without NaN.
extremes extremes_with_nan(const float *x, dim_t count) {
    constexpr std::size_t width = 8, vectors = 4;
    constexpr auto step = static_cast<dim_t>(width), block = static_cast<dim_t>(vectors * width);
    std::array<extremes, vectors * width> lanes;
    dim_t i = 0;
    for (; count - i >= block; i += block)
        for (std::size_t k = 0; k < lanes.size(); k++)
            lanes[k].include(x[i + static_cast<dim_t>(k)]);
    if (count >= block)
        for (const auto &[to, from] : {std::pair{0, 1}, {2, 3}, {0, 2}})
            for (std::size_t k = 0; k < width; k++)
                lanes[static_cast<std::size_t>(to) * width + k].include(
                    lanes[static_cast<std::size_t>(from) * width + k]);
    for (; count - i >= step; i += step)
        for (std::size_t k = 0; k < width; k++)
            lanes[k].include(x[i + static_cast<dim_t>(k)]);
    for (std::size_t half = width / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; k++)
            lanes[k].include(lanes[k + half]);
    extremes all = lanes[0];
    for (; i < count; i++)
        all.include_number(x[i]);
    return all;
}

/// Extremes in any order, which are those of numbers whatever the order; and whether there is a NaN.
struct scan {
    extremes of = {};
    bool has_nan = false;
};

scan scan_anywhere(const float *x, dim_t count) {
    scan s;
    for (dim_t i = 0; i < count; i++) {
        s.of.include(x[i]);
        s.has_nan |= std::isnan(x[i]);
    }
    return s;
}

/// Four vectors at a time, so that none waits for the one before.
__attribute__((target("avx2"))) scan scan_with_avx2(const float *x, dim_t count) {
    constexpr dim_t width = 8, chains = 4, block = chains * width;
    const extremes none;
    __m256 low[chains], high[chains], unordered = _mm256_setzero_ps();
    std::fill(low, low + chains, _mm256_set1_ps(none.low));
    std::fill(high, high + chains, _mm256_set1_ps(none.high));
    dim_t i = 0;
    for (; count - i >= block; i += block) {
        __m256 v[chains];
#pragma GCC unroll 4
        for (dim_t c = 0; c < chains; c++) {
            v[c] = _mm256_loadu_ps(x + i + c * width);
            low[c] = _mm256_min_ps(low[c], v[c]);
            high[c] = _mm256_max_ps(high[c], v[c]);
        }
#pragma GCC unroll 2
        for (dim_t c = 0; c < chains; c += 2) // true where one of two is NaN
            unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(v[c], v[c + 1], _CMP_UNORD_Q));
    }
    scan s = scan_anywhere(x + i, count - i);
    float lows[block], highs[block];
    for (dim_t c = 0; c < chains; c++) {
        _mm256_storeu_ps(lows + c * width, low[c]);
        _mm256_storeu_ps(highs + c * width, high[c]);
    }
    for (dim_t k = 0; k < block; k++)
        s.of.include({lows[k], highs[k]});
    s.has_nan |= _mm256_movemask_ps(unordered) != 0;
    return s;
}

/// Finds scale and zero point of what it is given, then quantizes with them.
class dynamic_quantize_step final : public step {
public:
    dynamic_quantize_step(const lowering &l, const buffer &src, const buffer &dst, const buffer &scale,
                          const buffer &zero_point)
        : count_(element_count(src.get_desc().dims())), src_(src), scale_(scale), zero_point_u8_(zero_point),
          zero_point_s32_(l.scratch(memory::desc({1}, data_type::s32, format_tag::x))) {
        primitive_attr attr;
        attr.set_requantization(onnxruntime_rule);
        attr.set_scales_mask(OCTET_ARG_DST, 0);
        attr.set_zero_points_mask(OCTET_ARG_DST, 0);
        quantize_.add(reorder_desc(src, dst, attr),
                      {{OCTET_ARG_SRC, src},
                       {OCTET_ARG_DST, dst},
                       {OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST, scale_},
                       {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST, zero_point_s32_}});
    }

    void make_primitives() override { quantize_.make_primitives(); }

    void run(const stream &s, const run_memory &m) const override {
        const float *const x = m.at<float>(src_);
        const scan found = scan_(x, count_);
        const extremes e = found.has_nan ? extremes_with_nan(x, count_) : found.of;
        const dynamic_quantization q = dynamic_quantization_of(std::min(e.low, 0.f), std::max(e.high, 0.f));
        *m.at<float>(scale_) = q.scale;
        *m.at<std::uint8_t>(zero_point_u8_) = static_cast<std::uint8_t>(q.zero_point);
        *m.at<std::int32_t>(zero_point_s32_) = q.zero_point;
        quantize_.run(s, m);
    }

    std::string implementation() const override { return "loop + " + quantize_.implementation(); }
    std::string explain() const override {
        return "the extremes of " + std::to_string(count_) + " elements, by a plain loop\n" +
               quantize_.explain();
    }

private:
    std::int64_t count_;
    buffer src_, scale_, zero_point_u8_, zero_point_s32_;
    primitive_step quantize_;
    /// Both find the same.
    using scan_loop = scan (*)(const float *, dim_t);
    const scan_loop scan_ =
        loops::fastest<scan_loop>({{cpu_isa::ref, scan_anywhere}, {cpu_isa::avx2, scan_with_avx2}});
};

std::unique_ptr<step> lower_quantize_linear(const lowering &l) {
    l.input(0, {data_type::f32});
    const data_type codes = l.output({data_type::u8, data_type::s8}).type;
    if (!has_blocks(l))
        return linear_step(l, OCTET_ARG_DST);
    if (codes == data_type::u8)
        return block_loop<float, std::uint8_t, std::uint8_t>(l, codes);
    return block_loop<float, std::int8_t, std::int8_t>(l, codes);
}

std::unique_ptr<step> lower_dequantize_linear(const lowering &l) {
    const data_type codes = l.input(0, {data_type::u8, data_type::s8, data_type::s32}).type;
    l.output({data_type::f32});
    if (!has_blocks(l))
        return linear_step(l, OCTET_ARG_SRC);
    if (codes == data_type::u8)
        return block_loop<std::uint8_t, float, std::uint8_t>(l, codes);
    if (codes == data_type::s8)
        return block_loop<std::int8_t, float, std::int8_t>(l, codes);
    return block_loop<std::int32_t, float, std::int32_t>(l, codes);
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

using namespace row_words;

constexpr row onnx_data_rows[] = {
    row("DequantizeLinear", {2, 3}, lower_dequantize_linear, shape::dequantize, rows::first_input)
        .in(domains::both)
        .scales(0, 1)
        .layouts(converts)
        .sizes(flow::first)
        .transposed(passing_kind::quantization),
    row("DynamicQuantizeLinear", 1, lower_dynamic_quantize_linear, shape::dynamic_quantize, rows::never),
    row("QuantizeLinear", {2, 3}, lower_quantize_linear, shape::quantize, rows::first_input)
        .in(domains::both)
        .scales(0, 0, 1)
        .layouts(layout_support::chooses)
        .sizes(flow::first)
        .transposed(passing_kind::quantization),
};

} // namespace

operator_rows onnx_data_operators() { return onnx_data_rows; }

} // namespace octet::model
