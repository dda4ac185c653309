// Floats times a constant matrix of codes as ONNX Runtime computes MatMulNBits at accuracy level 4 with 8 bits: each row of
// the source is rounded to s8 in blocks of 32, blocks are multiplied in integers. The order in which their scaled sums
// are added up was found by experiment; it is that of AVX512-VNNI. Start at `block_product::run`.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "network/ops/onnx/onnx.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/onnx.hpp"

namespace octet::model {
namespace {

constexpr dim_t block = 32; ///< elements of a row that have one scale
constexpr dim_t tile = 64;  ///< columns that are computed together

/// A block of a row: codes times `scale`.
struct rounded_block {
    std::array<std::int32_t, block> codes;
    float scale, sum; ///< of all elements, as they are after rounding
};

/// The maximum over 16 lanes, then over their halves. A NaN is forgotten where it comes first of two, and makes the other be forgotten where
/// it comes second.
float highest_of(const float *x, dim_t count) {
    const auto larger = [](float a, float b) { return a > b ? a : b; };
    std::array<float, 16> lanes{};
    for (dim_t i = 0; i < (count + 15) / 16 * 16; i++) {
        float &lane = lanes[static_cast<std::size_t>(i % 16)];
        lane = larger(lane, i < count ? std::fabs(x[i]) : 0.f);
    }
    for (const std::size_t half : {8, 4})
        for (std::size_t i = 0; i < half; i++)
            lanes[i] = larger(lanes[i + half], lanes[i]);
    return larger(larger(lanes[0], lanes[2]), larger(lanes[1], lanes[3]));
}

/// The low byte of what x rounds to, 0 for what no integer is.
std::int32_t code_of(float x) {
    constexpr float beyond = 2147483648.f;
    if (!(std::fabs(x) < beyond))
        return 0;
    return static_cast<std::int8_t>(static_cast<std::int32_t>(std::nearbyint(x)));
}

rounded_block round_block(const float *x, dim_t count) {
    rounded_block b{};
    const float highest = highest_of(x, count), factor = highest == 0.f ? 0.f : 127.f / highest;
    std::int32_t sum = 0;
    for (dim_t i = 0; i < count; i++)
        sum += b.codes[static_cast<std::size_t>(i)] = code_of(x[i] * factor);
    b.scale = highest / 127.f;
    b.sum = b.scale * static_cast<float>(sum);
    return b;
}

/// Matrix {inner, columns}; what each column has is side by side.
struct coded_matrix {
    const std::uint8_t *codes;
    std::int32_t offset; ///< of s8 codes to u8
    bool is_signed;
    dim_t inner, columns;
    std::vector<float> scales, zeros; ///< zeros: what the zero point adds to each unit of the source
    dim_t of_block = 0; ///< from the scales of a block of rows to those of the next; 0 if all have the same

    std::size_t parameter(dim_t row, dim_t column) const {
        return static_cast<std::size_t>(row / block * of_block + column);
    }

