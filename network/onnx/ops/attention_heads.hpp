#pragma once // SPDX-License-Identifier: Apache-2.0

// What the steps of attention share: where rows of heads lie, and how work of heads goes to threads.

#include <algorithm>
#include <atomic>

#include "loops/parallel.hpp"
#include "network/onnx/ops/operators.hpp"

namespace octet::model {

/// Bytes of the level 2 cache of the machine whose blocks of keys are ONNX Runtime's here (doc/onnx.md).
constexpr dim_t level_2_cache = 2 << 20;

/// Rows of several heads for each entry of a batch, as distances in elements.
struct head_rows {
    dim_t batch = 0, head = 0, row = 0; ///< from one of each to the next
    dim_t first = 0;                    ///< of the first head

    /// {batch, rows, heads * width}, or some heads of such rows.
    static head_rows side_by_side(dim_t rows, dim_t row_width, dim_t width, dim_t first = 0) {
        return {rows * row_width, width, row_width, first};
    }
    /// {batch, heads, rows, width}.
    static head_rows one_by_one(dim_t heads, dim_t rows, dim_t width) {
        return {heads * rows * width, rows * width, width, 0};
    }
    template <typename T> T *at(T *x, dim_t b, dim_t h) const { return x + first + b * batch + h * head; }
};

/// Items of work that need scratch: each thread has one part of it and takes the next item when it is done.
class scratch_parts {
public:
    scratch_parts() = default;
    scratch_parts(const lowering &l, dim_t items, dim_t floats)
        : count_(std::max<dim_t>(1, std::min<dim_t>(items, std::max(get_num_threads(), usual_threads)))),
          floats_((std::max<dim_t>(floats, 1) + 15) / 16 * 16),
          scratch_(l.scratch(memory::desc({count_ * floats_}, data_type::f32, format_tag::a))) {}

    /// Calls f(item, scratch) for 0 to `items` - 1, each as much as adding up `work` elements.
    template <typename F> void run(const run_memory &m, dim_t items, dim_t work, const F &f) const {
        std::atomic<dim_t> next{0};
        auto *const scratch = m.at<float>(scratch_);
        loops::parallel_for(count_, items * work / count_, [&](dim_t begin, dim_t end) {
            for (dim_t part = begin; part < end; part++)
                for (dim_t i = next++; i < items; i = next++)
                    f(i, scratch + part * floats_);
        });
    }

private:
    static constexpr int usual_threads = 16; ///< a run may have more threads than there were for planning

    dim_t count_ = 1, floats_ = 0;
    buffer scratch_;
};

/// The refusal of what a caller gives to a run.
[[noreturn]] inline void refuse_value(const std::string &what, dim_t given, const std::string &allowed) {
    throw error(status::invalid_arguments, what + " is " + std::to_string(given) + ", allowed: " + allowed);
}

} // namespace octet::model
