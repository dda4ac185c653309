// GatherBlockQuantized: rows of a table of codes, whose blocks of neighbours have scales, dequantized.
// SPDX-License-Identifier: Apache-2.0
#include "loops/block_weights.hpp"
#include "loops/parallel.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/ops/slice_gather_extreme.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/node_shapes.hpp"

namespace octet::model {
namespace {

constexpr std::size_t data_input = 0, indices_input = 1, scales_input = 2, zero_points_input = 3;

/// A row of codes is a column of weights in blocks: both are neighbours in the dimension of the blocks.
class gather_blocks final : public loop_step {
public:
    gather_blocks(const lowering &l, const loops::block_shape &row)
        : row_(row), table_rows_(l.input(data_input).dims[0]),
          count_(element_count(l.input(indices_input).dims)), data_(l.input_buffer(data_input)),
          indices_(l.input_buffer(indices_input)), scales_(l.input_buffer(scales_input)),
          dst_(l.output_buffer()) {
        if (l.has_input(zero_points_input))
            zero_points_ = l.input_buffer(zero_points_input);
    }

    void run(const stream &, const run_memory &m) const override {
        const auto *index = m.at<std::int32_t>(indices_);
        check_indices(index, count_, table_rows_);
        const loops::block_weights table{m.at<std::uint8_t>(data_), m.at<float>(scales_),
                                         zero_points_ ? m.at<std::uint8_t>(*zero_points_) : nullptr};
        auto *y = m.at<float>(dst_);
        const dim_t row_bytes = row_.inner / row_.codes_in_a_byte(); // without padding
        loops::parallel_for(count_, row_.inner, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t r = index[i] < 0 ? index[i] + table_rows_ : index[i];
                loops::dequantize_column(table.codes + r * row_bytes, table, row_, r, y + i * row_.inner);
            }
        });
    }
    std::string explain() const override {
        return "a loop over " + std::to_string(count_) + " rows of " + std::to_string(row_.inner) + " codes";
    }

private:
    loops::block_shape row_;
    dim_t table_rows_, count_;
    buffer data_, indices_, scales_, dst_;
    std::optional<buffer> zero_points_;
};

/// Attribute "bits" of codes in bytes.
dim_t codes_in_a_byte(std::int64_t bits) {
    if (bits != 2 && bits != 4 && bits != 8)
        refuse("attribute 'bits' is " + std::to_string(bits) + ", allowed are 2, 4, 8");
    return 8 / bits;
}

std::unique_ptr<step> lower_gather_blocks(const lowering &l) {
    const tensor &data = l.input(data_input, {data_type::u8});
    l.input(indices_input, {data_type::s32});
    l.output({data_type::f32});
    const std::int64_t bits = l.integer("bits", 4), block = l.integer("block_size", 128);
    const dim_t in_a_byte = codes_in_a_byte(bits);
    if (block < 16 || (block & (block - 1)) != 0)
        refuse("attribute 'block_size' is " + std::to_string(block) + ", allowed are powers of 2 from 16 on");
    if (data.dims.size() != 2 || l.integer("gather_axis", 0) != 0 ||
        (l.integer("quantize_axis", 1) != 1 && l.integer("quantize_axis", 1) != -1))
        refuse_as_unimplemented("a table of " + to_text(data.dims) + " is gathered along axis " +
                                std::to_string(l.integer("gather_axis", 0)) + " with blocks along axis " +
                                std::to_string(l.integer("quantize_axis", 1)) +
                                ", allowed are two dimensions, gathered along 0, with blocks along 1");
    const loops::block_shape row{data.dims[1] * in_a_byte, data.dims[0], block, static_cast<int>(bits)};
    const auto need = [&](std::size_t i, data_type type, dim_t columns) {
        if (!l.has_input(i))
            return;
        const memory::dims expected{data.dims[0], columns}, &given = l.input(i, {type}).dims;
        if (given != expected)
            refuse("input " + std::to_string(i) + " has dimensions " + to_text(given) + ", allowed are " +
                   to_text(expected));
    };
    need(scales_input, data_type::f32, row.blocks());
    need(zero_points_input, data_type::u8, row.zero_point_bytes());
    return std::make_unique<gather_blocks>(l, row);
}

void infer_gather_blocks(node_shapes &n) {
    memory::dims data = n.dims_of_rank(data_input, 1);
    if (n.input(data_input).type == data_type::u8) {
        if (data.back() > max_size / 4)
            refuse("input 0 has rows of " + std::to_string(data.back()) + " bytes, allowed are 2^29 - 1");
        data.back() *= codes_in_a_byte(n.integer("bits", 4));
    }
    const auto axis =
        data.begin() + static_cast<std::ptrdiff_t>(n.axis(n.integer("gather_axis", 0), data.size()));
    const memory::dims indices = n.dims(indices_input);
    memory::dims result(data.begin(), axis);
    result.insert(result.end(), indices.begin(), indices.end());
    result.insert(result.end(), axis + 1, data.end());
    if (result.size() > max_ndims)
        refuse("the output has " + std::to_string(result.size()) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
    n.set_output(n.input(scales_input).type, result);
}

/// Indices are the batch.
bool keeps_rows(const node_rows &o) {
    return !o.depends(data_input) && !o.depends(scales_input) && !o.depends(zero_points_input) &&
           o.depends(indices_input) && o.rank(indices_input) >= 1;
}

using namespace row_words;

constexpr row onnx_gather_blocks_rows[] = {
    row("GatherBlockQuantized", {3, 4}, lower_gather_blocks, infer_gather_blocks, keeps_rows)
        .in(domains::microsoft)
        .uses_integers(use::passes_on, use::computes)
        .sizes(flow::lost),
};

} // namespace

operator_rows onnx_gather_blocks_operators() { return onnx_gather_blocks_rows; }

} // namespace octet::model