    std::int32_t at(dim_t k, dim_t n) const {
        const std::uint8_t code = codes[k * columns + n];
        return offset + (is_signed ? static_cast<std::int8_t>(code) : static_cast<std::int32_t>(code));
    }
};

using lanes = std::array<std::array<float, tile>, 16>; ///< per lane, columns of a tile

/// lane += scales * (sum of products of 4 elements of the block from `first` on, and the same `again` elements behind).
inline __attribute__((always_inline)) void add_products(const rounded_block &b, const coded_matrix &w,
                                                        dim_t row, dim_t first, dim_t again, dim_t column,
                                                        dim_t count, std::array<float, tile> &lane) {
    std::int32_t sums[tile] = {};
    for (dim_t part = 0; part <= again; part += 8)
        for (dim_t i = first + part; i < first + part + 4 && row + i < w.inner; i++) {
            const std::int32_t code = b.codes[static_cast<std::size_t>(i)];
            for (dim_t n = 0; n < count; n++)
                sums[n] += code * w.at(row + i, column + n);
        }
    for (dim_t n = 0; n < count; n++) {
        const auto c = static_cast<std::size_t>(n);
        const float scale = b.scale * w.scales[w.parameter(row, column + n)];
        lane[c] = __builtin_fmaf(static_cast<float>(sums[n]), scale, lane[c]);
    }
}

/// Four blocks at a time go to 16 lanes, 8 elements to each; of what is left, one block to 8 lanes, 4 elements to each.
/// Columns in fours add up their lanes in order, others by halves.
inline __attribute__((always_inline)) void multiply(const std::vector<rounded_block> &row,
                                                    const coded_matrix &w, dim_t column, dim_t count,
                                                    const float *bias, float *y) {
    lanes l{};
    const auto blocks = static_cast<dim_t>(row.size()), fours = blocks / 4 * 4;
    const auto at = [&](dim_t b) -> const rounded_block & { return row[static_cast<std::size_t>(b)]; };
    for (dim_t b = 0; b < fours; b += 4)
        for (dim_t k = 0; k < 16; k++) {
            const dim_t own = b + k / 8 + k % 4 / 2 * 2;
            add_products(at(own), w, own * block, k / 4 % 2 * 16 + k % 2 * 4, 8, column, count,
                         l[static_cast<std::size_t>(k)]);
        }
    for (std::size_t k = 0; k < 8; k++)
        for (std::size_t n = 0; n < tile; n++)
            l[k][n] += l[k + 8][n];
    for (dim_t b = fours; b < blocks; b++)
        for (dim_t k = 0; k < 8; k++)
            add_products(at(b), w, b * block, k * 4, 0, column, count, l[static_cast<std::size_t>(k)]);
    for (dim_t i = 0; i < count; i++) {
        const auto n = static_cast<std::size_t>(i);
        const dim_t c = column + i;
        float sum =
            c < w.columns / 4 * 4
                ? (((l[0][n] + l[1][n]) + l[2][n]) + l[3][n]) + (((l[4][n] + l[5][n]) + l[6][n]) + l[7][n])
                : ((l[0][n] + l[4][n]) + (l[2][n] + l[6][n])) + ((l[1][n] + l[5][n]) + (l[3][n] + l[7][n]));
        if (bias)
            sum += bias[c];
        float zero = 0.f;
        for (dim_t b = 0; b < blocks; b++)
            zero = __builtin_fmaf(at(b).sum, w.zeros[w.parameter(b * block, c)], zero);
        y[c] = sum + zero;
    }
}

using multiplier = void (*)(const std::vector<rounded_block> &, const coded_matrix &, dim_t, dim_t,
                            const float *, float *);

void multiply_anywhere(const std::vector<rounded_block> &row, const coded_matrix &w, dim_t column,
                       dim_t count, const float *bias, float *y) {
    multiply(row, w, column, count, bias, y);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiply_with_fma(const std::vector<rounded_block> &row,
                                                           const coded_matrix &w, dim_t column, dim_t count,
                                                           const float *bias, float *y) {
    multiply(row, w, column, count, bias, y);
}
#endif

/// The code for this CPU; both kinds give the same bits.
multiplier fastest() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return multiply_with_fma;
#endif
    return multiply_anywhere;
}

std::vector<std::int32_t> zero_points(const lowering &l) {
    constexpr std::size_t i = 3;
    if (!l.has_input(i) || l.input(i).dims.size() < 2)
        return constant_zero_points(l, i);
    const auto widened = [](const auto &codes) {
        return std::vector<std::int32_t>(codes.begin(), codes.end());
    };
    const tensor &t = l.input(i, {data_type::u8, data_type::s8});
    return t.type == data_type::u8 ? widened(values_of<std::uint8_t>(t)) : widened(values_of<std::int8_t>(t));
}

class block_product final : public loop_step {
public:
    explicit block_product(const lowering &l)
        : src_(l.input_buffer(0)), weights_(l.input_buffer(1)), dst_(l.output_buffer()),
          has_bias_(l.has_input(bias_input)) {
        if (has_bias_)
            bias_ = l.input_buffer(bias_input);
        const tensor &w = l.input(1);
        matrix_.is_signed = w.type == data_type::s8;
        matrix_.offset = matrix_.is_signed ? 128 : 0;
        matrix_.inner = w.dims[0];
        matrix_.columns = w.dims[1];
        rows_ = element_count(l.output().dims) / matrix_.columns;
        matrix_.scales = values_of<float>(l.input(2));
        const bool has_blocks = l.has_attribute("block_size");
        matrix_.of_block = has_blocks ? matrix_.columns : 0;
        const auto count = static_cast<std::size_t>(matrix_.columns *
                                                    (has_blocks ? (matrix_.inner + block - 1) / block : 1));
        std::vector<std::int32_t> points = zero_points(l);
        matrix_.scales.resize(count, matrix_.scales[0]);
        points.resize(count, points[0]);
        for (std::size_t n = 0; n < points.size(); n++)
            matrix_.zeros.push_back(-(matrix_.scales[n] * static_cast<float>(points[n] + matrix_.offset)));
    }

