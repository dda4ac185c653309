// The mask of ONNX Runtime's Attention as numbers that are added to scores: 0 where a position counts, else a
// large negative one, and the lowest of all for what comes later than the row of a causal attention.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <optional>

#include "loops/parallel.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

/// How a mask says which columns count.
enum class mask_form { none, columns, pairs, ends, ends_and_starts };

class attention_mask_step final : public loop_step {
public:
    attention_mask_step(const lowering &l, mask_form form, const memory::dims &scores, float penalty,
                        bool is_causal)
        : dst_(l.output_buffer()), form_(form), batch_(scores[0]), rows_(scores[2]), columns_(scores[3]),
          rows_written_(dst_.get_desc().dims()[2]), penalty_(penalty), is_causal_(is_causal) {
        if (l.has_input(0))
            mask_ = l.input_buffer(0);
    }

    void run(const stream &, const run_memory &m) const override {
        const std::int32_t *mask = mask_ ? m.at<std::int32_t>(*mask_) : nullptr;
        if (form_ == mask_form::ends || form_ == mask_form::ends_and_starts)
            check(mask);
        auto *y = m.at<float>(dst_);
        loops::parallel_for(batch_ * rows_written_, columns_, [&](dim_t begin, dim_t end) {
            for (dim_t row = begin; row < end; row++)
                for (dim_t c = 0, r = row % rows_written_; c < columns_; c++) {
                    const bool is_later = is_causal_ && c > columns_ - rows_ + r;
                    y[row * columns_ + c] = is_later ? std::numeric_limits<float>::lowest()
                                            : counts(mask, row / rows_written_, r, c) ? 0.f
                                                                                      : penalty_;
                }
        });
    }
    std::string explain() const override { return "a plain loop over the elements"; }

private:
    bool counts(const std::int32_t *mask, dim_t b, dim_t r, dim_t c) const {
        switch (form_) {
        case mask_form::columns:
            return mask[b * columns_ + c] > 0;
        case mask_form::pairs:
            return mask[(b * rows_ + r) * columns_ + c] > 0;
        case mask_form::ends:
            return c < mask[b];
        case mask_form::ends_and_starts:
            return c < mask[b] && c >= mask[batch_ + b];
        default:
            return true;
        }
    }
    void check(const std::int32_t *ends) const {
        for (dim_t b = 0; b < batch_; b++)
            if (ends[b] < 0)
                throw error(status::invalid_arguments,
                            "an end of the mask is " + std::to_string(ends[b]) + ", allowed: 0 or more");
    }

    std::optional<buffer> mask_;
    buffer dst_;
    mask_form form_;
    dim_t batch_, rows_, columns_, rows_written_; ///< one row for all is written where none has its own
    float penalty_;
    bool is_causal_;
};

mask_form form_of(const lowering &l, const memory::dims &scores) {
    if (!l.has_input(0))
        return mask_form::none;
    const memory::dims &mask = l.input(0, {data_type::s32}).dims;
    if (mask.size() == 1)
        return mask[0] == 2 * scores[0] ? mask_form::ends_and_starts : mask_form::ends;
    if (mask.size() == 3)
        return mask_form::pairs;
    return mask == memory::dims{scores[0], scores[3]} ? mask_form::columns : mask_form::none;
}

std::unique_ptr<step> lower_attention_mask(const lowering &l) {
    const memory::dims scores = l.input(1).dims, &y = l.output({data_type::f32}).dims;
    const auto refuse_shape = [&] {
        refuse("scores " + to_text(scores) + " and their mask do not give " + to_text(y));
    };
    if (scores.size() != 4)
        refuse_shape();
    const mask_form form = form_of(l, scores);
    const bool is_causal = l.integer("unidirectional", 0) != 0 && scores[2] > 1;
    const dim_t rows = is_causal || form == mask_form::pairs ? scores[2] : 1;
    if (y != memory::dims{scores[0], 1, rows, scores[3]})
        refuse_shape();
    const dim_t given = l.has_input(0) ? element_count(l.input(0).dims) : 0;
    if ((form == mask_form::ends && given < scores[0]) ||
        (form == mask_form::pairs && given != scores[0] * scores[2] * scores[3]))
        refuse("the mask does not fit scores " + to_text(scores));
    return std::make_unique<attention_mask_step>(l, form, scores, l.real("mask_filter_value"), is_causal);
}

using namespace row_words;

constexpr row onnx_attention_mask_rows[] = {
    row("AttentionMask", 2, lower_attention_mask, shape::attention_mask, rows::never).internal(),
};

} // namespace

operator_rows onnx_attention_mask_operators() { return onnx_attention_mask_rows; }

} // namespace octet::model
