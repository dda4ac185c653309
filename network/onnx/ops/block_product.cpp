// Floats times a constant matrix of codes as ONNX Runtime computes MatMulNBits at accuracy level 4 with 8
// bits: each row of the source is rounded to s8 in blocks of 32, blocks are multiplied in integers
// (`block_products`). The order in which their scaled sums are added up was found by experiment; it is that
// of AVX512-VNNI.
// SPDX-License-Identifier: Apache-2.0
#include "loops/block_products.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

constexpr dim_t block = loops::block_products::block;

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

/// How codes of a type become u8, by bits and as numbers.
constexpr std::uint8_t offset_of(data_type type) { return type == data_type::s8 ? 128 : 0; }

loops::block_products products_of(const lowering &l) {
    const tensor &w = l.input(1);
    const dim_t rows_of_scales = l.has_attribute("block_size") ? (w.dims[0] + block - 1) / block : 1;
    const auto count = static_cast<std::size_t>(rows_of_scales * w.dims[1]);
    std::vector<float> scales = values_of<float>(l.input(2)), zeros;
    std::vector<std::int32_t> points = zero_points(l);
    scales.resize(count, scales[0]);
    points.resize(count, points[0]);
    for (std::size_t n = 0; n < count; n++)
        zeros.push_back(-(scales[n] * static_cast<float>(points[n] + offset_of(w.type))));
    return {w.dims[0], w.dims[1], scales, zeros};
}

class block_product final : public loop_step {
public:
    explicit block_product(const lowering &l)
        : products_(products_of(l)), codes_(l.input(1).data), flip_(offset_of(l.input(1).type)),
          columns_(l.input(1).dims[1]), rows_(element_count(l.output().dims) / columns_),
          src_(l.input_buffer(0)),
          rounded_(l.scratch(memory::desc({static_cast<dim_t>(products_.rounded_bytes(rows_))}, data_type::u8,
                                          format_tag::a))),
          dst_(l.output_buffer()), has_bias_(l.has_input(bias_input)) {
        if (has_bias_)
            bias_ = l.input_buffer(bias_input);
    }

    void make_primitives() override {
        products_.pack(codes_.data(), flip_);
        codes_ = {};
    }
    void run(const stream &, const run_memory &m) const override {
        products_.run({m.at<float>(src_), has_bias_ ? m.at<float>(bias_) : nullptr, m.at<float>(dst_),
                       m.at<std::uint8_t>(rounded_)},
                      rows_);
    }
    std::string explain() const override {
        return "a loop with " + std::string(products_.instructions()) + " over " + std::to_string(rows_) +
               " rows, rounded in blocks of 32, and " + std::to_string(columns_) + " columns";
    }

private:
    static constexpr std::size_t bias_input = 4;

    loops::block_products products_;
    shared_bytes codes_;
    std::uint8_t flip_;
    dim_t columns_, rows_;
    buffer src_, rounded_, dst_, bias_;
    bool has_bias_;
};

std::unique_ptr<step> lower_matmul_of_blocks(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &w = l.input(1, {data_type::u8, data_type::s8});
    l.output({data_type::f32});
    if (x.dims.empty() || w.dims.size() != 2 || x.dims.back() != w.dims[0] || element_count(w.dims) == 0)
        refuse("input " + to_text(x.dims) + " and codes " + to_text(w.dims) + " are no matrix product");
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{3}})
        if (l.has_input(i) && !l.input(i).is_constant)
            refuse("input " + std::to_string(i) + " is no constant");
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
