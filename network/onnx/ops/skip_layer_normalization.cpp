// ONNX Runtime's SkipLayerNormalization, also simplified, and EmbedLayerNormalization, which sum first and
// then normalize rows by formulas of their own: element after element, so that the rows of a block are
// computed side by side.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "loops/normalization.hpp"
#include "loops/parallel.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

constexpr auto no_input = static_cast<std::size_t>(-1);

struct row_operands {
    buffer scale;
    std::optional<buffer> shift;
    float epsilon;

    loops::row_normalization with(loops::moments how, const run_memory &m) const {
        return {how, epsilon, m.at<float>(scale), shift ? m.at<float>(*shift) : nullptr};
    }
};

void need_one_for_each(const lowering &l, std::size_t i, dim_t n) {
    if (l.has_input(i) && element_count(l.input(i, {data_type::f32}).dims) != n)
        refuse("input " + std::to_string(i) + " (" + to_text(l.input(i).dims) +
               ") is not one value for each of " + std::to_string(n));
}

row_operands operands_of(const lowering &l, std::size_t scale, std::size_t shift, dim_t n) {
    for (const std::size_t i : {scale, shift})
        need_one_for_each(l, i, n);
    return {l.input_buffer(scale),
            l.has_input(shift) ? std::optional<buffer>(l.input_buffer(shift)) : std::nullopt,
            l.real("epsilon", 1e-12f)};
}

/// A sum by primitives, then its rows.
template <bool is_simplified> class skip_normalization_step final : public step {
public:
    skip_normalization_step(primitive_step sums, buffer sum, buffer dst, std::optional<buffer> means, dim_t n,
                            row_operands operands)
        : sums_(std::move(sums)), sum_(std::move(sum)), dst_(std::move(dst)), means_(std::move(means)), n_(n),
          operands_(std::move(operands)) {}

    void make_primitives() override { sums_.make_primitives(); }
    void run(const stream &s, const run_memory &m) const override {
        sums_.run(s, m);
        const auto how = is_simplified ? loops::moments::squares : loops::moments::updated;
        loops::normalize_rows(operands_.with(how, m), m.at<float>(sum_),
                              element_count(sum_.get_desc().dims()) / n_, n_, m.at<float>(dst_),
                              means_ ? m.at<float>(*means_) : nullptr);
    }
    std::string implementation() const override { return sums_.implementation() + " + loop"; }
    std::string explain() const override { return sums_.explain() + "\na plain loop over blocks of rows"; }

private:
    primitive_step sums_;
    buffer sum_, dst_;
    std::optional<buffer> means_;
    dim_t n_;
    row_operands operands_;
};

/// Rows of tables by indices, added up and normalized.
class embedding_step final : public loop_step {
public:
    struct table {
        buffer data;
        dim_t rows;
        std::optional<buffer> indices; ///< positions count from 0 if there are none
    };

    embedding_step(const lowering &l, std::vector<table> tables, dim_t length, dim_t n, row_operands operands)
        : tables_(std::move(tables)), dst_(l.output_buffer(0)), length_(length), n_(n),
          operands_(std::move(operands)) {
        if (l.has_input(7))
            mask_ = l.input_buffer(7);
        if (l.get_node().outputs.size() > 1)
            hidden_ = l.output_buffer(1);
        if (l.get_node().outputs.size() > 2)
            sum_ = l.output_buffer(2);
    }

