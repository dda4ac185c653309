// The standard's Attention: one mask, into which causal order goes. Sums of products begin with it unless scores are
// capped or handed out as they are before it.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "network/onnx/ops/attention_step.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

namespace attention_in {
constexpr std::size_t q = 0, k = 1, v = 2, mask = 3, past_key = 4, past_value = 5, lengths = 6;
} // namespace attention_in
constexpr attention_places places{attention_in::past_key, attention_in::past_value, 7}; // there is no bias

struct onnx_attention_options {
    float softcap;
    bool is_causal;
    int scores; ///< the stage that output 3 has
};

class onnx_attention final : public attention_step {
public:
    onnx_attention(const lowering &l, const attention_sizes &sizes, float scale,
                   const onnx_attention_options &options)
        : attention_step(l, sizes, places, scale), o_(options), mask_(input_of(l, attention_in::mask)),
          lengths_(input_of(l, attention_in::lengths)) {
        if (mask_) {
            mask_dims_ = l.input(attention_in::mask).dims;
            mask_dims_.insert(mask_dims_.begin(), 4 - mask_dims_.size(), 1);
            is_truth_ = l.input(attention_in::mask).type == data_type::u8;
        }
        const bool is_each = mask_dims_[0] > 1 || (o_.is_causal && lengths_);
        dims_ = {is_each ? s_.batch : 1, mask_dims_[1], s_.rows, s_.rows_of_keys()};
        if (mask_ || o_.is_causal)
            penalties_ = l.scratch(memory::desc(dims_, data_type::f32, format_tag::abcd));
    }

private:
    /// The last key that row 0 sees; the causal order is left out for one row behind a past.
    dim_t first_end(const run_memory &m, dim_t b) const {
        return lengths_ ? length(m, b) - s_.rows : s_.past;
    }
    dim_t length(const run_memory &m, dim_t b) const { return m.at<std::int32_t>(*lengths_)[b]; }

    void prepare_masks(const run_memory &m) const override {
        for (dim_t b = 0; lengths_ && b < s_.batch; b++)
            if (const dim_t n = length(m, b); n < 0 || n > s_.rows_of_keys())
                refuse_value("element " + std::to_string(b) + " of nonpad_kv_seqlen", n,
                             "0 to " + std::to_string(s_.rows_of_keys()));
        if (!penalties_)
            return;
        constexpr float lowest = std::numeric_limits<float>::lowest();
        auto *const y = m.at<float>(*penalties_);
        const dim_t columns = dims_[3], per_batch = dims_[1] * dims_[2];
        loops::parallel_for(dims_[0] * per_batch, columns, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t b = i / per_batch, h = i / dims_[2] % dims_[1], s = i % dims_[2];
                const dim_t from =
                    ((mask_dims_[0] == 1 ? 0 : b) * dims_[1] + h) * per_row_block() + s * columns;
                const dim_t seen = o_.is_causal ? first_end(m, b) + s : columns;
                for (dim_t t = 0; t < columns; t++)
                    y[i * columns + t] = t > seen    ? lowest
                                         : !mask_    ? 0.f
                                         : is_truth_ ? (m.at<std::uint8_t>(*mask_)[from + t] ? 0.f : lowest)
                                                     : m.at<float>(*mask_)[from + t];
            }
        });
    }
    dim_t per_row_block() const { return dims_[2] * dims_[3]; }

    loops::score_terms terms(const run_memory &m, dim_t b, dim_t h) const override {
        using stage = loops::score_terms::stage;
        constexpr stage stages[] = {stage::products, stage::capped, stage::summed, stage::weights};
        loops::score_terms terms;
        terms.softcap = o_.softcap;
        terms.lowest_is_none = true;
        if (lengths_)
            terms.counted = length(m, b);
        keep(terms, stages[o_.scores], m, b, h);
        if (!penalties_)
            return terms;
        const summand mask = of_head(m.at<float>(*penalties_), dims_, b, h);
        if (o_.softcap == 0.f && (!scores_ || o_.scores > 1)) {
            terms.folded = mask.first;
            terms.folded_row = dims_[3];
        } else {
            terms.summands[0] = mask.first;
            terms.summand_rows[0] = dims_[3];
        }
        return terms;
    }

    onnx_attention_options o_;
    std::optional<buffer> mask_, lengths_, penalties_;
    memory::dims mask_dims_ = {1, 1, 1, 1}, dims_;
    bool is_truth_ = false;
};

