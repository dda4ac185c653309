#pragma once // SPDX-License-Identifier: Apache-2.0

// Attention of one head over one sequence, y = softmax(scale q kT) v, in the three orders of f32 operations that ONNX
// Runtime has for it; doc/onnx.md gives their formulas. Each computes some rows of queries in the calling thread: who
// calls divides heads and rows among threads.

#include <optional>

#include "loops/cached_codes.hpp"
#include "loops/plane_products.hpp"
#include "octet/types.hpp"

namespace octet::loops {

/// Places of keys, `begin` to `end` - 1.
struct key_range {
    dim_t begin, end;
};

/// Rows of one head: queries, keys and values of `width` and `value_width` elements.
struct attention_head {
    const float *q, *k, *v;
    float *y;
    dim_t q_row, k_row, v_row, y_row; ///< from one row to the next
    dim_t rows, keys, width, value_width;
    float scale;
    const float *bias = nullptr; ///< added to scores; null: none
    dim_t bias_row = 0;
    bool is_causal = false;
    dim_t past = 0;    ///< keys before those of the first row, of causal attention
    dim_t window = -1; ///< causal rows see so many of their last keys; below 0: all
    /// A single row has the order of several: a row's bits do not depend on those beside it.
    bool rows_alike = false;
    dim_t origin = 0; ///< keys before the first one that are gone, which no row sees: blocks begin with them

    const cached_codes *key_codes = nullptr,
                       *value_codes = nullptr; ///< where they are set, in place of k and v

    /// The keys that a row sees.
    key_range seen_by(dim_t row) const {
        if (!is_causal)
            return {0, keys};
        const dim_t end = std::min(past + row + 1, keys);
        return {window < 0 ? 0 : std::max<dim_t>(0, end - window), end};
    }
    /// The same in tiles, where the window of a row behind all keys ends with the row, not with the keys.
    key_range seen_in_tiles(dim_t row) const {
        const key_range seen = seen_by(row);
        return {is_causal && window >= 0 ? std::max<dim_t>(0, past + row + 1 - window) : seen.begin,
                seen.end};
    }
};

/// Where searches with several beams have the keys and values of one row: each key was written by some beam.
struct key_beams {
    const std::int32_t *beam_of; ///< each key but the last, which is the row's own
    dim_t own;                   ///< the row's beam
    dim_t k_beam, v_beam;        ///< from one beam to the next
};

/// Sizes of the tiles of scores that are computed together; they decide where sums are cut.
struct attention_tiles {
    dim_t rows, keys;
    bool divides; ///< the result by the sum of exponentials, instead of multiplying it by the reciprocal
};

/// The steps from scores to weights where all scores of a row are there at once.
struct score_terms {
    const float *folded = nullptr; ///< what sums of products begin with
    dim_t folded_row = 0;
    float softcap = 0.f;               ///< c > 0: scores become c tanh(score / c)
    const float *summands[2] = {};     ///< added behind, in order; null: none
    dim_t summand_rows[2] = {};        ///< from one row to the next; 0: one row for all
    std::optional<dim_t> counted = {}; ///< keys; the others get the lowest float
    std::optional<float> sink = {};    ///< one more score, without a value
    bool lowest_is_none = false;       ///< a row of lowest floats has weights of 0
    enum class stage { products, capped, summed, weights };
    float *kept = nullptr; ///< gets the scores of a stage; places that are not seen get 0
    dim_t kept_row = 0;
    stage kept_stage = stage::products;
};

struct attention_code;

class attention_loops {
public:
    attention_loops(); ///< for the level in use

    /// Floats of scratch that a call takes, for the sizes of a head.
    static dim_t scratch_of_tiles(const attention_tiles &t, dim_t width);
    static dim_t scratch_of_scores(dim_t rows, dim_t keys, dim_t width);

    /// Rows from `first` on, at most `t.rows`: tile by tile of keys, each with the largest score so far.
    void in_tiles(const attention_head &h, const attention_tiles &t, dim_t first, float *scratch) const;
    /// One row, key by key; scratch: a float for each key.
    void row_by_keys(const attention_head &h, float *scratch) const;
    /// One row whose keys lie with several beams.
    void row_by_beams(const attention_head &h, const key_beams &beams, const score_terms &terms,
                      float *scratch) const;
    /// Rows `first` to `first` + `count` - 1, all keys at once.
    void by_scores(const attention_head &h, const score_terms &terms, dim_t first, dim_t count,
                   float *scratch) const;

private:
    struct score_rows;
    void multiply_keys(const attention_head &h, const score_rows &r, float *scratch) const;
    void multiply_key_codes(const attention_head &h, const score_rows &r, float *scratch) const;
    struct weight_rows;
    void multiply_values(const attention_head &h, const weight_rows &r, float *scratch) const;
    void multiply_value_codes(const attention_head &h, const weight_rows &r, float *scratch) const;
    void weigh(const attention_head &h, const score_terms &terms, dim_t row, float *x) const;
    void weigh(const score_terms &terms, key_range seen, dim_t keys, float *x) const;

    const attention_code *code_;
    matrix_products products_;
    cached_code_loops codes_;
    float (*dot_)(const float *a, const float *b, dim_t n);
    float (*beam_dot_)(const float *a, const float *b, dim_t n);
    void (*add_row_)(float e, const float *v, dim_t n, float *y);
    void (*multiply_)(float *x, float factor, dim_t n);
    void (*add_scaled_)(const float *sums, float factor, const float *before, dim_t n, float *x);
};

} // namespace octet::loops
