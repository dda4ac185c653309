// Tensors that are written from few numbers: ConstantOfShape and Range. Of constants they run once, while the
// network is made.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops/parallel.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

template <typename T> class fill_step final : public loop_step {
public:
    fill_step(const lowering &l, T value)
        : dst_(l.output_buffer()), count_(element_count(l.output().dims)), value_(value) {}

    void run(const stream &, const run_memory &m) const override {
        T *const y = m.at<T>(dst_);
        loops::parallel_for(count_, 1,
                            [&](dim_t begin, dim_t end) { std::fill(y + begin, y + end, value_); });
    }
    std::string explain() const override { return "writes " + std::to_string(count_) + " elements"; }

private:
    buffer dst_;
    dim_t count_;
    T value_;
};

/// Each is the one before plus the step, rounded, as ONNX Runtime adds.
template <typename T> class range_step final : public loop_step {
public:
    explicit range_step(const lowering &l)
        : start_(l.input_buffer(0)), step_(l.input_buffer(2)), dst_(l.output_buffer()),
          count_(element_count(l.output().dims)) {}

    void run(const stream &, const run_memory &m) const override {
        T value = *m.at<T>(start_), *y = m.at<T>(dst_);
        const T step = *m.at<T>(step_);
        for (dim_t i = 0; i < count_; i++) {
            if (i > 0)
                value += step;
            y[i] = value;
        }
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(count_) + " elements";
    }

private:
    buffer start_, step_, dst_;
    dim_t count_;
};

std::unique_ptr<step> lower_constant_of_shape(const lowering &l) {
    if (l.output({data_type::f32, data_type::s32}).type == data_type::s32)
        return std::make_unique<fill_step<std::int32_t>>(l, static_cast<std::int32_t>(l.integer("value")));
    return std::make_unique<fill_step<float>>(l, l.real("value", 0.f));
}

std::unique_ptr<step> lower_range(const lowering &l) {
    const data_type type = l.output({data_type::f32, data_type::s32}).type;
    for (const std::size_t i : {0, 2})
        if (element_count(l.input(i, {type}).dims) != 1)
            refuse("input " + std::to_string(i) + " has dimensions " + to_text(l.input(i).dims) +
                   ", allowed is one number");
    if (type == data_type::s32)
        return std::make_unique<range_step<std::int32_t>>(l);
    return std::make_unique<range_step<float>>(l);
}

using namespace row_words;

constexpr row onnx_fill_range_rows[] = {
    row("ConstantOfShape", 1, lower_constant_of_shape, shape::constant_of_shape, rows::never)
        .dims_from(0)
        .known_numbers(numbers::constant_of_shape),
    row("Range", 3, lower_range, shape::range, rows::never)
        .in(domains::both)
        .dims_from(0)
        .known_numbers(numbers::range),
};

} // namespace

operator_rows onnx_fill_range_operators() { return onnx_fill_range_rows; }

} // namespace octet::model
