// L2_NORMALIZATION: rows of codes over their length, in 1/128.
// SPDX-License-Identifier: Apache-2.0
#include "loops/parallel.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/integers.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

class l2_normalization final : public loop_step {
public:
    l2_normalization(buffer src, buffer dst, dim_t rows, dim_t size, std::int32_t zero_point)
        : src_(std::move(src)), dst_(std::move(dst)), rows_(rows), size_(size), zero_point_(zero_point) {}

    void run(const stream &, const run_memory &m) const override {
        const auto *x = m.at<std::int8_t>(src_);
        auto *y = m.at<std::int8_t>(dst_);
        loops::parallel_for(rows_, size_ * 4, [=](dim_t begin, dim_t end) {
            for (dim_t r = begin; r < end; r++)
                normalize(x + r * size_, y + r * size_);
        });
    }
    std::string explain() const override { return "a plain loop over rows"; }

private:
    void normalize(const std::int8_t *x, std::int8_t *y) const {
        constexpr int dst_bits = 7;
        std::int64_t sum = 0;
        for (dim_t i = 0; i < size_; i++)
            sum += (x[i] - zero_point_) * (x[i] - zero_point_);
        fixed_point_multiplier factor = inverse_square_root(saturated<std::int32_t>(sum));
        factor.shift += dst_bits;
        for (dim_t i = 0; i < size_; i++)
            y[i] = saturated<std::int8_t>(scaled(x[i] - zero_point_, factor));
    }

    buffer src_, dst_;
    dim_t rows_, size_;
    std::int32_t zero_point_;
};

std::unique_ptr<step> lower_l2_normalization(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8}), &dst = l.output({data_type::s8});
    need_output_dims(l, src.dims);
    if (l.text("activation", "NONE") != "NONE")
        refuse_as_unimplemented("a fused activation is not supported");
    const linear_codes y = per_tensor(dst, "the output");
    if (y.scale != 1.f / 128 || y.zero_point != 0)
        refuse("the output has scale " + std::to_string(y.scale) + " and zero point " +
               std::to_string(y.zero_point) + ", allowed are 1/128 and 0");
    if (src.dims.empty() || src.dims.back() == 0)
        refuse("input 0 has no rows");
    const dim_t size = src.dims.back();
    return std::make_unique<l2_normalization>(l.input_buffer(0), l.output_buffer(),
                                              element_count(src.dims) / size, size,
                                              per_tensor(src, "input 0").zero_point);
}

using namespace row_words;

constexpr row tflite_l2_normalization_rows[] = {
    row("L2_NORMALIZATION", 1, lower_l2_normalization, tflite_shape::same, rows::last_axis),
};

} // namespace

operator_rows tflite_l2_normalization_operators() { return tflite_l2_normalization_rows; }

} // namespace octet::model
