// GroupQueryAttention: new keys and values go behind the past ones, rotated if asked for, then each head of queries
// attends to the keys and values of its group, in one of three orders of operations (loops/attention.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "loops/attention.hpp"
#include "loops/rotary.hpp"
#include "network/lower/appending.hpp"
#include "network/onnx/ops/group_query_cache.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/known_integers.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

namespace group_in {
constexpr std::size_t query = 0, key = 1, value = 2, past_key = 3, past_value = 4, lengths = 5, total = 6,
                      cosines = 7, sines = 8, positions = 9, bias = 10, sink = 11, key_scales = 12,
                      value_scales = 13;
} // namespace group_in
namespace group_out {
constexpr std::size_t y = 0, present_key = 1, present_value = 2, scores = 3;
} // namespace group_out

/// Attributes that say how caches are quantized.
template <typename Node> void read_code_options(const Node &n, group_sizes &s) {
    const std::string kind = n.text("k_quant_type", "NONE");
    if (kind != n.text("v_quant_type", "NONE") ||
        (kind != "NONE" && kind != "PER_TENSOR" && kind != "PER_CHANNEL"))
        refuse("attributes 'k_quant_type' and 'v_quant_type' are " + kind + " and " +
               n.text("v_quant_type", "NONE") + ", allowed: the same of NONE, PER_TENSOR and PER_CHANNEL");
    if (kind == "NONE")
        return;
    const std::int64_t bits = n.integer("kv_cache_bit_width", 0);
    if (bits != 8 && bits != 4)
        refuse("attribute 'kv_cache_bit_width' is " + std::to_string(bits) + ", allowed: 8 and 4");
    s.code_bits = static_cast<int>(bits);
    s.has_scales_of_elements = kind == "PER_CHANNEL";
}

group_sizes sizes_of(const memory::dims &query, dim_t heads, dim_t groups, bool is_packed) {
    if (heads < 1 || groups < 1 || heads % groups != 0)
        refuse("attributes 'num_heads' and 'kv_num_heads' are " + std::to_string(heads) + " and " +
               std::to_string(groups) + ", allowed: 1 or more, the first a multiple of the second");
    const dim_t count = is_packed ? heads + 2 * groups : heads;
    if (query.size() != 3 || query[2] % count != 0 || query[2] == 0)
        refuse("input 0 is " + to_text(query) + ", allowed are 3 dimensions, the last a multiple of " +
               std::to_string(count) + " heads");
    return {query[0], query[1], heads, groups, query[2] / count, 0, 0, is_packed};
}

// ---- How it runs

struct group_options {
    float scale, softcap;
    dim_t window;
    bool rotates, is_interleaved, smooth, keeps_rest, rows_alike;
    dim_t kept; ///< 0: no scores are an output; 1: before softmax, 2: behind it
};

class group_query_attention final : public loop_step, public appending_step {
public:
    group_query_attention(const lowering &l, const group_sizes &sizes, const group_options &options)
        : s_(sizes), o_(options), query_(l.input_buffer(group_in::query)),
          lengths_(l.input_buffer(group_in::lengths)), total_(l.input_buffer(group_in::total)),
          dst_(l.output_buffer(group_out::y)), keys_(l, sizes, group_in::past_key, group_out::present_key,
                                                     group_in::key_scales, options.keeps_rest),
          values_(l, sizes, group_in::past_value, group_out::present_value, group_in::value_scales,
                  options.keeps_rest),
          rotary_(s_.width, options.rotates ? 2 * l.input(group_in::cosines).dims.back() : 0,
                  options.is_interleaved) {
        if (!s_.is_packed) {
            key_ = l.input_buffer(group_in::key);
            value_ = l.input_buffer(group_in::value);
        }
        const auto take = [&](std::optional<buffer> &b, std::size_t i) {
            if (l.has_input(i) && element_count(l.input(i).dims) > 0)
                b = l.input_buffer(i);
        };
        take(positions_, group_in::positions);
        take(bias_, group_in::bias);
        take(sink_, group_in::sink);
        if (bias_)
            bias_dims_ = l.input(group_in::bias).dims;
        if (o_.rotates) {
            cosines_ = l.input_buffer(group_in::cosines);
            sines_ = l.input_buffer(group_in::sines);
            angles_ = l.input(group_in::cosines).dims[0];
        }
        if (o_.kept != 0)
            scores_ = l.output_buffer(group_out::scores);
        const loops::attention_tiles t = tiles(s_.most_keys());
        using loops_ = loops::attention_loops;
        const dim_t blocks = s_.batch * s_.heads * ((s_.rows + row_block - 1) / row_block);
        parts_ = scratch_parts(
            l, blocks,
            std::max({s_.most_keys(), loops_::scratch_of_tiles(t, s_.width),
                      loops_::scratch_of_scores(std::min(row_block, s_.rows), s_.most_keys(), s_.width)}) +
                (std::max(t.rows, row_block) + 1) * s_.width);
    }

