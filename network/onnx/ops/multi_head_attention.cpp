// ONNX Runtime's MultiHeadAttention and DecoderMaskedMultiHeadAttention. A mask is a number that is added to scores
// behind their bias. Without any of those, the first one computes scores in tiles.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "network/onnx/ops/attention_step.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/known_integers.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

/// Where the two operators have their inputs; both have queries, keys and values first.
struct head_inputs {
    std::size_t bias, mask, summand, past_key, past_value, length, beams;
};
constexpr std::size_t absent = 100;
constexpr head_inputs of_several{3, 4, 5, 6, 7, absent, absent}, of_decoder{10, 3, 4, 5, 6, 7, 9};
constexpr std::size_t y_scores = 3;

struct mask_options {
    float penalty;
    bool is_causal; ///< the last row still sees every key
};

class multi_head_attention final : public attention_step {
public:
    multi_head_attention(const lowering &l, const attention_sizes &sizes, const attention_places &places,
                         const head_inputs &in, float scale, const mask_options &options,
                         const std::optional<loops::attention_tiles> &tiles)
        : attention_step(l, sizes, places, scale, tiles), o_(options), mask_(input_of(l, in.mask)),
          summand_(input_of(l, in.summand)) {
        if (summand_)
            summand_dims_ = l.input(in.summand).dims;
        if (s_.keeps_rows)
            length_ = l.input_buffer(in.length);
        if (mask_)
            mask_dims_ = l.input(in.mask).dims;
        if (in.beams != absent && l.has_input(in.beams)) {
            beams_ = l.input_buffer(in.beams);
            beam_dims_ = l.input(in.beams).dims;
        }
        if (mask_ || o_.is_causal)
            penalties_ = l.scratch(memory::desc({mask_ ? s_.batch : 1, rows_of_mask(), s_.rows_of_keys()},
                                                data_type::f32, format_tag::abc));
    }

private:
    dim_t past_keys(const run_memory &m) const override {
        return length_ ? m.at<std::int32_t>(*length_)[0] : s_.past;
    }
    dim_t rows_of_mask() const { return o_.is_causal || mask_dims_.size() == 3 ? s_.rows : 1; }

    void prepare_masks(const run_memory &m) const override {
        const dim_t columns = mask_columns(m), past = columns - s_.added;
        if (length_ && !are_apart(m) && (past < 1 || past >= s_.past))
            refuse_value("past_sequence_length", past, "1 to " + std::to_string(s_.past - 1));
        if (summand_ && summand_dims_[3] != columns)
            refuse_value("the last dimension of attention_bias", summand_dims_[3], std::to_string(columns));
        if (mask_ && mask_dims_.size() > 1 && mask_dims_.back() != columns)
            refuse_value("the last dimension of the mask", mask_dims_.back(), std::to_string(columns));
        for (dim_t i = 0; beams_ && i < s_.batch * past; i++)
            if (const dim_t beam = beams_of(m, i / past)[i % past]; beam < 0 || beam >= beam_dims_[1])
                refuse_value("an element of cache_indirection", beam,
                             "0 to " + std::to_string(beam_dims_[1] - 1));
        if (!penalties_)
            return;
        auto *const y = m.at<float>(*penalties_);
        const dim_t rows = rows_of_mask();
        loops::parallel_for((mask_ ? s_.batch : 1) * rows, columns, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t b = i / rows, s = i % rows;
                const bool is_cut = o_.is_causal && s < s_.rows - 1;
                for (dim_t t = 0; t < columns; t++)
                    y[i * columns + t] = is_cut && t > past + s        ? std::numeric_limits<float>::lowest()
                                         : counts(m, b, s, t, columns) ? 0.f
                                                                       : o_.penalty;
            }
        });
    }
    bool counts(const run_memory &m, dim_t b, dim_t s, dim_t t, dim_t columns) const {
        if (!mask_)
            return true;
        const auto *const mask = m.at<std::int32_t>(*mask_);
        if (mask_dims_.size() == 1)
            return t < mask[b];
        return mask[(mask_dims_.size() == 3 ? b * s_.rows + s : b) * columns + t] != 0;
    }

    const std::int32_t *beams_of(const run_memory &m, dim_t b) const {
        return m.at<std::int32_t>(*beams_) + b * beam_dims_[2];
    }
    bool has_beams() const override { return beams_.has_value(); }
    std::optional<loops::key_beams> beams(const run_memory &m, dim_t b) const override {
        if (!beams_)
            return std::nullopt;
        const dim_t rows = s_.groups * s_.rows_of_keys();
        return loops::key_beams{beams_of(m, b), b % beam_dims_[1], rows * s_.width, rows * s_.value_width};
    }

    loops::score_terms terms(const run_memory &m, dim_t b, dim_t h) const override {
        loops::score_terms terms;
        if (summand_) {
            const summand x = of_head(m.at<float>(*summand_), summand_dims_, b, h);
            terms.summands[0] = x.first;
            terms.summand_rows[0] = x.row;
        }
        if (penalties_) {
            const dim_t rows = rows_of_mask(), columns = mask_columns(m);
            terms.summands[1] = m.at<float>(*penalties_) + (mask_ ? b * rows * columns : 0);
            terms.summand_rows[1] = rows == 1 ? 0 : columns;
        }
        keep(terms, loops::score_terms::stage::summed, m, b, h);
        return terms;
    }

    mask_options o_;
    std::optional<buffer> mask_, summand_, length_, penalties_, beams_;
    memory::dims mask_dims_, summand_dims_, beam_dims_;
};

