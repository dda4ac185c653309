#pragma once // SPDX-License-Identifier: Apache-2.0

// Keys and values of GroupQueryAttention: new rows go behind those of the past, as floats or codes. A sliding cache
// drops its oldest rows when it is full.

#include <optional>

#include "loops/cached_codes.hpp"
#include "network/onnx/ops/attention_heads.hpp"

namespace octet::model {

/// Sizes that are known when the network is planned.
struct group_sizes {
    dim_t batch, rows, heads, groups, width;
    dim_t past, present; ///< rows of keys that the tensors have
    bool is_packed;      ///< q, k and v of a row lie side by side
    int code_bits = 0;   ///< of keys and values in the caches; 0: floats
    bool has_scales_of_elements = false;
    std::optional<dim_t> sliding_window = {}; ///< a sliding cache has at least so many rows

    data_type type() const {
        return code_bits == 0 ? data_type::f32 : code_bits == 8 ? data_type::s8 : data_type::u8;
    }
    memory::dims cache(dim_t rows_of_keys) const {
        return {batch, groups, rows_of_keys, code_bits == 4 ? width / 2 : width};
    }
    dim_t row_bytes() const { return code_bits == 0 ? width * 4 : width * code_bits / 8; }
    /// New rows may need more of the past than a sliding cache keeps.
    bool may_need_dropped_rows() const { return sliding_window && rows > 1; }
    /// Most keys that attention reads at once.
    dim_t most_keys() const { return may_need_dropped_rows() ? past + rows : present; }
};

/// One run's numbers of a sequence.
struct group_sequence {
    dim_t keys, past; ///< rows that attention reads, and those of them before the first new one
    dim_t position;   ///< of the first new row in all of the sequence
    dim_t dropped;    ///< rows of the past before those that are read
    dim_t stored;     ///< rows that the cache has afterwards
};

/// What a run does with caches.
struct group_run {
    std::vector<group_sequence> sequences;
    bool is_in_place = true; ///< attention reads what the cache has afterwards

    dim_t longest() const;
};

/// Sequences with so many rows before the new ones, of which `keys` count.
group_run plan_run(const group_sizes &s, const std::vector<dim_t> &past, const std::vector<dim_t> &keys);

/// The cache of keys, or of values.
class group_cache {
public:
    group_cache() = default;
    /// By places of the node's inputs and outputs.
    group_cache(const lowering &l, const group_sizes &s, std::size_t past, std::size_t present,
                std::size_t scales, bool keeps_rest);

    /// New rows of group i of all groups of a batch; scratch: a row.
    using row_source = std::function<const float *(dim_t i, dim_t row, float *scratch)>;
    /// Makes what attention reads: past rows, new ones behind them, and in a cache what comes then: zeros, or what the
    /// past has there.
    void append(const run_memory &m, const group_run &r, dim_t i, const row_source &row_of,
                float *scratch) const;
    /// What the cache has afterwards, where attention read something else.
    void store(const run_memory &m, const group_run &r, dim_t i) const;

    bool appends(const buffer &past, const buffer &present) const {
        return past_ && past_->slot() == past.slot() && present_.slot() == present.slot();
    }

    /// What attention reads of group i.
    std::uint8_t *rows(const run_memory &m, const group_run &r, dim_t i) const;
    loops::cached_codes codes(const run_memory &m, const group_run &r, dim_t i) const;

private:
    /// Group i of all groups of a batch, each of which has so many rows.
    std::uint8_t *group(const run_memory &m, const buffer &b, dim_t i, dim_t rows) const;
    const std::uint8_t *past_group(const run_memory &m, dim_t i) const; ///< null without a past
    void keep_rest(const run_memory &m, dim_t i, dim_t filled) const;

    group_sizes s_{};
    bool keeps_rest_ = false;
    buffer present_;
    std::optional<buffer> past_, scales_, longer_; ///< the last: more rows than the cache has
};

} // namespace octet::model
