// TFLite's functions of codes that no primitive has, as tables of all results: SQUARED_DIFFERENCE, RSQRT.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "loops/parallel.hpp"
#include "network/ops/broadcast.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/integers.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

constexpr std::size_t codes = 256;
constexpr requantization_rule rule = tflite_rule;

std::size_t index_of(std::int8_t code) { return static_cast<std::uint8_t>(code); }

/// (x - y)^2 of two codes; both get 7 more bits, and the larger scale twice over.
class squared_difference {
public:
    squared_difference(const linear_codes &x, const linear_codes &y, const linear_codes &dst)
        : x_zero_point_(x.zero_point), y_zero_point_(y.zero_point), dst_zero_point_(dst.zero_point) {
        const double unit = 2. * static_cast<double>(std::max(x.scale, y.scale));
        of_x_ = from_double(rule, static_cast<double>(x.scale) / unit);
        of_y_ = from_double(rule, static_cast<double>(y.scale) / unit);
        constexpr float fine = 1 << 2 * left_shift;
        of_square_ = from_double(rule, unit * unit / static_cast<double>(fine * dst.scale));
    }

    std::int8_t operator()(std::int8_t x, std::int8_t y) const {
        const std::int32_t difference = scaled((x - x_zero_point_) * (1 << left_shift), of_x_) -
                                        scaled((y - y_zero_point_) * (1 << left_shift), of_y_);
        return saturated<std::int8_t>(std::int64_t{scaled(difference * difference, of_square_)} +
                                      dst_zero_point_);
    }

private:
    static constexpr int left_shift = 7;
    fixed_point_multiplier of_x_, of_y_, of_square_;
    std::int32_t x_zero_point_, y_zero_point_, dst_zero_point_;
};

/// Operands: x, y, and the table of all pairs.
void look_up_pairs(void *dst, const void *const *operands, const dim_t *strides, dim_t count) {
    const auto *x = static_cast<const std::int8_t *>(operands[0]),
               *y = static_cast<const std::int8_t *>(operands[1]),
               *table = static_cast<const std::int8_t *>(operands[2]);
    for (dim_t i = 0; i < count; i++)
        static_cast<std::int8_t *>(dst)[i] =
            table[index_of(x[i * strides[0]]) * codes + index_of(y[i * strides[1]])];
}

using results = std::array<std::int8_t, codes>;

class rsqrt_step final : public loop_step {
public:
    rsqrt_step(buffer src, buffer dst, std::int32_t zero_point, const results &table)
        : src_(std::move(src)), dst_(std::move(dst)), zero_point_(zero_point), table_(table),
          count_(element_count(src_.get_desc().dims())) {}

    void run(const stream &, const run_memory &m) const override {
        const auto *x = m.at<std::int8_t>(src_);
        auto *y = m.at<std::int8_t>(dst_);
        const dim_t negative = loops::first_of(count_, 1, [=](dim_t i) { return x[i] < zero_point_; });
        if (negative < count_)
            throw error(status::invalid_arguments, "RSQRT: element " + std::to_string(negative) +
                                                       " is code " + std::to_string(x[negative]) +
                                                       ", below the zero point of " +
                                                       std::to_string(zero_point_) + ": a negative number");
        loops::parallel_for(count_, 1, [=](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++)
                y[i] = table_[index_of(x[i])];
        });
    }
    std::string explain() const override { return "a plain loop over the elements, through a table"; }

private:
    buffer src_, dst_;
    std::int32_t zero_point_;
    results table_;
    dim_t count_;
};

/// 1 / sqrt(code - zero point) with 20 more bits, then rescaled; of the zero point itself the highest code.
results reciprocal_roots(const linear_codes &x, const linear_codes &y) {
    constexpr int more_bits = 20;
    fixed_point_multiplier m = from_double(rule, 1. / static_cast<double>(std::sqrt(x.scale) * y.scale));
    m.shift -= more_bits;
    results table{};
    for (int code = -128; code <= 127; code++) {
        const std::int32_t value = code - x.zero_point;
        fixed_point_multiplier root = inverse_square_root(std::max(value, 0));
        root.shift += more_bits;
        table[index_of(static_cast<std::int8_t>(code))] =
            value <= 0 ? 127
                       : saturated<std::int8_t>(std::int64_t{scaled(scaled(1, root), m)} + y.zero_point);
    }
    return table;
}

std::unique_ptr<step> lower_squared_difference(const lowering &l) {
    const tensor &x = l.input(0, {data_type::s8}), &y = l.input(1, {data_type::s8}),
                 &dst = l.output({data_type::s8});
    need_output_dims(l, broadcast(x.dims, y.dims));
    const squared_difference f(per_tensor(x, "input 0"), per_tensor(y, "input 1"),
                               per_tensor(dst, "the output"));
    const memory table(memory::desc({static_cast<dim_t>(codes * codes)}, data_type::s8, format_tag::x),
                       l.get_engine());
    auto *entries = table.map_data<std::int8_t>();
    for (int i = -128; i <= 127; i++)
        for (int k = -128; k <= 127; k++) {
            const auto a = static_cast<std::int8_t>(i), b = static_cast<std::int8_t>(k);
            entries[index_of(a) * codes + index_of(b)] = f(a, b);
        }
    return broadcast_step(l,
                          {{l.input_buffer(0), broadcast_strides(x.dims, dst.dims)},
                           {l.input_buffer(1), broadcast_strides(y.dims, dst.dims)},
                           {buffer(table), memory::dims(dst.dims.size(), 0)}},
                          look_up_pairs);
}

std::unique_ptr<step> lower_rsqrt(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8}), &dst = l.output({data_type::s8});
    need_output_dims(l, src.dims);
    const linear_codes x = per_tensor(src, "input 0");
    return std::make_unique<rsqrt_step>(l.input_buffer(0), l.output_buffer(), x.zero_point,
                                        reciprocal_roots(x, per_tensor(dst, "the output")));
}

using namespace row_words;

constexpr row tflite_code_tables_rows[] = {
    row("RSQRT", 1, lower_rsqrt, tflite_shape::same, rows::first_input),
    row("SQUARED_DIFFERENCE", 2, lower_squared_difference, tflite_shape::binary, rows::broadcast),
};

} // namespace

operator_rows tflite_code_tables_operators() { return tflite_code_tables_rows; }

} // namespace octet::model
