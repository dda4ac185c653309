// Scores are sums of products of a query and keys: keys of a panel are transposed, so that a vector holds scores of
// several keys, and each of them is added up by itself. Contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "loops/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "loops/levels.hpp"
#include "loops/library_functions.hpp"
#include "loops/vector_products.hpp"
#include "loops/vectors.hpp"

namespace octet::loops {

struct attention_code {
    float (*largest_of)(const float *x, dim_t n);
    /// y = e^(x - largest), x <= largest, and their sum over 16 lanes, of halves, then neighbours.
    float (*exponentials)(const float *x, dim_t n, float largest, float *y);
};

namespace {

constexpr float lowest = std::numeric_limits<float>::lowest();
constexpr dim_t panel = 256; ///< keys that are transposed at a time

/// As the primitive's function `eltwise_ort_exp` has them.
constexpr float exp_least = -103.972084f, exp_whole = 12582912.f, exp_log2_e = 1.44269504f,
                exp_minus_ln2_high = -6.93145752e-1f, exp_minus_ln2_low = -1.42860677e-6f;
constexpr float exp_coefficients[] = {
    1.f, 1.f, 0x1.fffff6p-2f, 0x1.555450p-3f, 0x1.555b5ap-5f, 0x1.125edcp-7f, 0x1.694000p-10f};

namespace exponents {

#define OCTET_FORM "loops/attention.inl"
#include "loops/forms_of_floats.inl"
#undef OCTET_FORM

} // namespace exponents

/// Eight lanes of rounded products, added up as neighbours.
OCTET_LOOP float dot_of(const float *a, const float *b, dim_t n) {
    float lanes[8] = {};
    dim_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (dim_t l = 0; l < 8; l++)
            lanes[l] += a[i + l] * b[i + l];
    for (dim_t l = 0; i + l < n; l++)
        lanes[l] += a[i + l] * b[i + l];
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// Vectors of four rounded products, which four sums take in turn.
OCTET_LOOP float beam_dot_of(const float *a, const float *b, dim_t n) {
    constexpr dim_t four = 4;
    float sums[four][four] = {};
    const dim_t whole = n / four * four, used = std::min<dim_t>(n / four, four);
    for (dim_t i = 0; i < whole; i += four)
        for (dim_t l = 0; l < four; l++) {
            float &sum = sums[i / four % four][l];
            sum = sum + a[i + l] * b[i + l];
        }
    for (dim_t s = used - 1; s > 0; s--)
        for (dim_t l = 0; l < four; l++)
            sums[s - 1][l] = sums[s - 1][l] + sums[s][l];
    const float *const last = sums[0];
    float sum = (last[0] + last[2]) + (last[1] + last[3]);
    for (dim_t i = whole; i < n; i++)
        sum = sum + a[i] * b[i];
    return sum;
}

OCTET_LOOP void add_multiple(float e, const float *v, dim_t n, float *y) {
    for (dim_t i = 0; i < n; i++)
        y[i] = y[i] + e * v[i];
}

OCTET_LOOP void multiply_all(float *x, float factor, dim_t n) {
    for (dim_t i = 0; i < n; i++)
        x[i] = x[i] * factor;
}

/// x = before + factor * sums, rounded once; before null: factor * sums.
OCTET_LOOP void add_scaled(const float *sums, float factor, const float *before, dim_t n, float *x) {
    if (before)
        for (dim_t j = 0; j < n; j++)
            x[j] = __builtin_fmaf(sums[j], factor, before[j]);
    else
        for (dim_t j = 0; j < n; j++)
            x[j] = sums[j] * factor;
}

/// y = the transpose of x, whose `rows` rows lie `row` apart; those of y lie `panel` apart.
void transpose(const float *x, dim_t row, dim_t rows, dim_t columns, float *y) {
    constexpr dim_t side = 8;
    for (dim_t r = 0; r < rows; r += side)
        for (dim_t c = 0; c < columns; c += side)
            for (dim_t j = c; j < std::min(c + side, columns); j++)
                for (dim_t i = r; i < std::min(r + side, rows); i++)
                    y[j * panel + i] = x[i * row + j];
}

/// Products with keys that only other rows see are zeros, which may change the sign of a sum that is 0.
void make_zeros_positive(const attention_head &h, float *y) {
    for (dim_t j = 0; h.rows_alike && j < h.value_width; j++)
        y[j] = y[j] + 0.f;
}

} // namespace

/// Scores to compute: rows of queries from `first` on with some keys.
struct attention_loops::score_rows {
    dim_t first, count;
    key_range keys;
    float *x;
    dim_t x_row;
    const float *folded; ///< of the first row and key, or null
    dim_t folded_row;
    bool is_alone; ///< the row is the only one of its product
};

attention_loops::attention_loops()
    : code_(exponents::code_in_use()), dot_(compiled_for_level<dot_of>()),
      beam_dot_(compiled_for_level<beam_dot_of>()), add_row_(compiled_for_level<add_multiple>()),
      multiply_(compiled_for_level<multiply_all>()), add_scaled_(compiled_for_level<add_scaled>()) {}

dim_t attention_loops::scratch_of_tiles(const attention_tiles &t, dim_t width) {
    return t.rows * (t.keys + 2) + panel * (width + t.rows);
}

dim_t attention_loops::scratch_of_scores(dim_t rows, dim_t keys, dim_t width) {
    return rows * keys + panel * (width + rows);
}

/// x = folded + the sums of blocks, each of which `scale` multiplies as it is added; scratch: `panel` keys transposed,
/// and products of all rows with them.
void attention_loops::multiply_keys(const attention_head &h, const score_rows &r, float *scratch) const {
    if (h.key_codes)
        return multiply_key_codes(h, r, scratch);
    const dim_t all = r.keys.end - r.keys.begin;
    const float *const q = h.q + r.first * h.q_row, *const keys = h.k + r.keys.begin * h.k_row;
    if (r.is_alone && h.scale == 1.f) {
        if (r.folded)
            std::copy_n(r.folded, all, r.x);
        return multiply_column(keys, h.k_row, q, h.width, r.x, all, !r.folded);
    }
    const dim_t block = products_in_block(h.width, h.rows_alike ? std::max(all, h.width) : all);
    float *const products = scratch + panel * h.width;
    for (dim_t n = 0; n < all; n += panel) {
        const dim_t count = std::min(panel, all - n);
        transpose(keys + n * h.k_row, h.k_row, count, h.width, scratch);
        for (dim_t k = 0; k < h.width; k += block) {
            products_.run({q + k, scratch + k * panel, nullptr, products, r.count,
                           std::min(block, h.width - k), count, block, h.q_row, panel, panel});
            for (dim_t i = 0; i < r.count; i++) {
                float *const x = r.x + i * r.x_row + n;
                const float *const before = k > 0 ? x : r.folded ? r.folded + i * r.folded_row + n : nullptr;
                add_scaled_(products + i * panel, h.scale, before, count, x);
            }
        }
    }
}

void attention_loops::multiply_key_codes(const attention_head &h, const score_rows &r, float *scratch) const {
    float *const codes = scratch, *const values = scratch + h.width;
    for (dim_t t = r.keys.begin; t < r.keys.end; t++) {
        h.key_codes->read(t, codes, values);
        for (dim_t i = 0; i < r.count; i++)
            r.x[i * r.x_row + t - r.keys.begin] =
                codes_.dot(*h.key_codes, h.q + (r.first + i) * h.q_row, codes, values) * h.scale;
    }
}

/// Rows of weights of some keys, whose products with values go to y.
struct attention_loops::weight_rows {
    const float *p;
    dim_t p_row, count;
    key_range keys;
    float *y;
    bool is_alone; ///< the row is the only one of its product
    bool begins;   ///< else what it adds up to begins with y
    bool is_tile;
    dim_t gone; ///< keys of the block before these
};

void attention_loops::multiply_values(const attention_head &h, const weight_rows &r, float *scratch) const {
    if (h.value_codes)
        return multiply_value_codes(h, r, scratch);
    const dim_t count = r.keys.end - r.keys.begin;
    const float *const v = h.v + r.keys.begin * h.v_row;
    if (r.is_alone)
        return multiply_row(r.p, v, h.v_row, count, r.y, h.value_width, r.begins);
    const dim_t block = products_in_block(count, h.value_width), gone = r.gone % block,
                head = gone == 0 ? 0 : std::min(count, block - gone);
    const auto multiply = [&](dim_t first, dim_t keys, bool begins) {
        products_.run({r.p + first, v + first * h.v_row, begins ? nullptr : r.y, r.y, r.count, keys,
                       h.value_width, block, r.p_row, h.v_row, h.y_row});
    };
    if (head > 0)
        multiply(0, head, r.begins);
    if (head < count)
        multiply(head, count - head, r.begins && head == 0);
}

/// One scale for all comes to the weights of a tile, and behind the sums otherwise.
void attention_loops::multiply_value_codes(const attention_head &h, const weight_rows &r,
                                           float *scratch) const {
    const cached_codes &c = *h.value_codes;
    float *const codes = scratch, *const values = scratch + h.value_width;
    const bool is_behind = c.has_one_scale_behind_sums() && !r.is_tile;
    for (dim_t i = 0; r.begins && i < r.count; i++)
        std::fill_n(r.y + i * h.y_row, h.value_width, 0.f);
    for (dim_t t = r.keys.begin; t < r.keys.end; t++) {
        c.read(t, codes, values);
        for (dim_t i = 0; i < r.count; i++) {
            const float p = r.p[i * r.p_row + t - r.keys.begin];
            codes_.add(c, c.has_one_scale_behind_sums() && r.is_tile ? p * c.scales[0] : p, codes, values,
                       r.y + i * h.y_row);
        }
    }
    for (dim_t i = 0; is_behind && i < r.count; i++)
        multiply_(r.y + i * h.y_row, c.scales[0], h.value_width);
}

void attention_loops::in_tiles(const attention_head &h, const attention_tiles &t, dim_t first,
                               float *scratch) const {
    const dim_t rows = std::min(t.rows, h.rows - first);
    const bool is_alone = rows == 1 && !h.rows_alike;
    float *const x = scratch, *const most = x + t.rows * t.keys, *const sums = most + t.rows,
                 *const rest = sums + t.rows, *const y = h.y + first * h.y_row;
    std::fill_n(most, rows, lowest);
    std::fill_n(sums, rows, 0.f);
    for (dim_t i = 0; i < rows; i++)
        std::fill_n(y + i * h.y_row, h.value_width, 0.f);
    const dim_t begin = (h.origin + h.seen_in_tiles(first).begin) / t.keys * t.keys - h.origin,
                end = h.seen_in_tiles(first + rows - 1).end;
    for (dim_t n = begin; n < end; n += t.keys) {
        const key_range keys = {std::max<dim_t>(n, 0), std::min(n + t.keys, h.keys)};
        const dim_t count = keys.end - n, gone = keys.begin - n;
        const bool is_first = n + h.origin == 0;
        multiply_keys(h, {first, rows, keys, x + gone, count, nullptr, 0, is_alone}, rest);
        for (dim_t i = 0; i < rows; i++) {
            float *const row = x + i * count;
            if (h.bias)
                for (dim_t j = gone; j < count; j++)
                    row[j] = row[j] + h.bias[(first + i) * h.bias_row + n + j];
            const key_range seen = h.seen_in_tiles(first + i);
            std::fill(row, row + std::clamp<dim_t>(seen.begin - n, 0, count), lowest);
            std::fill(row + std::clamp<dim_t>(seen.end - n, 0, count), row + count, lowest);
            const float largest = code_->largest_of(row, count);
            if (largest <= lowest) {
                std::fill_n(row, count, 0.f);
                continue;
            }
            const float before = most[i];
            most[i] = std::max(before, largest);
            const float sum = code_->exponentials(row, count, most[i], row);
            if (is_first) {
                sums[i] = sum;
                continue;
            }
            const float factor = std::exp(before - most[i]);
            sums[i] = factor * sums[i] + sum;
            multiply_(y + i * h.y_row, factor, h.value_width);
        }
        multiply_values(h, {x + gone, count, rows, keys, y, is_alone, is_first, true, gone}, rest);
    }
    for (dim_t i = 0; i < rows; i++) {
        float *const row = y + i * h.y_row;
        if (sums[i] == 0.f)
            std::fill_n(row, h.value_width, 0.f);
        else if (!t.divides)
            multiply_(row, 1.f / sums[i], h.value_width);
        else
            for (dim_t j = 0; j < h.value_width; j++)
                row[j] = row[j] / sums[i];
        make_zeros_positive(h, row);
    }
}

void attention_loops::row_by_keys(const attention_head &h, float *scratch) const {
    const key_range seen = h.seen_by(0);
    std::fill_n(scratch, h.keys, lowest);
    for (dim_t t = seen.begin; t < seen.end; t++) {
        scratch[t] = dot_(h.q, h.k + t * h.k_row, h.width) * h.scale;
        if (h.bias)
            scratch[t] = scratch[t] + h.bias[t];
    }
    std::fill_n(h.y, h.value_width, 0.f);
    const float largest = code_->largest_of(scratch, h.keys);
    if (largest <= lowest)
        return;
    const float sum = code_->exponentials(scratch, h.keys, largest, scratch);
    for (dim_t t = seen.begin; t < seen.end; t++)
        add_row_(scratch[t], h.v + t * h.v_row, h.value_width, h.y);
    multiply_(h.y, 1.f / sum, h.value_width);
}

/// Scores of a row to weights, 0 where keys are not seen.
void attention_loops::weigh(const score_terms &terms, key_range seen, dim_t keys, float *x) const {
    const dim_t count = seen.end - seen.begin;
    float *const row = x + seen.begin;
    float largest = code_->largest_of(row, count);
    if (count == 0 || (terms.lowest_is_none && largest <= lowest))
        return std::fill_n(x, keys, 0.f), void();
    if (terms.sink)
        largest = std::max(largest, *terms.sink);
    float sum = code_->exponentials(row, count, largest, row);
    if (terms.sink)
        sum = sum + std::exp(*terms.sink - largest);
    multiply_(row, 1.f / sum, count);
    std::fill(x, row, 0.f);
    std::fill(row + count, x + keys, 0.f);
}

/// Scores of a row, as sums of products, to weights; keeps what is asked for.
void attention_loops::weigh(const attention_head &h, const score_terms &terms, dim_t row, float *x) const {
    using stage = score_terms::stage;
    const key_range seen = h.seen_by(row);
    const auto keep = [&](stage s) {
        if (!terms.kept || terms.kept_stage != s)
            return;
        float *const kept = terms.kept + row * terms.kept_row;
        std::fill_n(kept, terms.kept_row, 0.f);
        std::copy(x + seen.begin, x + seen.end, kept + seen.begin);
    };
    keep(stage::products);
    if (terms.softcap > 0.f)
        for (dim_t t = seen.begin; t < seen.end; t++)
            x[t] = library_tanh(x[t] / terms.softcap) * terms.softcap;
    keep(stage::capped);
    for (std::size_t s = 0; s < 2; s++)
        if (terms.summands[s])
            for (dim_t t = seen.begin; t < seen.end; t++)
                x[t] = x[t] + terms.summands[s][row * terms.summand_rows[s] + t];
    if (terms.counted)
        std::fill(x + std::min(*terms.counted, h.keys), x + h.keys, lowest);
    keep(stage::summed);
    weigh(terms, seen, h.keys, x);
    keep(stage::weights);
}

/// The last key is added first.
void attention_loops::row_by_beams(const attention_head &h, const key_beams &beams, const score_terms &terms,
                                   float *scratch) const {
    const dim_t past = h.keys - 1;
    const auto from = [&](dim_t t) { return t < past ? beams.beam_of[t] - beams.own : 0; };
    for (dim_t t = 0; t < h.keys; t++)
        scratch[t] = beam_dot_(h.q, h.k + t * h.k_row + from(t) * beams.k_beam, h.width) * h.scale;
    weigh(h, terms, 0, scratch);
    const float *const last = h.v + past * h.v_row;
    for (dim_t j = 0; j < h.value_width; j++)
        h.y[j] = last[j] * scratch[past];
    for (dim_t t = 0; t < past; t++)
        add_row_(scratch[t], h.v + t * h.v_row + from(t) * beams.v_beam, h.value_width, h.y);
}

void attention_loops::by_scores(const attention_head &h, const score_terms &terms, dim_t first, dim_t count,
                                float *scratch) const {
    const bool is_alone = h.rows == 1 && !h.rows_alike;
    float *const x = scratch;
    multiply_keys(h,
                  {first,
                   count,
                   {0, h.keys},
                   x,
                   h.keys,
                   terms.folded ? terms.folded + first * terms.folded_row : nullptr,
                   terms.folded_row,
                   is_alone},
                  scratch + count * h.keys);
    for (dim_t i = 0; i < count; i++)
        weigh(h, terms, first + i, x + i * h.keys);
    multiply_values(h,
                    {x, h.keys, count, {0, h.keys}, h.y + first * h.y_row, is_alone, true, false, h.origin},
                    scratch + count * h.keys);
    for (dim_t i = first; i < first + count; i++)
        make_zeros_positive(h, h.y + i * h.y_row);
}

} // namespace octet::loops
