// Heads, and blocks of their rows, are divided among threads.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/attention_step.hpp"

namespace octet::model {

attention_step::attention_step(const lowering &l, const attention_sizes &sizes,
                               const attention_places &places, float scale,
                               const std::optional<loops::attention_tiles> &tiles)
    : s_(sizes), scale_(scale), rows_alike_(!l.marks().sums_rows_alone), tiles_(tiles),
      query_(l.input_buffer(0)), dst_(l.output_buffer(0)), bias_(input_of(l, places.bias)),
      biases_keys_(places.biases_keys) {
    const auto is_there = [&](std::size_t output) {
        return l.get_node().outputs.size() > output &&
               is_read(l.get_graph(), output_of(l.get_node(), output));
    };
    const auto source_of = [&](std::size_t input, std::size_t past, std::size_t present, dim_t width,
                               const head_rows &at) {
        source s{l.input_buffer(input),
                 input_of(l, past),
                 std::nullopt,
                 at,
                 width,
                 static_cast<dim_t>(input) * s_.heads * s_.width};
        if (is_there(present))
            s.present = l.output_buffer(present);
        else if (s.past || (bias_ && biases_keys_))
            s.present = l.scratch(memory::desc({s_.batch, s_.groups, s_.rows_of_keys(), width},
                                               data_type::f32, format_tag::abcd));
        return s;
    };
    keys_ = source_of(1, places.past_key, places.present_key, s_.width, s_.k);
    values_ = source_of(2, places.past_value, places.present_value, s_.value_width, s_.v);
    if (is_there(places.scores))
        scores_ = l.output_buffer(places.scores);
    using loops_ = loops::attention_loops;
    const dim_t block = tiles_ ? tiles_->rows : row_block, blocks = (s_.rows + block - 1) / block,
                rows = std::min(block, s_.rows);
    parts_ = scratch_parts(l, s_.batch * s_.heads * blocks,
                           rows * s_.width +
                               (tiles_ ? loops_::scratch_of_tiles(*tiles_, s_.width)
                                       : loops_::scratch_of_scores(rows, s_.rows_of_keys(), s_.width)));
}

bool attention_step::appends(const buffer &past, const buffer &present) const {
    const auto does = [&](const source &s) {
        return s.past && s.present && s.past->slot() == past.slot() && s.present->slot() == present.slot();
    };
    return !scores_ && !has_beams() && (does(keys_) || does(values_));
}

float *attention_step::rows_of_group(const run_memory &m, const source &s, dim_t b, dim_t group) const {
    const dim_t elements = s_.rows_of_keys() * s.width, bytes = s_.groups * elements * dim_t{sizeof(float)};
    return reinterpret_cast<float *>(
               m.sequence(*s.present, static_cast<std::size_t>(b), static_cast<std::size_t>(bytes))) +
           group * elements;
}

void attention_step::append(const run_memory &m, const source &s) const {
    if (!s.present)
        return;
    const float *const before = s.past && !are_apart(m) ? m.at<float>(*s.past) : nullptr,
                       *const rows = m.at<float>(s.rows),
                       *const bias = bias_ && biases_keys_ ? m.at<float>(*bias_) + s.bias : nullptr;
    const dim_t written = (before ? s_.rows_of_keys() : s_.added) * s.width;
    loops::parallel_for(s_.batch * s_.groups, written, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++) {
            const dim_t b = i / s_.groups, g = i % s_.groups;
            float *y = rows_of_group(m, s, b, g);
            if (const float *const x = before + i * s_.past * s.width; before && x != y)
                std::copy_n(x, s_.past * s.width, y);
            y += filled(m, b) * s.width;
            const float *const head = s.at.at(rows, b, g);
            for (dim_t t = 0; t < s_.added; t++, y += s.width)
                for (dim_t j = 0; j < s.width; j++)
                    y[j] = bias ? head[t * s.at.row + j] + bias[g * s.width + j] : head[t * s.at.row + j];
        }
    });
}

loops::attention_head attention_step::head_of(const run_memory &m, dim_t b, dim_t h) const {
    const dim_t group = h / (s_.heads / s_.groups), keys = filled(m, b) + s_.added;
    const auto place_of = [&](const source &s) -> const float * {
        return s.present ? rows_of_group(m, s, b, group) : s.at.at(m.at<float>(s.rows), b, group);
    };
    loops::attention_head head{s_.q.at(m.at<float>(query_), b, h),
                               place_of(keys_),
                               place_of(values_),
                               s_.y.at(m.at<float>(dst_), b, h),
                               s_.q.row,
                               keys_.present ? s_.width : keys_.at.row,
                               values_.present ? s_.value_width : values_.at.row,
                               s_.y.row,
                               s_.rows,
                               keys,
                               s_.width,
                               s_.value_width,
                               scale_};
    head.rows_alike = rows_alike_;
    return head;
}

/// Without the columns before the first of so many keys.
loops::score_terms attention_step::shifted_terms(const run_memory &m, dim_t b, dim_t h, dim_t keys) const {
    loops::score_terms t = terms(m, b, h);
    const dim_t before = mask_columns(m) - keys;
    for (const float **const first : {&t.summands[0], &t.summands[1], &t.folded})
        if (*first)
            *first += before;
    return t;
}

void attention_step::run(const stream &, const run_memory &m) const {
    prepare_masks(m);
    append(m, keys_);
    append(m, values_);
    const dim_t block = tiles_ ? tiles_->rows : row_block, blocks = (s_.rows + block - 1) / block;
    parts_.run(m, s_.batch * s_.heads * blocks, std::min(block, s_.rows) * mask_columns(m) * s_.width / 4,
               [&](dim_t i, float *scratch) {
                   const dim_t h = i / blocks % s_.heads, b = i / blocks / s_.heads,
                               first = i % blocks * block, rows = std::min(block, s_.rows - first);
                   loops::attention_head head = head_of(m, b, h);
                   if (bias_) {
                       const float *const bias = m.at<float>(*bias_) + h * s_.width;
                       for (dim_t s = 0; s < rows; s++)
                           for (dim_t j = 0; j < s_.width; j++)
                               scratch[s * s_.width + j] = head.q[(first + s) * head.q_row + j] + bias[j];
                       head.q = scratch - first * s_.width;
                       head.q_row = s_.width;
                       scratch += rows * s_.width;
                   }
                   const std::optional<loops::key_beams> from = beams(m, b);
                   if (from)
                       loop_.row_by_beams(head, *from, terms(m, b, h), scratch);
                   else if (tiles_)
                       loop_.in_tiles(head, *tiles_, first, scratch);
                   else
                       loop_.by_scores(head, shifted_terms(m, b, h, head.keys), first, rows, scratch);
               });
}

std::string attention_step::explain() const {
    return "a loop over " + std::to_string(s_.batch) + " sequences of " + std::to_string(s_.rows) +
           " rows and " + std::to_string(s_.heads) + " heads with " + std::to_string(s_.rows_of_keys()) +
           " keys";
}

} // namespace octet::model
