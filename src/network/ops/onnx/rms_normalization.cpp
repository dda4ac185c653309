// SimplifiedLayerNormalization: rows over the root of the mean of their squares, as ONNX Runtime sums these.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "network/ops/onnx/float_loops.hpp"
#include "network/ops/onnx/onnx.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/onnx.hpp"

namespace octet::model {
namespace {

/// Eight lanes with fma, of them halves; then what is left over, of which the first four without fma if there are so many.
float sum_of_squares(const float *x, dim_t n) {
    std::array<float, 8> lanes{};
    dim_t i = 0;
    for (; i < n / 8 * 8; i++)
        lanes[static_cast<std::size_t>(i % 8)] = std::fma(x[i], x[i], lanes[static_cast<std::size_t>(i % 8)]);
    float sum =
        ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    const dim_t fused_from = n - i >= 4 ? i + 4 : i;
    for (; i < n; i++)
        sum = i < fused_from ? sum + x[i] * x[i] : std::fma(x[i], x[i], sum);
    return sum;
}

class rms_normalization final : public loop_step {
public:
    rms_normalization(const lowering &l, dim_t size, float epsilon)
        : src_(l.input_buffer(0)), scale_(l.input_buffer(1)), dst_(l.output_buffer(0)), size_(size),
          rows_(element_count(l.input(0).dims) / size), epsilon_(epsilon) {}

    void run(const stream &, const run_memory &m) const override {
        const float *x = m.at<float>(src_), *scale = m.at<float>(scale_);
        float *y = m.at<float>(dst_);
        for (dim_t r = 0; r < rows_; r++, x += size_, y += size_) {
            if (size_ < shortest_vectors) {
                normalize_short(x, scale, y);
                continue;
            }
            const float factor =
                1.f / std::sqrt(sum_of_squares(x, size_) / static_cast<float>(size_) + epsilon_);
            for (dim_t i = 0; i < size_; i++)
                y[i] = x[i] * factor * scale[i];
        }
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(rows_) + " rows of " + std::to_string(size_);
    }

private:
    static constexpr dim_t shortest_vectors = 16;
    /// In order, and divided rather than multiplied.
    void normalize_short(const float *x, const float *scale, float *y) const {
        float sum = 0.f;
        for (dim_t i = 0; i < size_; i++)
            sum += x[i] * x[i];
        const float deviation = std::sqrt(sum / static_cast<float>(size_) + epsilon_);
        for (dim_t i = 0; i < size_; i++)
            y[i] = x[i] / deviation * scale[i];
    }

    buffer src_, scale_, dst_;
    dim_t size_, rows_;
    float epsilon_;
};

/// With one scale for all elements, and one shift or none: in double precision.
class double_normalization final : public loop_step {
public:
    double_normalization(const lowering &l, dim_t size, float epsilon, bool is_simplified)
        : src_(l.input_buffer(0)), scale_(l.input_buffer(1)), dst_(l.output_buffer(0)), size_(size),
          rows_(element_count(l.input(0).dims) / size), epsilon_(epsilon), is_simplified_(is_simplified),
          has_shift_(!is_simplified && l.has_input(2)) {
        if (has_shift_)
            shift_ = l.input_buffer(2);
    }

    void run(const stream &, const run_memory &m) const override {
        const float *x = m.at<float>(src_);
        float *y = m.at<float>(dst_);
        const auto scale = static_cast<double>(*m.at<float>(scale_)),
                   shift = has_shift_ ? static_cast<double>(*m.at<float>(shift_)) : 0.,
                   n = static_cast<double>(size_);
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
                const double scaled = (static_cast<double>(x[i]) - mean) / deviation * scale;
                y[i] = static_cast<float>(has_shift_ ? scaled + shift : scaled);
            }
        }
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(rows_) + " rows of " + std::to_string(size_) +
               " with one scale";
    }

private:
    buffer src_, scale_, shift_, dst_;
    dim_t size_, rows_;
    float epsilon_;
    bool is_simplified_, has_shift_;
};

} // namespace

std::unique_ptr<step> make_normalization_by_one_scale(const lowering &l, dim_t size, float epsilon,
                                                      bool is_simplified) {
    return std::make_unique<double_normalization>(l, size, epsilon, is_simplified);
}

namespace {

std::unique_ptr<step> lower_simplified_layer_normalization(const lowering &l) {
    need_only_outputs(l, {});
    const dim_t size = normalized_rows(l).dims().back();
    const tensor &scale = l.input(1, {data_type::f32});
    if (const dim_t count = element_count(scale.dims); count != size && count != 1)
        refuse("the scale " + to_text(scale.dims) + " is not one value, or one for each of " +
               std::to_string(size));
    const float epsilon = l.real("epsilon", 1e-5f);
    if (element_count(scale.dims) != size)
        return make_normalization_by_one_scale(l, size, epsilon, true);
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