    void run(const stream &, const run_memory &m) const override {
        const group_run r = check(m);
        append(m, r);
        attend(m, r);
        for (dim_t i = 0; !r.is_in_place && i < s_.batch * s_.groups; i++) {
            keys_.store(m, r, i);
            values_.store(m, r, i);
        }
    }
    bool appends(const buffer &past, const buffer &present) const override {
        return keys_.appends(past, present) || values_.appends(past, present);
    }
    bool takes_last_columns() const override { return false; }
    std::string explain() const override {
        return "a loop over " + std::to_string(s_.batch) + " sequences of " + std::to_string(s_.rows) +
               " rows and " + std::to_string(s_.heads) + " heads in " + std::to_string(s_.groups) + " groups";
    }

private:
    static constexpr dim_t row_block = 64; ///< of queries whose scores are there at once

    /// Blocks of keys and rows, where the longest sequence has so many keys.
    loops::attention_tiles tiles(dim_t longest) const {
        const dim_t most = std::max<dim_t>(1, level_2_cache / (32 * s_.width));
        const dim_t keys = has_origins() ? most : std::clamp<dim_t>(longest, 1, most);
        return {std::max<dim_t>(1, std::min({keys, 2 * s_.width, s_.rows})), keys, false};
    }

    /// Blocks of keys begin where they would if no row had been dropped.
    bool has_origins() const { return o_.rows_alike && s_.sliding_window; }

    // ---- Checks, before anything is written

    dim_t total(const run_memory &m) const { return m.at<std::int32_t>(total_)[0]; }
    bool is_prompt(const run_memory &m) const { return total(m) == s_.rows; }

    group_run check(const run_memory &m) const {
        const dim_t all = total(m);
        if (all < 1 || (!s_.sliding_window && std::max(all, s_.past) != s_.present))
            refuse_value("total_sequence_length", all,
                         s_.present > s_.past
                             ? std::to_string(s_.present) + ", for which the network is planned"
                             : "1 to " + std::to_string(s_.past) + ", the rows of past keys");
        if (!is_prompt(m) && s_.rows > 1 && s_.batch > 1)
            refuse_value("the batch of several rows behind a past", s_.batch, "1");
        if (bias_ && bias_dims_[3] != all)
            refuse_value("the last dimension of attention_bias", bias_dims_[3],
                         std::to_string(all) + ", as total_sequence_length");
        std::vector<dim_t> past, keys;
        for (dim_t b = 0; b < s_.batch; b++) {
            const dim_t given = dim_t{m.at<std::int32_t>(lengths_)[b]} + 1,
                        least = is_prompt(m) ? 1 : s_.rows,
                        most =
                            is_prompt(m) || s_.sliding_window ? all : std::min(s_.past + s_.rows, s_.present);
            if (given < least || given > most)
                refuse_value("element " + std::to_string(b) + " of seqlens_k", given - 1,
                             std::to_string(least - 1) + " to " + std::to_string(most - 1));
            keys.push_back(given);
            past.push_back(is_prompt(m) ? 0 : given - s_.rows);
        }
        const group_run r = plan_run(s_, past, keys);
        for (dim_t i = 0; o_.rotates && i < s_.batch * s_.rows; i++)
            if (const dim_t p = position(m, r, i / s_.rows, i % s_.rows); p < 0 || p >= angles_)
                refuse_value("a position", p, "0 to " + std::to_string(angles_ - 1));
        return r;
    }