// ---- Sizes, and what is refused

attention_sizes sizes_of(const memory::dims &q, const memory::dims &k, const memory::dims &v, dim_t past,
                         dim_t heads) {
    const bool are_heads = k.size() == 4;
    const dim_t width = q[2] / heads, added = k[are_heads ? 2 : 1],
                value_width = are_heads ? v[3] : v[2] / heads;
    const auto rows_of = [&](dim_t n) {
        return are_heads ? head_rows::one_by_one(heads, added, n)
                         : head_rows::side_by_side(added, heads * n, n);
    };
    return {q[0],
            heads,
            heads,
            q[1],
            width,
            value_width,
            past,
            added,
            head_rows::side_by_side(q[1], q[2], width),
            rows_of(width),
            rows_of(value_width),
            head_rows::side_by_side(q[1], heads * value_width, value_width)};
}

void check_masks(const lowering &l, const head_inputs &in, const attention_sizes &s) {
    if (l.has_input(in.bias) &&
        element_count(l.input(in.bias, {data_type::f32}).dims) != s.heads * (2 * s.width + s.value_width))
        refuse("bias is " + to_text(l.input(in.bias).dims) +
               ", allowed: " + to_text({s.heads * (2 * s.width + s.value_width)}));
    if (l.has_input(in.summand))
        l.input(in.summand, {data_type::f32});
    if (!l.has_input(in.mask))
        return;
    const memory::dims &mask = l.input(in.mask, {data_type::s32}).dims;
    const dim_t keys = s.keeps_rows && !mask.empty() ? mask.back() : s.rows_of_keys();
    if (mask != memory::dims{s.batch} && mask != memory::dims{s.batch, keys} &&
        mask != memory::dims{s.batch, s.rows, keys})
        refuse_as_unimplemented("a mask " + to_text(mask) + " for scores " +
                                to_text({s.batch, s.heads, s.rows, keys}) + ", allowed are " +
                                to_text({s.batch, keys}) + ", " + to_text({s.batch, s.rows, keys}) + " and " +
                                to_text({s.batch}));
}

float scale_of(const lowering &l, dim_t width) {
    return scale_or(l, 1.f / std::sqrt(static_cast<float>(width)));
}

std::unique_ptr<step> lower_multi_head_attention(const lowering &l) {
    constexpr const head_inputs &in = of_several;
    for (const std::size_t i : {std::size_t{8}, std::size_t{9}})
        if (l.has_input(i))
            refuse_as_unimplemented("input " + std::to_string(i) + " is given, allowed: inputs 0 to 7");
    for (std::size_t i = 0; i < 3; i++)
        l.input(i, {data_type::f32});
    const memory::dims &k = l.input(1).dims;
    const bool has_past = l.has_input(in.past_key), has_more = l.get_node().outputs.size() > 1,
               are_heads = k.size() == 4, is_causal = l.integer("unidirectional", 0) == 1;
    if (has_past != l.has_input(in.past_value) || (has_past && are_heads))
        refuse_as_unimplemented("past keys without past values, or before keys that are split to heads");
    const attention_sizes s = sizes_of(l.input(0).dims, k, l.input(2).dims,
                                       has_past ? l.input(in.past_key).dims[2] : 0, l.integer("num_heads"));
    check_masks(l, in, s);
    attention_places places{in.past_key, in.past_value, in.bias, 1, 2, y_scores, !are_heads};
    std::optional<loops::attention_tiles> tiles;
    if (!l.has_input(in.mask) && !l.has_input(in.summand) && !has_past && !has_more && !is_causal &&
        !are_heads) {
        const dim_t keys = std::clamp<dim_t>(level_2_cache / (16 * (s.width + s.value_width)), 1,
                                             std::max<dim_t>(s.added, 1));
        tiles = {std::max<dim_t>(1, std::min({keys, s.width + s.value_width, s.rows})), keys, true};
    }
    return std::make_unique<multi_head_attention>(
        l, s, places, in, scale_of(l, s.width),
        mask_options{l.real("mask_filter_value", -10000.f), is_causal && s.rows > 1}, tiles);
}