// ---- Sizes

/// Of {batch, rows, heads * width} with attributes for heads, or {batch, heads, rows, width}.
struct onnx_heads {
    dim_t batch, heads, rows, width;
    head_rows at;
};
onnx_heads heads_of(const memory::dims &x, const char *name, dim_t given) {
    if (x.size() == 4)
        return {x[0], x[1], x[2], x[3], head_rows::one_by_one(x[1], x[2], x[3])};
    if (x.size() != 3 || given < 1 || x[2] % given != 0)
        refuse("input " + std::string(name) + " is " + to_text(x) + " for " + std::to_string(given) +
               " heads, allowed are 4 dimensions, or 3 with attributes q_num_heads and kv_num_heads that "
               "divide the last");
    return {x[0], given, x[1], x[2] / given, head_rows::side_by_side(x[1], x[2], x[2] / given)};
}

attention_sizes sizes_of(const memory::dims &q, const memory::dims &k, const memory::dims &v, dim_t past,
                         dim_t q_heads, dim_t kv_heads) {
    const onnx_heads of_q = heads_of(q, "Q", q_heads), of_k = heads_of(k, "K", kv_heads),
                     of_v = heads_of(v, "V", kv_heads);
    if (of_k.batch != of_q.batch || of_v.batch != of_q.batch || of_k.heads != of_v.heads ||
        of_k.rows != of_v.rows || of_k.width != of_q.width || of_k.heads < 1 ||
        of_q.heads % of_k.heads != 0 || q.size() != k.size() || k.size() != v.size())
        refuse("inputs Q, K and V are " + to_text(q) + ", " + to_text(k) + " and " + to_text(v) +
               ", which do not fit each other");
    const head_rows y = q.size() == 4
                            ? head_rows::one_by_one(of_q.heads, of_q.rows, of_v.width)
                            : head_rows::side_by_side(of_q.rows, of_q.heads * of_v.width, of_v.width);
    return {of_q.batch, of_q.heads, of_k.heads, of_q.rows, of_q.width, of_v.width,
            past,       of_k.rows,  of_q.at,    of_k.at,   of_v.at,    y};
}

void check_inputs(const lowering &l, const attention_sizes &s) {
    const auto need = [&](std::size_t i, const char *name, const memory::dims &allowed) {
        if (l.input(i).dims != allowed)
            refuse(std::string(name) + " is " + to_text(l.input(i).dims) + ", allowed: " + to_text(allowed));
    };
    if (l.has_input(attention_in::past_key) != l.has_input(attention_in::past_value) ||
        (l.has_input(attention_in::past_key) && l.has_input(attention_in::lengths)))
        refuse("past_key, past_value and nonpad_kv_seqlen are given in part or together, allowed are both "
               "of the first, or the third");
    if (l.has_input(attention_in::past_key)) {
        l.input(attention_in::past_key, {data_type::f32});
        l.input(attention_in::past_value, {data_type::f32});
        need(attention_in::past_key, "past_key", {s.batch, s.groups, s.past, s.width});
        need(attention_in::past_value, "past_value", {s.batch, s.groups, s.past, s.value_width});
    }
    if (l.has_input(attention_in::lengths)) {
        l.input(attention_in::lengths, {data_type::s32});
        need(attention_in::lengths, "nonpad_kv_seqlen", {s.batch});
    }
    if (!l.has_input(attention_in::mask))
        return;
    memory::dims mask = l.input(attention_in::mask, {data_type::f32, data_type::u8}).dims;
    const std::string given = to_text(mask);
    if (mask.size() >= 2 && mask.size() <= 4)
        mask.insert(mask.begin(), 4 - mask.size(), 1);
    if (mask.size() != 4 || (mask[0] != 1 && mask[0] != s.batch) || (mask[1] != 1 && mask[1] != s.heads) ||
        mask[2] != s.rows || mask[3] != s.rows_of_keys())
        refuse("attn_mask is " + given + ", allowed are 2 to 4 dimensions that end with " +
               to_text({s.rows, s.rows_of_keys()}));
}