    void run(const stream &, const run_memory &m) const override {
        static const multiplier multiply_tile = fastest();
        coded_matrix w = matrix_;
        w.codes = m.at<std::uint8_t>(weights_);
        const float *x = m.at<float>(src_), *bias = has_bias_ ? m.at<float>(bias_) : nullptr;
        float *y = m.at<float>(dst_);
        thread_local std::vector<rounded_block> row; // keeps its capacity from run to run
        for (dim_t r = 0; r < rows_; r++, x += w.inner, y += w.columns) {
            row.clear();
            for (dim_t k = 0; k < w.inner; k += block)
                row.push_back(round_block(x + k, std::min(block, w.inner - k)));
            for (dim_t n = 0; n < w.columns; n += tile)
                multiply_tile(row, w, n, std::min(tile, w.columns - n), bias, y);
        }
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(rows_) + " rows, rounded in blocks of 32, and " +
               std::to_string(matrix_.columns) + " columns";
    }

private:
    static constexpr std::size_t bias_input = 4;

    buffer src_, weights_, dst_, bias_;
    bool has_bias_;
    coded_matrix matrix_{};
    dim_t rows_;
};

std::unique_ptr<step> lower_matmul_of_blocks(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &w = l.input(1, {data_type::u8, data_type::s8});
    l.output({data_type::f32});
    if (x.dims.empty() || w.dims.size() != 2 || x.dims.back() != w.dims[0] || element_count(w.dims) == 0)
        refuse("input " + to_text(x.dims) + " and codes " + to_text(w.dims) + " are no matrix product");
    const std::int64_t size = l.integer("block_size", block);
    if (size != block)
        refuse_as_unimplemented("its weights have scales for blocks of " + std::to_string(size) +
                                " rows, allowed are blocks of " + std::to_string(block));
    const dim_t blocks = l.has_attribute("block_size") ? (w.dims[0] + block - 1) / block : 1;
    for (const std::size_t i : {std::size_t{2}, std::size_t{3}, std::size_t{4}})
        if (l.has_input(i)) {
            const dim_t count = element_count(l.input(i).dims), expected = w.dims[1] * (i == 4 ? 1 : blocks);
            if (count != expected && (count != 1 || i == 4 || blocks > 1))
                refuse("input " + std::to_string(i) + " has " + std::to_string(count) +
                       " values, allowed is one for each of " + std::to_string(w.dims[1]) + " columns" +
                       (blocks > 1 ? " and blocks of rows" : ""));
        }
    return std::make_unique<block_product>(l);
}

using namespace row_words;

constexpr row onnx_block_product_rows[] = {
    row("MatMulNBits", {3, 5}, lower_matmul_of_blocks, shape::matmul, rows::matrices)
        .internal()
        .sizes(flow::matrices),
};

} // namespace

operator_rows onnx_block_product_operators() { return onnx_block_product_rows; }

} // namespace octet::model
