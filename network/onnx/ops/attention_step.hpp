#pragma once // SPDX-License-Identifier: Apache-2.0

// What MultiHeadAttention, DecoderMaskedMultiHeadAttention and the standard's Attention have in common: keys and values
// go behind the past ones, then each head attends to them. They differ in masks and in the steps between. Where
// sequences lie apart, each has as many rows of the past as it tells, and masks are made as if all had as many as the
// tensors: columns before a sequence's first row are none of its.

#include <optional>

#include "loops/attention.hpp"
#include "network/lower/appending.hpp"
#include "network/onnx/ops/attention_heads.hpp"

namespace octet::model {

struct attention_sizes {
    dim_t batch, heads, groups, rows, width,
        value_width;      ///< of queries; heads of a group share keys and values
    dim_t past, added;    ///< rows that past keys have, and new ones
    head_rows q, k, v, y; ///< inputs as they lie, and the output
    bool keeps_rows =
        false; ///< present keys have as many rows as past ones, of which a run tells how many are filled
    dim_t rows_of_keys() const { return keeps_rows ? past : past + added; }
};

/// The places of a node's inputs and outputs.
struct attention_places {
    std::size_t past_key, past_value, bias;
    std::size_t present_key = 1, present_value = 2, scores = 3;
    bool biases_keys = true; ///< else the bias is added to queries alone
};

class attention_step : public loop_step, public appending_step {
public:
    /// With `tiles` there are no terms.
    attention_step(const lowering &l, const attention_sizes &sizes, const attention_places &places,
                   float scale, const std::optional<loops::attention_tiles> &tiles = std::nullopt);

    void run(const stream &, const run_memory &m) const override;
    bool appends(const buffer &past, const buffer &present) const override;
    bool takes_last_columns() const override { return true; }
    std::string explain() const override;

protected:
    /// Refuses what a caller gave, before anything is written; writes masks.
    virtual void prepare_masks(const run_memory &) const {}
    virtual loops::score_terms terms(const run_memory &m, dim_t b, dim_t h) const = 0;
    virtual bool has_beams() const { return false; }
    /// Where each row searches with several beams.
    virtual std::optional<loops::key_beams> beams(const run_memory &, dim_t) const { return std::nullopt; }
    /// Rows of the past that are filled where sequences do not lie apart.
    virtual dim_t past_keys(const run_memory &) const { return s_.past; }
    bool are_apart(const run_memory &m) const { return keys_.past && m.sequences(*keys_.past); }
    /// Columns of masks: rows of the past, and new ones.
    dim_t mask_columns(const run_memory &m) const {
        return are_apart(m) ? s_.rows_of_keys() : past_keys(m) + s_.added;
    }

    /// None where the input is absent or empty.
    static std::optional<buffer> input_of(const lowering &l, std::size_t i) {
        const bool is_there = l.has_input(i) && element_count(l.input(i).dims) > 0;
        return is_there ? std::optional<buffer>(l.input_buffer(i)) : std::nullopt;
    }
    /// {1 or batch, 1 or heads, rows, columns}: the rows of a head.
    struct summand {
        const float *first;
        dim_t row;
    };
    static summand of_head(const float *x, const memory::dims &dims, dim_t b, dim_t h) {
        return {x + ((dims[0] == 1 ? 0 : b) * dims[1] + (dims[1] == 1 ? 0 : h)) * dims[2] * dims[3],
                dims[2] == 1 ? 0 : dims[3]};
    }
    void keep(loops::score_terms &terms, loops::score_terms::stage s, const run_memory &m, dim_t b,
              dim_t h) const {
        if (!scores_)
            return;
        terms.kept_row = scores_->get_desc().dims()[3];
        terms.kept = m.at<float>(*scores_) + (b * s_.heads + h) * s_.rows * terms.kept_row;
        terms.kept_stage = s;
    }

    attention_sizes s_;
    std::optional<buffer> scores_;

private:
    struct source {
        buffer rows;
        std::optional<buffer> past, present; ///< without `present`, rows are read where they lie
        head_rows at;
        dim_t width, bias; ///< where its bias begins
    };
    /// Rows of the past that sequence b has.
    dim_t filled(const run_memory &m, dim_t b) const {
        return are_apart(m) ? m.sequences(*keys_.past)[b].rows : past_keys(m);
    }
    /// Keys or values of a group, past and new ones.
    float *rows_of_group(const run_memory &m, const source &s, dim_t b, dim_t group) const;
    void append(const run_memory &m, const source &s) const;
    loops::attention_head head_of(const run_memory &m, dim_t b, dim_t h) const;
    loops::score_terms shifted_terms(const run_memory &m, dim_t b, dim_t h, dim_t keys) const;

    static constexpr dim_t row_block = 64; ///< of queries whose scores are there at once

    float scale_;
    bool rows_alike_;
    std::optional<loops::attention_tiles> tiles_;
    buffer query_, dst_;
    std::optional<buffer> bias_;
    bool biases_keys_;
    source keys_, values_;
    loops::attention_loops loop_;
    scratch_parts parts_;
};

/// The attribute "scale", or what takes its place where it is absent or 0.
inline float scale_or(const lowering &l, float otherwise) {
    const float scale = l.real("scale", 0.f);
    return scale != 0.f ? scale : otherwise;
}

} // namespace octet::model