    void run(const stream &, const run_memory &m) const override {
        const dim_t rows = element_count(dst_.get_desc().dims()) / n_;
        auto *y = m.at<float>(dst_);
        for (const table &t : tables_) // before anything is written
            check(t, rows, m);
        loops::parallel_for(rows, n_ * static_cast<dim_t>(tables_.size()), [&](dim_t begin, dim_t end) {
            for (dim_t row = begin; row < end; row++)
                for (std::size_t k = 0; k < tables_.size(); k++) {
                    const float *x = m.at<float>(tables_[k].data) + index(tables_[k], row, m) * n_;
                    for (dim_t i = 0; i < n_; i++)
                        y[row * n_ + i] = k == 0 ? x[i] : y[row * n_ + i] + x[i];
                }
            if (sum_)
                std::copy(y + begin * n_, y + end * n_, m.at<float>(*sum_) + begin * n_);
        });
        if (hidden_)
            count_mask(m, rows / length_);
        loops::normalize_rows(operands_.with(loops::moments::summed, m), y, rows, n_, y, nullptr);
    }
    std::string explain() const override { return "a plain loop over blocks of rows"; }

private:
    dim_t index(const table &t, dim_t row, const run_memory &m) const {
        return t.indices ? m.at<std::int32_t>(*t.indices)[row] : row % length_;
    }
    void check(const table &t, dim_t rows, const run_memory &m) const {
        for (dim_t row = 0; row < rows; row++)
            if (const dim_t i = index(t, row, m); i < 0 || i >= t.rows)
                throw error(status::invalid_arguments, "an index is " + std::to_string(i) +
                                                           ", allowed: 0 to " + std::to_string(t.rows - 1));
    }
    /// How many elements of each mask are 1.
    void count_mask(const run_memory &m, dim_t batch) const {
        auto *count = m.at<std::int32_t>(*hidden_);
        for (dim_t b = 0; b < batch; b++) {
            count[b] = 0;
            for (dim_t i = 0; mask_ && i < length_; i++)
                count[b] += m.at<std::int32_t>(*mask_)[b * length_ + i] == 1;
        }
    }

    std::vector<table> tables_;
    buffer dst_;
    std::optional<buffer> mask_, hidden_, sum_;
    dim_t length_, n_;
    row_operands operands_;
};

/// Y of input + skip + bias; means and the sum may be outputs, too. A skip without the batch serves all of
/// it. The simplified one has neither means nor a shift.
template <bool is_simplified> std::unique_ptr<step> lower_skip_layer_normalization(const lowering &l) {
    constexpr std::size_t skip = 1, gamma = 2, beta = is_simplified ? no_input : 3,
                          bias = is_simplified ? 3 : 4, means_output = 1, sum_output = 3;
    if (is_simplified)
        need_only_outputs(l, {sum_output});
    else
        need_only_outputs(l, {means_output, sum_output});
    const tensor &x = l.input(0, {data_type::f32});
    need_equal_dims(x, l.output(0, {data_type::f32}));
    const memory::dims &of_skip = l.input(skip, {data_type::f32}).dims;
    const bool serves_all = x.dims.size() == 3 && (of_skip == memory::dims{1, x.dims[1], x.dims[2]} ||
                                                   of_skip == memory::dims{x.dims[1], x.dims[2]});
    if ((of_skip != x.dims && !serves_all) || x.dims.size() < 2)
        refuse("input " + to_text(x.dims) + " and skip " + to_text(of_skip) + " differ in shape");
    const dim_t n = x.dims.back();
    if (n < 1)
        refuse("input " + to_text(x.dims) + " has empty rows");
    if (l.get_node().outputs.size() > sum_output && l.output(sum_output, {data_type::f32}).dims != x.dims)
        refuse("output 3 is not " + to_text(x.dims));
    const auto desc_of = [&](dim_t batch, dim_t rows) {
        return memory::desc({batch, rows, n}, data_type::f32, format_tag::abc);
    };
    const dim_t rows = element_count(x.dims) / n, batch = serves_all ? x.dims[0] : 1;
    const memory::desc md = desc_of(batch, rows / std::max<dim_t>(batch, 1)), row = desc_of(1, 1),
                       skip_md = desc_of(1, rows / std::max<dim_t>(batch, 1));
    const buffer sum = l.get_node().outputs.size() > sum_output ? l.output_buffer(sum_output).seen_through(md)
                                                                : l.scratch(md);
    primitive_attr attr;
    arguments args{{OCTET_ARG_SRC_0, l.input_buffer(0, md)},
                   {OCTET_ARG_SRC_1, l.input_buffer(skip, skip_md)},
                   {OCTET_ARG_DST, sum}};
    need_one_for_each(l, bias, n);
    if (l.has_input(bias)) {
        post_ops ops;
        ops.append_binary(algorithm::binary_add, row);
        attr.set_post_ops(ops);
        args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1] = l.input_buffer(bias, row);
    }
    primitive_step sums;
    sums.add(binary::primitive_desc({algorithm::binary_add, md, skip_md, md}, attr, l.get_engine()), args);
    std::optional<buffer> means;
    if (!is_simplified && l.get_node().outputs.size() > means_output &&
        is_read(l.get_graph(), output_of(l.get_node(), means_output))) {
        if (element_count(l.output(means_output, {data_type::f32}).dims) * n != element_count(x.dims))
            refuse("output 1 is not one number for each row of " + to_text(x.dims));
        means = l.output_buffer(means_output);
    }
    return std::make_unique<skip_normalization_step<is_simplified>>(std::move(sums), sum, l.output_buffer(0),
                                                                    means, n, operands_of(l, gamma, beta, n));
}

