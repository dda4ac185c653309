// SimplifiedLayerNormalization, which the standard has as RMSNormalization: rows over the root of the mean of their
// squares, as ONNX Runtime sums these. Also norms whose scale or shift is no row of numbers, which it computes in
// double precision.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "loops/normalization.hpp"
#include "network/graph/element_map.hpp"
#include "network/graph/index_walk.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

class rms_normalization_step final : public loop_step {
public:
    rms_normalization_step(const lowering &l, dim_t size, float epsilon)
        : src_(l.input_buffer(0)), scale_(l.input_buffer(1)), dst_(l.output_buffer(0)), size_(size),
          rows_(element_count(l.input(0).dims) / size), epsilon_(epsilon) {}

    void run(const stream &, const run_memory &m) const override {
        loop_.run(m.at<float>(src_), m.at<float>(scale_), epsilon_, rows_, size_, m.at<float>(dst_));
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(rows_) + " rows of " + std::to_string(size_);
    }

private:
    buffer src_, scale_, dst_;
    dim_t size_, rows_;
    float epsilon_;
    loops::rms_normalization loop_;
};

/// A scale or a shift that broadcasts to the source.
struct spread_operand {
    buffer data;
    loops::spread_numbers numbers;
};

spread_operand operand_of(const lowering &l, std::size_t input, std::size_t axis) {
    const memory::dims &x = l.input(0).dims;
    const memory::dims strides = broadcast_strides(l.input(input, {data_type::f32}).dims, x);
    const auto offsets = [&](std::size_t first, std::size_t last) {
        const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(last);
        std::vector<dim_t> all;
        for_each_offset({x.begin() + from, x.begin() + to}, {strides.begin() + from, strides.begin() + to},
                        [&](dim_t offset) { all.push_back(offset); });
        return all;
    };
    const bool are_repeated =
        std::all_of(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(axis),
                    [](dim_t stride) { return stride == 0; });
    return {l.input_buffer(input),
            {are_repeated ? std::vector<dim_t>() : offsets(0, axis), offsets(axis, x.size())}};
}

/// In double precision.
class double_normalization_step final : public loop_step {
public:
    double_normalization_step(const lowering &l, spread_operand scale, std::optional<spread_operand> shift,
                              float epsilon, bool is_simplified)
        : src_(l.input_buffer(0)), scale_(scale.data), dst_(l.output_buffer(0)),
          size_(static_cast<dim_t>(scale.numbers.elements.size())),
          rows_(element_count(l.input(0).dims) / std::max<dim_t>(size_, 1)) {
        loop_.scale = std::move(scale.numbers);
        if (shift) {
            shift_ = shift->data;
            loop_.shift = std::move(shift->numbers);
        }
        loop_.epsilon = epsilon;
        loop_.has_mean = !is_simplified;
    }

    void run(const stream &, const run_memory &m) const override {
        loop_.run(m.at<float>(src_), m.at<float>(scale_), shift_ ? m.at<float>(*shift_) : nullptr, rows_,
                  m.at<float>(dst_));
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(rows_) + " rows of " + std::to_string(size_) +
               " with a scale of other dimensions";
    }

private:
    buffer src_, scale_, dst_;
    std::optional<buffer> shift_;
    dim_t size_, rows_;
    loops::double_normalization loop_;
};

} // namespace

std::unique_ptr<step> make_spread_normalization(const lowering &l, float epsilon, bool is_simplified) {
    const auto axis = static_cast<std::size_t>(normalized_axis(l));
    spread_operand scale = operand_of(l, 1, axis);
    std::optional<spread_operand> shift;
    if (!is_simplified && l.has_input(2))
        shift = operand_of(l, 2, axis);
    if (scale.numbers.is_row() && (!shift || shift->numbers.is_row()))
        return nullptr;
    return std::make_unique<double_normalization_step>(l, std::move(scale), std::move(shift), epsilon,
                                                       is_simplified);
}

namespace {

std::unique_ptr<step> lower_simplified_layer_normalization(const lowering &l) {
    need_only_outputs(l, {});
    const dim_t size = normalized_rows(l).dims().back();
    const float epsilon = l.real("epsilon", 1e-5f);
    if (auto spread = make_spread_normalization(l, epsilon, true))
        return spread;
    return std::make_unique<rms_normalization_step>(l, size, epsilon);
}

using namespace row_words;

constexpr row onnx_rms_normalization_rows[] = {
    row("RMSNormalization", 2, lower_simplified_layer_normalization, shape::same, rows::inner_axis_or_last)
        .sizes(flow::first),
    row("SimplifiedLayerNormalization", 2, lower_simplified_layer_normalization, shape::layer_normalization,
        rows::inner_axis_or_last)
        .sizes(flow::first),
};

} // namespace

operator_rows onnx_rms_normalization_operators() { return onnx_rms_normalization_rows; }

} // namespace octet::model
