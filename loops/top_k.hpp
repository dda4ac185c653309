#pragma once // SPDX-License-Identifier: Apache-2.0

// The largest or smallest elements of lines, on the threads of primitives.

#include <cstdint>

#include "octet/types.hpp"

namespace octet::loops {

/// Lines of `size` elements, `inner` apart, of a dense tensor {outer, size, inner}.
struct tensor_lines {
    dim_t outer, size, inner;

    dim_t count() const { return outer * inner; }
    /// The first element of a line of a tensor whose lines have `length` elements.
    dim_t begin(dim_t line, dim_t length) const { return line / inner * length * inner + line % inner; }
};

/// Finds the first `count` elements of each line in order: the largest or smallest first, of equal ones the first in
/// the line; NaN are last.
class top_k {
public:
    top_k(const tensor_lines &x, dim_t count, bool is_largest);

    /// s32 of scratch that `run` needs.
    dim_t scratch_size() const { return together_ * x_.size; }
    void run(const float *x, std::int32_t *scratch, float *values, std::int32_t *places) const;

private:
    /// Brings the first `count_` of the candidates to their front.
    void sort(const float *line, std::int32_t *candidates, dim_t size) const;

    tensor_lines x_;
    dim_t count_, together_, parts_, part_; ///< lines at a time; each is sorted in parts, which are merged
    bool is_largest_;
};

} // namespace octet::loops