/// {batch / beams, beams, rows of the past}.
void check_beams(const lowering &l, const attention_sizes &s) {
    if (!l.has_input(of_decoder.beams))
        return;
    const memory::dims &beams = l.input(of_decoder.beams, {data_type::s32}).dims;
    if (!s.keeps_rows || beams.size() != 3 || beams[0] * beams[1] != s.batch || beams[2] != s.past)
        refuse("cache_indirection is " + to_text(beams) +
               ", allowed are 3 dimensions, the first two with the "
               "product " +
               std::to_string(s.batch) + ", the last " + std::to_string(s.past) +
               ", the rows of past_key, which has to be given");
}

std::unique_ptr<step> lower_decoder_masked_attention(const lowering &l) {
    constexpr const head_inputs &in = of_decoder;
    for (std::size_t i = 0; i < 3; i++)
        l.input(i, {data_type::f32});
    const memory::dims &q = l.input(0).dims, &k = l.input(1).dims;
    const bool has_past = l.has_input(in.past_key), are_heads = k.size() == 4;
    if (has_past != l.has_input(in.past_value) || has_past == are_heads || q[1] != 1)
        refuse_as_unimplemented("queries " + to_text(q) + " and keys " + to_text(k) + " with" +
                                (has_past ? "" : "out") +
                                " past_key and past_value, allowed is one row with past keys and values, or "
                                "keys of 4 dimensions without them");
    if (has_past && (l.integer("past_present_share_buffer", 0) == 0 || !l.has_input(in.length)))
        refuse_as_unimplemented("attribute 'past_present_share_buffer' is 0, or past_sequence_length absent");
    attention_sizes s =
        sizes_of(q, k, l.input(2).dims, has_past ? l.input(in.past_key).dims[2] : 0, l.integer("num_heads"));
    s.keeps_rows = has_past;
    if (has_past)
        l.input(in.length, {data_type::s32});
    check_beams(l, s);
    check_masks(l, in, s);
    return std::make_unique<multi_head_attention>(
        l, s, attention_places{in.past_key, in.past_value, in.bias, 1, 2, y_scores, !are_heads}, in,
        scale_of(l, s.width), mask_options{l.real("mask_filter_value", -10000.f), false}, std::nullopt);
}

// ---- Shapes, and whether rows of a batch stay apart

/// y, keys and values in as many rows as past ones, scores with the keys that a mask, or the length, tells.
void infer_decoder_masked_attention(node_shapes &n) {
    const dim_t heads = n.integer("num_heads", 0);
    const memory::dims q = n.dims_of_rank(0, 3), k = n.dims_of_rank(1, 3), v = n.dims_of_rank(2, 3);
    if (heads < 1 || q.size() != 3 || q[2] % heads != 0 || k.size() != v.size() || k.size() > 4)
        refuse("attribute 'num_heads' is " + std::to_string(heads) + " for queries " + to_text(q) +
               ", allowed: 1 or more that divide their last dimension");
    const attention_sizes s = sizes_of(q, k, v, 0, heads);
    n.set_output(data_type::f32, {q[0], q[1], heads * s.value_width});
    if (!n.has_input(of_decoder.past_key) || !n.has_input(of_decoder.past_value))
        return n.set_output(data_type::f32, {q[0], heads, q[1], s.added}, y_scores);
    n.set_output(data_type::f32, n.dims_of_rank(of_decoder.past_key, 4), 1);
    n.set_output(data_type::f32, n.dims_of_rank(of_decoder.past_value, 4), 2);
    const auto known =
        n.has_input(of_decoder.length) ? known_integers(n.input(of_decoder.length)) : std::nullopt;
    if (known && known->size() == 1 && known->front() >= 0)
        n.set_output(data_type::f32, {q[0], heads, q[1], known->front() + s.added}, y_scores);
}

bool several_keep_rows(const node_rows &o) {
    constexpr const head_inputs &in = of_several;
    return o.depends(0) && o.depends(1) && o.depends(2) && !o.depends(in.bias) && !o.has(in.past_key) &&
           (!o.has(in.mask) || (o.depends(in.mask) && o.rank(in.mask) > 1)) &&
           (!o.has(in.summand) || o.rank(in.summand) == 4);
}

using namespace row_words;

constexpr row onnx_multi_head_attention_rows[] = {
    row("DecoderMaskedMultiHeadAttention", {3, 11}, lower_decoder_masked_attention,
        infer_decoder_masked_attention, rows::never)
        .in(domains::microsoft)
        .single_rows()
        .sizes(flow::rows),
    row("MultiHeadAttention", {1, 10}, lower_multi_head_attention, shape::multi_head_attention,
        several_keep_rows)
        .in(domains::microsoft)
        .single_rows()
        .sizes(flow::rows),
};

} // namespace

operator_rows onnx_multi_head_attention_operators() { return onnx_multi_head_attention_rows; }

} // namespace octet::model
