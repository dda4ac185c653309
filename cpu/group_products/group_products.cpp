// Tiles of rows and columns on threads.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/group_products/group_products.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/layout/plain.hpp"
#include "cpu/group_products/bytes.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl {

namespace {

constexpr int columns = jit::group_layout::columns;
constexpr dim_t bytes_of_pass = 4 << 20; ///< of prepared rows
constexpr dim_t tiles_of_task = 8;       ///< of rows

} // namespace

group_products::group_products(const group_problem &p, instruction_set isa)
    : problem_(p), order_(*order_of_groups_for(p.order, p.source_has_groups)),
      isa_(isa), layout_{jit::group_codes_of(isa, p.weight_bits),
                         jit::group_layout::padded(std::min(p.group, p.k) / order_.kernel.lanes), false,
                         p.has_weight_zero_points} {
    layout_.has_scaled_sums = order_.kernel.zero_point != jit::zero_point_term::none;
    const bool has_zero_points =
        layout_.has_scaled_sums ? exact_zero_point({}) != 0 : p.has_source_zero_points;
    // Words of the source lack their zero point already.
    layout_.has_sums = has_zero_points && layout_.codes != jit::group_codes::words;
    if (isa.has_vectors())
        make_code();
}

void group_products::make_code() {
    const jit::group_tile largest = jit::largest_group_tile(isa_, problem_.m);
    const dim_t lanes = isa_.lanes();
    tile_columns_ = largest.vectors * lanes;
    tile_rows_ = div_up(problem_.m, div_up(problem_.m, largest.rows)); // of about equal size
    const dim_t last_rows = problem_.m % tile_rows_, last_columns = problem_.n % tile_columns_;
    for (const bool is_last_row : {false, true})
        for (const bool is_last_column : {false, true}) {
            const dim_t rows = is_last_row ? last_rows : std::min(tile_rows_, problem_.m);
            const dim_t n = is_last_column
                                ? last_columns
                                : std::min(tile_columns_, problem_.n / tile_columns_ * tile_columns_);
            if (rows > 0 && n > 0)
                code_[is_last_row][is_last_column] =
                    jit::group_dot_code(spec_of(static_cast<int>(rows), static_cast<int>(n)));
        }
}

jit::group_dot_spec group_products::spec_of(int rows, int n) const {
    const int vectors = (n + isa_.lanes() - 1) / isa_.lanes();
    return {isa_,
            layout_,
            order_.kernel,
            unsigned_offset() != 0 && !problem_.has_weight_zero_points,
            problem_.has_bias,
            rows,
            vectors,
            n - (vectors - 1) * isa_.lanes(),
            records()};
}

void group_products::run(const operands &o) const {
    const dim_t tiles_of_pass = std::max<dim_t>(bytes_of_pass / row_bytes() / tile_rows_, 1);
    const dim_t rows_of_pass = std::min(problem_.m, tiles_of_pass * tile_rows_);
    auto *prepared = static_cast<std::uint8_t *>(
        thread_scratch(scratch_slot::source_rows, static_cast<std::size_t>(rows_of_pass * row_bytes())));
    for (dim_t first = 0; first < problem_.m; first += rows_of_pass) {
        const dim_t end = std::min(first + rows_of_pass, problem_.m);
        parallel_for(end - first, 1 + 65536 / problem_.k, [&](std::int64_t begin, std::int64_t last) {
            for (std::int64_t r = begin; r < last; r++)
                prepare_row(o, first + r, prepared + r * row_bytes());
        });
        const dim_t rows_of_task = tiles_of_task * tile_rows_, tasks = div_up(end - first, rows_of_task);
        parallel_for(div_up(problem_.n, tile_columns_) * tasks, 1,
                     [&](std::int64_t begin, std::int64_t last) {
                         for (std::int64_t i = begin; i < last; i++) {
                             const dim_t from = first + i % tasks * rows_of_task;
                             multiply(o, prepared + (from - first) * row_bytes(),
                                      {from, std::min(from + rows_of_task, end)}, i / tasks);
                         }
                     });
    }
}

void group_products::multiply(const operands &o, const std::uint8_t *prepared, row_range rows,
                              dim_t column_tile) const {
    if (!isa_.has_vectors())
        return multiply_in_cpp(o, prepared, rows, column_tile);
    const dim_t column = column_tile * tile_columns_;
    const bool is_last_column = column + tile_columns_ > problem_.n;
    jit::group_dot_args args{};
    args.weights = static_cast<const std::uint8_t *>(o.weights) + column / columns * block_bytes();
    args.bias = problem_.has_bias ? o.bias + column : nullptr;
    args.dst_stride = o.dst_stride * static_cast<dim_t>(sizeof(float));
    for (dim_t r = rows.first; r < rows.end; r += tile_rows_) {
        args.src = prepared + (r - rows.first) * row_bytes();
        args.dst = o.dst + r * o.dst_stride + column;
        code_[r + tile_rows_ > rows.end][is_last_column]->function()(&args);
    }
}