/// Words, positions and, if they are given, segments.
std::unique_ptr<step> lower_embed_layer_normalization(const lowering &l) {
    constexpr std::size_t ids = 0, segments = 1, words = 2, positions = 3, kinds = 4, gamma = 5, beta = 6,
                          mask = 7, position_ids = 8;
    const tensor &x = l.input(ids, {data_type::s32}), &y = l.output(0, {data_type::f32});
    const dim_t n = y.dims.empty() ? 0 : y.dims.back(), rows = element_count(x.dims);
    std::vector<embedding_step::table> tables;
    const auto add = [&](std::size_t table, std::size_t indices) {
        const tensor &t = l.input(table, {data_type::f32});
        if (t.dims.size() != 2 || t.dims[1] != n || t.dims[0] < 1)
            refuse("table " + to_text(t.dims) + " has no rows of " + std::to_string(n));
        const bool is_given = l.has_input(indices);
        if (is_given && element_count(l.input(indices, {data_type::s32}).dims) != rows)
            refuse("input " + std::to_string(indices) + " has dimensions " + to_text(l.input(indices).dims) +
                   ", allowed are those of the words, " + to_text(x.dims));
        tables.push_back({l.input_buffer(table), t.dims[0],
                          is_given ? std::optional<buffer>(l.input_buffer(indices)) : std::nullopt});
    };
    add(words, ids);
    add(positions, position_ids);
    if (l.has_input(segments))
        add(kinds, segments);
    if (l.get_node().outputs.size() > 1 &&
        (x.dims.empty() || element_count(l.output(1, {data_type::s32}).dims) != x.dims[0]))
        refuse("output 1 is not one number for each row of " + to_text(x.dims));
    if (l.get_node().outputs.size() > 2 && l.output(2, {data_type::f32}).dims != y.dims)
        refuse("output 2 is not " + to_text(y.dims));
    if (l.has_input(mask) && l.input(mask, {data_type::s32}).dims != x.dims)
        refuse("input 7 is not " + to_text(x.dims));
    if (x.dims.size() != 2 || n < 1 || element_count(y.dims) != rows * n)
        refuse("indices " + to_text(x.dims) + " do not give " + to_text(y.dims));
    return std::make_unique<embedding_step>(l, std::move(tables), std::max<dim_t>(x.dims[1], 1), n,
                                            operands_of(l, gamma, beta, n));
}

// ---- Shapes, and whether rows of a batch stay apart

/// Ids of words, segments and positions, a mask; the tables are constants.
bool embedding_keeps_rows(const node_rows &o) {
    constexpr std::size_t ids = 0, segments = 1, mask = 7, positions = 8;
    for (std::size_t i = 0; i < o.count(); i++)
        if (o.depends(i) && ((i != ids && i != segments && i != mask && i != positions) || o.rank(i) != 2))
            return false;
    return o.depends(ids);
}

using namespace row_words;

constexpr row onnx_skip_layer_normalization_rows[] = {
    row("EmbedLayerNormalization", {7, 9}, lower_embed_layer_normalization, shape::embed_layer_normalization,
        embedding_keeps_rows)
        .in(domains::microsoft)
        .sizes(flow::rows),
    row("SkipLayerNormalization", {3, 5}, lower_skip_layer_normalization<false>,
        shape::skip_layer_normalization, rows::broadcast)
        .in(domains::microsoft)
        .sizes(flow::first),
    row("SkipSimplifiedLayerNormalization", {3, 4}, lower_skip_layer_normalization<true>,
        shape::skip_layer_normalization, rows::broadcast)
        .in(domains::microsoft)
        .sizes(flow::first),
};

} // namespace

operator_rows onnx_skip_layer_normalization_operators() { return onnx_skip_layer_normalization_rows; }

} // namespace octet::model