    dim_t position(const run_memory &m, const group_run &r, dim_t b, dim_t s) const {
        const auto *positions = positions_ ? m.at<std::int32_t>(*positions_) : nullptr;
        if (is_prompt(m))
            return (positions ? dim_t{positions[0]} : 0) + s;
        return positions ? dim_t{positions[b * s_.rows + s]}
                         : r.sequences[static_cast<std::size_t>(b)].position + s;
    }

    // ---- Keys and values

    head_rows new_rows(bool are_keys) const {
        if (!s_.is_packed)
            return head_rows::side_by_side(s_.rows, s_.groups * s_.width, s_.width);
        return head_rows::side_by_side(s_.rows, (s_.heads + 2 * s_.groups) * s_.width, s_.width,
                                       (s_.heads + (are_keys ? 0 : s_.groups)) * s_.width);
    }
    head_rows queries() const {
        return head_rows::side_by_side(s_.rows, (s_.heads + (s_.is_packed ? 2 * s_.groups : 0)) * s_.width,
                                       s_.width);
    }

    void rotate(const run_memory &m, dim_t position, const float *x, float *y) const {
        const dim_t angle = position * rotary_.rotated / 2;
        rotary_.rotate(x, m.at<float>(*cosines_) + angle, m.at<float>(*sines_) + angle, y);
    }

    void append(const run_memory &m, const group_run &r) const {
        const auto row_of = [&](bool are_keys) {
            const float *const rows = m.at<float>(s_.is_packed ? query_ : are_keys ? key_ : value_);
            return [this, &m, &r, rows, are_keys, at = new_rows(are_keys)](dim_t i, dim_t s, float *rotated) {
                const float *const row = at.at(rows, i / s_.groups, i % s_.groups) + s * at.row;
                if (!are_keys || !o_.rotates)
                    return row;
                rotate(m, position(m, r, i / s_.groups, s), row, rotated);
                return static_cast<const float *>(rotated);
            };
        };
        const group_cache::row_source keys = row_of(true), values = row_of(false);
        parts_.run(m, s_.batch * s_.groups, 2 * s_.most_keys() * s_.width, [&](dim_t i, float *scratch) {
            keys_.append(m, r, i, keys, scratch);
            values_.append(m, r, i, values, scratch);
        });
    }

    // ---- Scores and what they choose

    void attend(const run_memory &m, const group_run &r) const {
        const bool is_tiled =
            (total(m) > 1 || o_.rows_alike) && o_.softcap == 0.f && !o_.smooth && !sink_ && o_.kept == 0;
        const dim_t longest = r.longest();
        const loops::attention_tiles t = tiles(longest);
        const dim_t block = !is_tiled ? row_block : t.rows, blocks = (s_.rows + block - 1) / block;
        parts_.run(m, s_.batch * s_.heads * blocks, std::min(block, s_.rows) * longest * s_.width / 4,
                   [&](dim_t i, float *scratch) {
                       const dim_t b = i / blocks / s_.heads, h = i / blocks % s_.heads,
                                   first = i % blocks * block;
                       const dim_t group = b * s_.groups + h / (s_.heads / s_.groups);
                       loops::attention_head head = head_of(m, r, b, h, group);
                       const loops::cached_codes keys = keys_.codes(m, r, group),
                                                 values = values_.codes(m, r, group);
                       if (s_.code_bits != 0) {
                           head.key_codes = &keys;
                           head.value_codes = &values;
                       }
                       if (o_.rotates) {
                           const dim_t rows = std::min(block, s_.rows - first);
                           for (dim_t s = 0; s < rows; s++)
                               rotate(m, position(m, r, b, first + s), head.q + (first + s) * head.q_row,
                                      scratch + s * s_.width);
                           head.q = scratch - first * s_.width;
                           head.q_row = s_.width;
                           scratch += rows * s_.width;
                       }
                       if (!is_tiled)
                           loop_.by_scores(head, terms_of(m, b, h, head), first,
                                           std::min(block, s_.rows - first), scratch);
                       else if (s_.rows == 1 && s_.code_bits == 0 && !o_.rows_alike)
                           loop_.row_by_keys(head, scratch);
                       else
                           loop_.in_tiles(head, t, first, scratch);
                   });
    }