void group_products::multiply_in_cpp(const operands &o, const std::uint8_t *prepared, row_range rows,
                                     dim_t column_tile) const {
    const dim_t first = column_tile * tile_columns_, end = std::min(first + tile_columns_, problem_.n);
    for (dim_t r = rows.first; r < rows.end; r++)
        for (dim_t c = first; c < end; c++)
            o.dst[r * o.dst_stride + c] = result(o, prepared + (r - rows.first) * row_bytes(), c);
}

/// The formulas on what was packed.
float group_products::result(const operands &o, const std::uint8_t *row, dim_t column) const {
    const std::uint8_t *block =
        static_cast<const std::uint8_t *>(o.weights) + column / columns * block_bytes();
    const dim_t lane = column % columns;
    const float *bias = problem_.has_bias ? o.bias + column : nullptr;
    const jit::group_order &order = order_.kernel;
    const float of_row = layout_.has_scaled_sums ? load_bytes<float>(row + records() * layout_.source_bytes())
                                                 : 0.f,
                of_column = layout_.has_scaled_sums
                                ? load_bytes<float>(block + records() * layout_.record_bytes() + 4 * lane)
                                : 0.f;
    std::array<float, 4> lanes{};
    if (order.begins_with_bias)
        lanes[0] = bias ? *bias : -0.f;
    else if (order.zero_point == jit::zero_point_term::first)
        for (std::size_t i = 0; i < lanes.size(); i++)
            lanes[i] = (i == 0 ? of_column : 0.f) * of_row;
    float source_scale = 0.f;
    for (dim_t g = 0; g < records(); g++) {
        const std::uint8_t *record = block + g * layout_.record_bytes();
        const std::uint8_t *codes = row + g * layout_.source_bytes();
        const auto exact = static_cast<float>(sum_of_group(codes, record, lane));
        const auto scale = load_bytes<float>(record + layout_.scales() + 4 * lane);
        source_scale = load_bytes<jit::group_row>(codes + layout_.source_row()).scale;
        float &a = lanes[static_cast<std::size_t>(g % order.lanes)];
        const float sum = order.scale == jit::group_scale::in_turn ? exact * scale : exact;
        const float factor = order.scale == jit::group_scale::of_weights ? scale
                             : order.scale == jit::group_scale::product  ? scale * source_scale
                                                                         : source_scale;
        a = order.is_fused ? std::fma(sum, factor, a) : a + sum * factor;
    }
    float a = order.lanes == 4 ? (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) : lanes[0];
    if (order.zero_point == jit::zero_point_term::last)
        a = std::fma(of_row, of_column, a);
    const bool adds_bias = (bias && !order.begins_with_bias) || order.adds_absent_bias;
    const float addend = bias ? *bias : 0.f;
    if (order.row == jit::row_scale::fused && adds_bias)
        return std::fma(a, source_scale, addend);
    if (order.row != jit::row_scale::none)
        a *= source_scale;
    return adds_bias ? a + addend : a;
}

/// The exact sum of a column, less zero points.
std::int64_t group_products::sum_of_group(const std::uint8_t *codes, const std::uint8_t *record,
                                          dim_t lane) const {
    const auto at = load_bytes<jit::group_row>(codes + layout_.source_row());
    std::int64_t sum = at.initial;
    for (dim_t k = 0; k < layout_.elements; k++) {
        const dim_t quad = k / 4, byte = lane * 4 + k % 4;
        const int code = layout_.codes == jit::group_codes::nibbles
                             ? record[quad / 2 * 64 + byte] >> quad % 2 * 4 & 15
                             : record[quad * 64 + byte];
        sum += code * std::int64_t{static_cast<std::int8_t>(codes[k])};
    }
    if (layout_.has_sums)
        sum +=
            std::int64_t{at.minus_zero_point} * load_bytes<std::int32_t>(record + layout_.sums() + 4 * lane);
    if (layout_.has_zero_points)
        sum +=
            std::int64_t{at.minus_sum} * load_bytes<std::int32_t>(record + layout_.zero_points() + 4 * lane);
    return sum;
}

} // namespace octet::impl
