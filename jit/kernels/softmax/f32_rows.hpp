#pragma once // SPDX-License-Identifier: Apache-2.0

// Softmax of rows of f32: maximum, exponentials and their sum, products with the sum's reciprocal, one row
// after the other, so that a row stays in the first-level cache. Sums run over 16 lanes as the contract says
// (common/softmax.hpp), whatever the width of vectors.

#include <cstdint>
#include <vector>

#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"

namespace octet::impl::jit {

struct softmax_f32_spec {
    instruction_set isa;
    int rest = 0;        ///< columns beyond whole groups of 16
    int factors = 0;     ///< numbers that results are multiplied by
    bool is_ort = false; ///< ONNX Runtime's exponential and order of lanes
};

struct softmax_f32_args {
    const void *src;
    void *dst; ///< may be src
    std::int64_t rows, groups;
    std::int64_t src_step, dst_step; ///< bytes from row to row
    float factors[2];
};

/// The kernel of a spec.
shared_code<const softmax_f32_args> softmax_f32_code(const softmax_f32_spec &spec);

} // namespace octet::impl::jit
