// SimplifiedLayerNormalization: rows over the root of the mean of their squares, as ONNX Runtime sums these. Also norms whose scale
// or shift is no row of numbers, which it computes in double precision.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "loops/levels.hpp"
#include "network/graph/element_map.hpp"
#include "network/graph/index_walk.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"
#include "octet/parallel_loop.hpp"

namespace octet::model {
namespace {

/// Eight lanes with fma, of them halves; then what is left over, of which the first four without fma if there are so many.
inline __attribute__((always_inline)) float sum_of_squares(const float *x, dim_t n) {
    float lanes[8] = {};
    dim_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (dim_t l = 0; l < 8; l++)
            lanes[l] = __builtin_fmaf(x[i + l], x[i + l], lanes[l]);
    float sum =
        ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    const dim_t fused_from = n - i >= 4 ? i + 4 : i;
    for (; i < n; i++)
        sum = i < fused_from ? sum + x[i] * x[i] : __builtin_fmaf(x[i], x[i], sum);
    return sum;
}

/// Short rows are added up in order, and divided rather than multiplied.
inline __attribute__((always_inline)) void normalize_row(const float *x, const float *scale, float epsilon,
                                                         dim_t n, float *y) {
    constexpr dim_t shortest_vectors = 16;
    if (n < shortest_vectors) {
        float sum = 0.f;
        for (dim_t i = 0; i < n; i++)
            sum += x[i] * x[i];
        const float deviation = std::sqrt(sum / static_cast<float>(n) + epsilon);
        for (dim_t i = 0; i < n; i++)
            y[i] = x[i] / deviation * scale[i];
        return;
    }
    const float factor = 1.f / std::sqrt(sum_of_squares(x, n) / static_cast<float>(n) + epsilon);
    for (dim_t i = 0; i < n; i++)
        y[i] = x[i] * factor * scale[i];
}

using row_normalization = void (*)(const float *, const float *, float, dim_t, float *);
void normalize_anywhere(const float *x, const float *scale, float epsilon, dim_t n, float *y) {
    normalize_row(x, scale, epsilon, n, y);
}
__attribute__((target("avx2,fma"))) void normalize_with_fma(const float *x, const float *scale, float epsilon,
                                                            dim_t n, float *y) {
    normalize_row(x, scale, epsilon, n, y);
}

class rms_normalization final : public loop_step {
public:
    rms_normalization(const lowering &l, dim_t size, float epsilon)
        : src_(l.input_buffer(0)), scale_(l.input_buffer(1)), dst_(l.output_buffer(0)), size_(size),
          rows_(element_count(l.input(0).dims) / size), epsilon_(epsilon) {}

    void run(const stream &, const run_memory &m) const override {
        const float *const x = m.at<float>(src_), *const scale = m.at<float>(scale_);
        float *const y = m.at<float>(dst_);
        constexpr dim_t worth = 1 << 15; // elements
        parallel_loop(rows_, worth / size_ + 1, [=](dim_t begin, dim_t end) {
            for (dim_t r = begin; r < end; r++)
                normalize_(x + r * size_, scale, epsilon_, size_, y + r * size_);
        });
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(rows_) + " rows of " + std::to_string(size_);
    }

private:
    buffer src_, scale_, dst_;
    dim_t size_, rows_;
    float epsilon_;
    row_normalization normalize_ = loops::fastest<row_normalization>(
        {{cpu_isa::ref, normalize_anywhere}, {cpu_isa::avx2, normalize_with_fma}});
};

/// Scale or shift of elements: offsets that add up, for each row, if they differ, and for each element of a row.
struct spread_operand {
    buffer data;
    std::vector<dim_t> rows, elements;

    double at(const float *values, dim_t row, dim_t i) const {
        const dim_t begin = rows.empty() ? 0 : rows[static_cast<std::size_t>(row)];
        return static_cast<double>(values[begin + elements[static_cast<std::size_t>(i)]]);
    }
    /// One number for each element of a row, the same for all rows.
    bool is_row() const {
        for (std::size_t i = 0; i < elements.size(); i++)
            if (elements[i] != static_cast<dim_t>(i))
                return false;
        return rows.empty();
    }
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
    const bool are_alike = std::all_of(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(axis),
                                       [](dim_t stride) { return stride == 0; });
    return {l.input_buffer(input), are_alike ? std::vector<dim_t>() : offsets(0, axis),
            offsets(axis, x.size())};
}

/// In double precision.
class double_normalization final : public loop_step {
public:
    double_normalization(const lowering &l, spread_operand scale, std::optional<spread_operand> shift,
                         float epsilon, bool is_simplified)
        : src_(l.input_buffer(0)), dst_(l.output_buffer(0)), scale_(std::move(scale)),
          shift_(std::move(shift)), size_(static_cast<dim_t>(scale_.elements.size())),
          rows_(element_count(l.input(0).dims) / std::max<dim_t>(size_, 1)), epsilon_(epsilon),
          is_simplified_(is_simplified) {}

    void run(const stream &, const run_memory &m) const override {
        const float *x = m.at<float>(src_), *scale = m.at<float>(scale_.data),
                    *shift = shift_ ? m.at<float>(shift_->data) : nullptr;
        float *y = m.at<float>(dst_);
        const auto n = static_cast<double>(size_);
        for (dim_t r = 0; r < rows_; r++, x += size_, y += size_) {
            double sum = 0, squares = 0;
            for (dim_t i = 0; i < size_; i++) {
                const auto v = static_cast<double>(x[i]);
                sum += v;
                squares += v * v;
            }
            const double mean = is_simplified_ ? 0. : sum / n;
            const double deviation = std::sqrt(squares / n - mean * mean + static_cast<double>(epsilon_));
            for (dim_t i = 0; i < size_; i++) {
                const double scaled = (static_cast<double>(x[i]) - mean) / deviation * scale_.at(scale, r, i);
                y[i] = static_cast<float>(shift ? scaled + shift_->at(shift, r, i) : scaled);
            }
        }
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(rows_) + " rows of " + std::to_string(size_) +
               " with a scale of other dimensions";
    }

private:
    buffer src_, dst_;
    spread_operand scale_;
    std::optional<spread_operand> shift_;
    dim_t size_, rows_;
    float epsilon_;
    bool is_simplified_;
};

} // namespace

std::unique_ptr<step> make_spread_normalization(const lowering &l, float epsilon, bool is_simplified) {
    const auto axis = static_cast<std::size_t>(normalized_axis(l));
    spread_operand scale = operand_of(l, 1, axis);
    std::optional<spread_operand> shift;
    if (!is_simplified && l.has_input(2))
        shift = operand_of(l, 2, axis);
    if (scale.is_row() && (!shift || shift->is_row()))
        return nullptr;
    return std::make_unique<double_normalization>(l, std::move(scale), std::move(shift), epsilon,
                                                  is_simplified);
}

namespace {

std::unique_ptr<step> lower_simplified_layer_normalization(const lowering &l) {
    need_only_outputs(l, {});
    const dim_t size = normalized_rows(l).dims().back();
    const float epsilon = l.real("epsilon", 1e-5f);
    if (auto spread = make_spread_normalization(l, epsilon, true))
        return spread;
    return std::make_unique<rms_normalization>(l, size, epsilon);
}

using namespace row_words;

constexpr row onnx_rms_normalization_rows[] = {
    row("SimplifiedLayerNormalization", 2, lower_simplified_layer_normalization, shape::layer_normalization,
        rows::inner_axis_or_last)
        .sizes(flow::first),
};

} // namespace

operator_rows onnx_rms_normalization_operators() { return onnx_rms_normalization_rows; }

} // namespace octet::model