    loops::attention_head head_of(const run_memory &m, const group_run &r, dim_t b, dim_t h,
                                  dim_t group) const {
        const head_rows from = queries(),
                        to = head_rows::side_by_side(s_.rows, s_.heads * s_.width, s_.width);
        const group_sequence &q = r.sequences[static_cast<std::size_t>(b)];
        const auto floats = [&](const group_cache &c) {
            return s_.code_bits == 0 ? reinterpret_cast<const float *>(c.rows(m, r, group)) : nullptr;
        };
        loops::attention_head head{from.at(m.at<float>(query_), b, h),
                                   floats(keys_),
                                   floats(values_),
                                   to.at(m.at<float>(dst_), b, h),
                                   from.row,
                                   s_.width,
                                   s_.width,
                                   to.row,
                                   s_.rows,
                                   q.keys,
                                   s_.width,
                                   s_.width,
                                   o_.scale};
        head.rows_alike = o_.rows_alike;
        head.origin = has_origins() ? q.position - q.past : 0;
        head.is_causal = true;
        head.past = q.past;
        head.window = o_.window;
        if (bias_) {
            head.bias_row = bias_dims_[3];
            head.bias = m.at<float>(*bias_) +
                        ((bias_dims_[0] == 1 ? 0 : b) * bias_dims_[1] + (bias_dims_[1] == 1 ? 0 : h)) *
                            bias_dims_[2] * bias_dims_[3];
        }
        return head;
    }

    loops::score_terms terms_of(const run_memory &m, dim_t b, dim_t h,
                                const loops::attention_head &head) const {
        using stage = loops::score_terms::stage;
        loops::score_terms terms;
        terms.softcap = o_.softcap;
        terms.summands[0] = head.bias;
        terms.summand_rows[0] = head.bias_row;
        if (sink_)
            terms.sink = m.at<float>(*sink_)[h];
        else if (o_.smooth)
            terms.sink = 0.f;
        if (o_.kept != 0) {
            terms.kept_row = scores_.get_desc().dims()[3];
            terms.kept = m.at<float>(scores_) + (b * s_.heads + h) * s_.rows * terms.kept_row;
            terms.kept_stage = o_.kept == 1 ? stage::summed : stage::weights;
        }
        return terms;
    }

    group_sizes s_;
    group_options o_;
    buffer query_, lengths_, total_, dst_, key_, value_, scores_;
    group_cache keys_, values_;
    std::optional<buffer> positions_, bias_, sink_, cosines_, sines_;
    memory::dims bias_dims_;
    dim_t angles_ = 0; ///< rows of the caches of cosines and sines
    loops::rotary_rows rotary_;
    loops::attention_loops loop_;
    scratch_parts parts_;
};

// ---- What is refused

void need_dims(const lowering &l, std::size_t i, const char *name, const memory::dims &allowed,
               data_type type = data_type::f32) {
    if (l.input(i, {type}).dims != allowed)
        refuse(std::string(name) + " is " + to_text(l.input(i).dims) + ", allowed: " + to_text(allowed));
}

void check_past(const lowering &l, group_sizes &s) {
    const bool has_past = l.has_input(group_in::past_key);
    if (has_past != l.has_input(group_in::past_value))
        refuse("one of past_key and past_value is given, allowed are both or none");
    if (!has_past)
        return;
    const memory::dims &past = l.input(group_in::past_key).dims;
    s.past = past.size() == 4 ? past[2] : 0;
    need_dims(l, group_in::past_key, "past_key", s.cache(s.past), s.type());
    need_dims(l, group_in::past_value, "past_value", s.cache(s.past), s.type());
}

