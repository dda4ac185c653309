#pragma once // SPDX-License-Identifier: Apache-2.0

// Maxima and sums of rows of 8-bit codes, as TFLite and ONNX Runtime define them: what
// jit/kernels/softmax/codes.hpp computes results from.

#include <memory>

#include "common/softmax_problem.hpp"
#include "cpu/implementation.hpp"
#include "jit/kernels/softmax/codes.hpp"

namespace octet::impl::softmax {

/// Rows of contiguous codes, softmax_code_rows::most at most.
struct code_rows {
    const void *src, *dst; ///< dst will be written soon
    dim_t count, columns;
    dim_t src_step, dst_step; ///< from row to row
};

class code_sums {
public:
    virtual ~code_sums() = default;
    virtual void run(const code_rows &rows, jit::softmax_code_rows &to) const = 0;
};

std::unique_ptr<const code_sums> create_code_sums(instruction_set isa, const softmax_problem &p);

/// 1, 2 or 4 blocks of 64 that hold the first `count` of 256 numbers; 0 for none.
int blocks_of(int count);

} // namespace octet::impl::softmax