attention_sizes sizes_of(const lowering &l) {
    for (const std::size_t i : {attention_in::q, attention_in::k, attention_in::v})
        l.input(i, {data_type::f32});
    const dim_t past = l.has_input(attention_in::past_key) && l.input(attention_in::past_key).dims.size() == 4
                           ? l.input(attention_in::past_key).dims[2]
                           : 0;
    return sizes_of(l.input(attention_in::q).dims, l.input(attention_in::k).dims,
                    l.input(attention_in::v).dims, past, l.integer("q_num_heads", 0),
                    l.integer("kv_num_heads", 0));
}

std::unique_ptr<step> lower_onnx_attention(const lowering &l) {
    const attention_sizes s = sizes_of(l);
    check_inputs(l, s);
    onnx_attention_options o{l.real("softcap", 0.f), l.integer("is_causal", 0) != 0,
                             static_cast<int>(l.integer("qk_matmul_output_mode", 0))};
    if (o.softcap < 0.f || o.scores < 0 || o.scores > 3)
        refuse("attribute 'softcap' or 'qk_matmul_output_mode' is " + std::to_string(o.softcap) + ", " +
               std::to_string(o.scores) + ", allowed: 0 or more, 0 to 3");
    if (s.rows == 1 && s.past > 0)
        o.is_causal = false;
    const auto root = 1. / std::sqrt(static_cast<double>(s.width));
    return std::make_unique<onnx_attention>(l, s, scale_or(l, static_cast<float>(root)), o);
}

void infer_onnx_attention(node_shapes &n) {
    const dim_t past = n.has_input(attention_in::past_key) ? n.dims_of_rank(attention_in::past_key, 4)[2] : 0;
    const attention_sizes s =
        sizes_of(n.dims(attention_in::q), n.dims(attention_in::k), n.dims(attention_in::v), past,
                 n.integer("q_num_heads", 0), n.integer("kv_num_heads", 0));
    const dim_t keys = s.rows_of_keys();
    n.set_output(n.input(attention_in::q).type, n.dims(attention_in::q).size() == 4
                                                    ? memory::dims{s.batch, s.heads, s.rows, s.value_width}
                                                    : memory::dims{s.batch, s.rows, s.heads * s.value_width});
    n.set_output(n.input(attention_in::k).type, {s.batch, s.groups, keys, s.width}, places.present_key);
    n.set_output(n.input(attention_in::v).type, {s.batch, s.groups, keys, s.value_width},
                 places.present_value);
    n.set_output(n.input(attention_in::q).type, {s.batch, s.heads, s.rows, keys}, places.scores);
}

/// A mask has a row for each of the batch, or one for all.
bool onnx_attention_keeps_rows(const node_rows &o) {
    const bool has_own_mask = !o.depends(attention_in::mask) || o.rank(attention_in::mask) == 4;
    return o.depends(attention_in::q) && o.depends(attention_in::k) && o.depends(attention_in::v) &&
           has_own_mask &&
           (!o.has(attention_in::mask) || o.depends(attention_in::mask) || o.rank(attention_in::mask) < 4) &&
           (!o.has(attention_in::past_key) ||
            (o.depends(attention_in::past_key) && o.depends(attention_in::past_value))) &&
           (!o.has(attention_in::lengths) || o.depends(attention_in::lengths));
}

using namespace row_words;

constexpr row onnx_attention_rows[] = {
    row("ai.onnx::Attention", {3, 7}, lower_onnx_attention, infer_onnx_attention, onnx_attention_keeps_rows)
        .single_rows()
        .sizes(flow::rows),
};

} // namespace

operator_rows onnx_attention_operators() { return onnx_attention_rows; }

} // namespace octet::model