void check_sliding_cache(const lowering &l, group_sizes &s) {
    if (l.integer("sliding_window_cache", 0) == 0)
        return;
    const dim_t window = l.integer("local_window_size", -1);
    if (window < 1 || s.past < window)
        refuse("attribute 'local_window_size' is " + std::to_string(window) + " for a sliding cache of " +
               std::to_string(s.past) + " rows, allowed: 1 to the rows of past_key");
    if (s.code_bits != 0 || l.integer("qk_output", 0) != 0 || l.has_input(group_in::positions) ||
        l.has_input(group_in::bias))
        refuse_as_unimplemented("a sliding cache has codes, or a node with one has position_ids, "
                                "attention_bias or 'qk_output'");
    s.sliding_window = window;
}

void check_scales(const lowering &l, const group_sizes &s) {
    const memory::dims allowed =
        s.has_scales_of_elements ? memory::dims{s.groups, 1, s.width} : memory::dims{1};
    for (const auto &[i, name] :
         {std::pair(group_in::key_scales, "k_scale"), std::pair(group_in::value_scales, "v_scale")})
        if (s.code_bits != 0)
            need_dims(l, i, name, allowed);
}

void check_rotation(const lowering &l, const group_sizes &s) {
    const memory::dims &cosines = l.input(group_in::cosines, {data_type::f32}).dims;
    if (cosines.size() != 2 || cosines[1] < 1 || 2 * cosines[1] > s.width || s.width % 16 != 0)
        refuse("cos_cache is " + to_text(cosines) + " for heads of " + std::to_string(s.width) +
               ", allowed are 2 dimensions, the second at most half of a head of a multiple of 16");
    need_dims(l, group_in::sines, "sin_cache", cosines);
    if (l.has_input(group_in::positions) &&
        element_count(l.input(group_in::positions, {data_type::s32}).dims) != s.batch * s.rows)
        refuse("position_ids is " + to_text(l.input(group_in::positions).dims) +
               ", allowed: " + to_text({s.batch, s.rows}));
}

void check_scores(const lowering &l, const group_sizes &s) {
    if (l.has_input(group_in::bias)) {
        const memory::dims &bias = l.input(group_in::bias, {data_type::f32}).dims;
        if (bias.size() != 4 || (bias[0] != 1 && bias[0] != s.batch) ||
            (bias[1] != 1 && bias[1] != s.heads) || bias[2] != s.rows)
            refuse("attention_bias is " + to_text(bias) + ", allowed: (1 or batch)x(1 or heads)x" +
                   std::to_string(s.rows) + "xtotal_sequence_length");
    }
    if (l.has_input(group_in::sink))
        need_dims(l, group_in::sink, "head_sink", {s.heads});
}

group_options options_of(const lowering &l, const group_sizes &s) {
    group_options o{};
    const float scale = l.real("scale", 0.f);
    o.scale = scale != 0.f ? scale : 1.f / std::sqrt(static_cast<float>(s.width));
    o.softcap = l.real("softcap", 0.f);
    o.window = l.integer("local_window_size", -1);
    o.rotates = l.integer("do_rotary", 0) != 0;
    o.is_interleaved = l.integer("rotary_interleaved", 0) != 0;
    o.smooth = l.integer("smooth_softmax", 0) > 0;
    o.keeps_rest = s.sliding_window || l.integer("past_present_share_buffer", 0) != 0;
    o.rows_alike = !l.marks().sums_rows_alone;
    o.kept = l.integer("qk_output", 0);
    if (o.softcap < 0.f || o.window < -1 || o.kept < 0 || o.kept > 2)
        refuse("attribute 'softcap', 'local_window_size' or 'qk_output' is " + std::to_string(o.softcap) +
               ", " + std::to_string(o.window) + ", " + std::to_string(o.kept) +
               ", allowed: 0 or more, -1 or more, 0 to 2");
    return o;
}

