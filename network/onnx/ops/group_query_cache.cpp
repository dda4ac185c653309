// Rows are moved as bytes; past and present may be one buffer.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/group_query_cache.hpp"

#include <cstring>

namespace octet::model {
namespace {

/// Rows that a sliding cache has of `n`: as often as it would be too long, one gap of them is dropped.
dim_t rows_kept(const group_sizes &s, dim_t n) {
    const dim_t gap = s.past - *s.sliding_window + 1;
    return n <= s.past ? n : n - (n - s.past + gap - 1) / gap * gap;
}

} // namespace

dim_t group_run::longest() const {
    dim_t most = 0;
    for (const group_sequence &q : sequences)
        most = std::max(most, q.keys);
    return most;
}

group_run plan_run(const group_sizes &s, const std::vector<dim_t> &past, const std::vector<dim_t> &keys) {
    group_run r;
    for (std::size_t b = 0; b < past.size(); b++) {
        r.sequences.push_back({keys[b], past[b], past[b], 0, std::min(past[b] + s.rows, s.present)});
        if (!s.sliding_window)
            continue;
        r.sequences.back().stored = rows_kept(s, past[b] + s.rows);
        const dim_t needed = std::min(past[b], *s.sliding_window - 1);
        r.is_in_place = r.is_in_place && r.sequences.back().stored - s.rows >= needed;
    }
    for (group_sequence &q : r.sequences) {
        if (!s.sliding_window)
            break;
        const dim_t all = rows_kept(s, q.position), behind = q.keys - q.position;
        q.past = r.is_in_place ? q.stored - s.rows : all;
        q.dropped = all - q.past;
        q.keys = q.past + behind;
    }
    return r;
}

group_cache::group_cache(const lowering &l, const group_sizes &s, std::size_t past, std::size_t present,
                         std::size_t scales, bool keeps_rest)
    : s_(s), keeps_rest_(keeps_rest), present_(l.output_buffer(present)) {
    if (l.has_input(past) && element_count(l.input(past).dims) > 0)
        past_ = l.input_buffer(past);
    if (s_.code_bits != 0)
        scales_ = l.input_buffer(scales);
    if (s_.may_need_dropped_rows())
        longer_ = l.scratch(memory::desc(s_.cache(s_.most_keys()), s_.type(), format_tag::abcd));
}

std::uint8_t *group_cache::group(const run_memory &m, const buffer &b, dim_t i, dim_t rows) const {
    const dim_t bytes = rows * s_.row_bytes();
    return m.sequence(b, static_cast<std::size_t>(i / s_.groups),
                      static_cast<std::size_t>(s_.groups * bytes)) +
           i % s_.groups * bytes;
}

std::uint8_t *group_cache::rows(const run_memory &m, const group_run &r, dim_t i) const {
    return r.is_in_place ? group(m, present_, i, s_.present) : group(m, *longer_, i, s_.most_keys());
}

loops::cached_codes group_cache::codes(const run_memory &m, const group_run &r, dim_t i) const {
    if (s_.code_bits == 0)
        return {};
    return {rows(m, r, i), m.at<float>(*scales_) + (s_.has_scales_of_elements ? i % s_.groups * s_.width : 0),
            s_.width, s_.code_bits, s_.has_scales_of_elements};
}

/// Sequences that lie apart have room for the new rows behind the past.
const std::uint8_t *group_cache::past_group(const run_memory &m, dim_t i) const {
    return past_ ? group(m, *past_, i, m.sequences(*past_) ? s_.present : s_.past) : nullptr;
}

/// Rows of the cache behind `filled` ones.
void group_cache::keep_rest(const run_memory &m, dim_t i, dim_t filled) const {
    const dim_t bytes = s_.row_bytes();
    std::uint8_t *const y = group(m, present_, i, s_.present);
    const std::uint8_t *const x = past_group(m, i);
    if (x == y) // one buffer
        return;
    if (!keeps_rest_ || !x)
        std::fill(y + filled * bytes, y + s_.present * bytes, std::uint8_t{0});
    else
        std::copy(x + filled * bytes, x + s_.past * bytes, y + filled * bytes);
}

void group_cache::append(const run_memory &m, const group_run &r, dim_t i, const row_source &row_of,
                         float *scratch) const {
    const group_sequence &q = r.sequences[static_cast<std::size_t>(i / s_.groups)];
    const dim_t bytes = s_.row_bytes(), rows_here = r.is_in_place ? s_.present : s_.most_keys(),
                end = std::min(q.past + s_.rows, rows_here);
    std::uint8_t *const y = rows(m, r, i);
    const std::uint8_t *const before = past_group(m, i), *const x =
                                                             before ? before + q.dropped * bytes : nullptr;
    if (x && x != y)
        std::memmove(y, x, static_cast<std::size_t>(q.past * bytes));
    if (r.is_in_place)
        keep_rest(m, i, end);
    const loops::cached_codes to = codes(m, r, i);
    for (dim_t s = 0; q.past + s < end; s++) {
        const float *const row = row_of(i, s, scratch);
        std::uint8_t *const at = y + (q.past + s) * bytes;
        if (s_.code_bits != 0)
            to.round(row, at);
        else
            std::memcpy(at, row, static_cast<std::size_t>(bytes));
    }
}

void group_cache::store(const run_memory &m, const group_run &r, dim_t i) const {
    const group_sequence &q = r.sequences[static_cast<std::size_t>(i / s_.groups)];
    const dim_t bytes = s_.row_bytes();
    const std::uint8_t *const last = rows(m, r, i) + (q.past + s_.rows - q.stored) * bytes;
    std::copy(last, last + q.stored * bytes, group(m, present_, i, s_.present));
    keep_rest(m, i, q.stored);
}

} // namespace octet::model
