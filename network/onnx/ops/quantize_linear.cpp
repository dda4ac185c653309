// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: reorders with rule ort_f32, and loops where
// blocks have scales of their own.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "loops/parallel.hpp"
#include "network/graph/codes.hpp"
#include "network/onnx/ops/dynamic_quantization.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/code_types.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/slice_gather_extreme.hpp"
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

/// Which elements have a scale of their own.
enum class scale_places { all, channel, block };

/// The range of a type of codes.
struct code_range {
    std::int32_t low, high;
};
code_range range_of_codes(data_type type) {
    const int bits = code_bits(type), low = is_signed_code(type) ? -(1 << (bits - 1)) : 0;
    return {low, low + (1 << bits) - 1};
}

/// Scales, and zero points or none, for blocks of elements along an axis, for its indices, or for all; any of them
/// may be computed. QuantizeLinear writes codes of a range.
template <typename X, typename Y, typename Z> class block_step final : public loop_step {
public:
    block_step(const lowering &l, std::size_t axis, dim_t block, scale_places places, code_range range)
        : places_(places), range_(range), src_(l.input_buffer(0)), scale_(l.input_buffer(1)),
          dst_(l.output_buffer()) {
        if (l.has_input(2))
            zero_point_ = l.input_buffer(2);
        const memory::dims &x = l.input(0).dims;
        if (!x.empty()) {
            const auto at = x.begin() + static_cast<std::ptrdiff_t>(axis);
            outer_ = element_count({x.begin(), at});
            size_ = *at;
            inner_ = element_count({at + 1, x.end()});
        }
        block_ = std::clamp<dim_t>(block, 1, std::max<dim_t>(size_, 1)); // a file may name any
    }

    void run(const stream &, const run_memory &m) const override {
        const X *x = m.at<X>(src_);
        Y *y = m.at<Y>(dst_);
        const float *scale = m.at<float>(scale_);
        const Z *zero_point = zero_point_ ? m.at<Z>(*zero_point_) : nullptr;
        const dim_t blocks = (size_ + block_ - 1) / block_, last = size_ - (blocks - 1) * block_;
        loops::parallel_for(outer_ * blocks, block_ * inner_ * 4, [&](dim_t begin, dim_t end) {
            for (dim_t b = begin; b < end; b++) {
                const dim_t o = b / blocks, k = b % blocks, rows = k + 1 == blocks ? last : block_;
                dim_t at = (o * size_ + k * block_) * inner_;
                for (dim_t r = 0; r < rows; r++)
                    for (dim_t i = 0; i < inner_; i++, at++) {
                        const dim_t s = places_ == scale_places::block     ? b * inner_ + i
                                        : places_ == scale_places::channel ? k
                                                                           : 0;
                        y[at] = convert(x[at], scale[s], zero_point ? zero_point[s] : Z{0});
                    }
            }
        });
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(outer_ * size_ * inner_) + " elements";
    }

private:
    Y convert(X x, float scale, Z zero_point) const {
        if constexpr (std::is_same_v<Y, float>)
            return static_cast<float>(std::int64_t{x} - zero_point) * scale;
        else {
            const auto [low, high] = range_;
            const float real = std::nearbyint(x / scale);
            // MLAS limits floats, others the integers that x86 makes of them; NaN is the lowest.
            if (inner_ == 1 || places_ != scale_places::block) {
                const float code = real + static_cast<float>(zero_point);
                return static_cast<Y>(code >= static_cast<float>(high) ? high
                                      : code > static_cast<float>(low) ? static_cast<std::int32_t>(code)
                                                                       : low);
            }
            const std::int32_t integer = std::abs(real) < 0x1p31f ? static_cast<std::int32_t>(real)
                                                                  : std::numeric_limits<std::int32_t>::min();
            const auto code = static_cast<std::int32_t>(static_cast<std::uint32_t>(integer) +
                                                        static_cast<std::uint32_t>(zero_point));
            return static_cast<Y>(std::clamp(code, low, high));
        }
    }

    scale_places places_;
    code_range range_;
    buffer src_, scale_, dst_;
    std::optional<buffer> zero_point_;
    dim_t block_ = 1, outer_ = 1, size_ = 1, inner_ = 1;
};

bool has_blocks(const lowering &l) { return l.integer("block_size", 0) != 0; }

/// X, Y and Z are the types of the source, of the output and of zero points.
template <typename X, typename Y, typename Z>
std::unique_ptr<step> block_loop(const lowering &l, data_type codes, code_range range = {}) {
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
    return std::make_unique<block_step<X, Y, Z>>(l, axis, block, scale_places::block, range);
}

/// Codes of a range of their own with one scale, or one for each index of an axis.
template <typename Y>
std::unique_ptr<step> channel_loop(const lowering &l, data_type codes, code_range range) {
    const memory::dims &x = l.input(0).dims, &scales = l.input(1, {data_type::f32}).dims;
    if (l.has_input(2) && l.input(2, {codes}).dims != scales)
        refuse("input 2 has dimensions " + to_text(l.input(2).dims) + ", allowed are those of the scales, " +
               to_text(scales));
    if (element_count(scales) == 1 || x.empty())
        return std::make_unique<block_step<float, Y, Y>>(l, 0, 1, scale_places::all, range);
    const std::size_t axis = axis_among(l.integer("axis", 1), x.size());
    if (scales != memory::dims{x[axis]})
        refuse("input 1 has dimensions " + to_text(scales) + ", allowed are one scale, or " +
               std::to_string(x[axis]));
    return std::make_unique<block_step<float, Y, Y>>(l, axis, 1, scale_places::channel, range);
}

std::unique_ptr<step> lower_quantize_linear(const lowering &l) {
    l.input(0, {data_type::f32});
    const data_type codes = l.output({data_type::u8, data_type::s8}).type;
    const data_type said =
        shape::code_type(l.integer("output_dtype", 0)); // of 4 or 2 bits: they have whole bytes here
    const bool is_narrow = elements_per_byte(said) > 1;
    const code_range range = range_of_codes(is_narrow ? said : codes);
    if (!has_blocks(l) && !is_narrow)
        return linear_step(l, OCTET_ARG_DST);
    if (codes == data_type::u8)
        return has_blocks(l) ? block_loop<float, std::uint8_t, std::uint8_t>(l, codes, range)
                             : channel_loop<std::uint8_t>(l, codes, range);
    return has_blocks(l) ? block_loop<float, std::int8_t, std::int8_t>(l, codes, range)
                         : channel_loop<std::int8_t>(l, codes, range);
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

constexpr row onnx_quantize_linear_rows[] = {
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

operator_rows onnx_quantize_linear_operators() { return onnx_quantize_linear_rows; }

} // namespace octet::model