std::unique_ptr<step> lower_group_query_attention(const lowering &l) {
    group_sizes s = sizes_of(l.input(group_in::query, {data_type::f32}).dims, l.integer("num_heads", 0),
                             l.integer("kv_num_heads", 0), !l.has_input(group_in::key));
    read_code_options(l, s);
    if (s.code_bits != 0 && l.integer("past_present_share_buffer", 0) == 0 &&
        !l.has_input(group_in::past_key))
        refuse("past_key is absent, which quantized caches need");
    if (s.width % 8 != 0)
        refuse("heads have " + std::to_string(s.width) + " elements, allowed: a multiple of 8");
    if (!s.is_packed) {
        need_dims(l, group_in::key, "key", {s.batch, s.rows, s.groups * s.width});
        need_dims(l, group_in::value, "value", {s.batch, s.rows, s.groups * s.width});
    }
    check_past(l, s);
    check_sliding_cache(l, s);
    check_scales(l, s);
    const tensor &y = l.output(group_out::y, {data_type::f32});
    if (l.get_node().outputs.size() <= group_out::present_value)
        refuse_as_unimplemented("present_key or present_value is no output, allowed are both");
    s.present = l.output(group_out::present_key, {s.type()}).dims[2];
    if (element_count(l.input(group_in::lengths, {data_type::s32}).dims) != s.batch ||
        element_count(l.input(group_in::total, {data_type::s32}).dims) != 1 ||
        y.dims != memory::dims{s.batch, s.rows, s.heads * s.width})
        refuse("seqlens_k is " + to_text(l.input(group_in::lengths).dims) + " and total_sequence_length " +
               to_text(l.input(group_in::total).dims) + ", allowed: " + to_text({s.batch}) +
               " and one number");
    const group_options o = options_of(l, s);
    if (o.rotates)
        check_rotation(l, s);
    check_scores(l, s);
    return std::make_unique<group_query_attention>(l, s, o);
}

// ---- Shapes, and whether rows of a batch stay apart

/// Whether an output is declared to have the rows of the past: they have room for the new ones.
bool has_room(const node_shapes &n, dim_t past) {
    const std::optional<memory::dims> &declared = n.marks().declared;
    return past > 0 && declared && declared->size() == 4 && (*declared)[2] == past;
}

/// y, keys and values with those that are past, scores. As many keys are there as total_sequence_length says, which
/// follows from sizes where the mask's does; if it is unknown, the new ones come behind all that are past.
void infer_group_query_attention(node_shapes &n) {
    const dim_t heads = n.integer("num_heads", 0), groups = n.integer("kv_num_heads", 0);
    group_sizes s = sizes_of(n.dims(group_in::query), heads, groups, !n.has_input(group_in::key));
    read_code_options(n, s);
    const dim_t past = n.has_input(group_in::past_key) ? n.dims_of_rank(group_in::past_key, 4)[2] : 0;
    const auto known = known_integers(n.input(group_in::total));
    const dim_t total = known && known->size() == 1 ? known->front()
                        : has_room(n, past)         ? past
                                                    : past + s.rows;
    const dim_t present = n.integer("sliding_window_cache", 0) != 0 ? past : std::max(total, past);
    n.set_output(data_type::f32, {s.batch, s.rows, s.heads * s.width});
    n.set_output(s.type(), s.cache(present), group_out::present_key);
    n.set_output(s.type(), s.cache(present), group_out::present_value);
    n.set_output(data_type::f32, {s.batch, s.heads, s.rows, total}, group_out::scores);
}

using namespace row_words;

constexpr row onnx_group_query_attention_rows[] = {
    row("GroupQueryAttention", {7, 14}, lower_group_query_attention, infer_group_query_attention, rows::never)
        .in(domains::microsoft)
        .single_rows()
        .sizes(flow::rows),
};

} // namespace

operator_rows onnx_group_query_attention_operators() { return onnx_group_query_attention_rows; }

} // namespace octet::model
