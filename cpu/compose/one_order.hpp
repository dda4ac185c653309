#pragma once // SPDX-License-Identifier: Apache-2.0

// For element-wise kernels, which want all tensors in one order of dimensions: sources, and tensors of
// post-ops, that lie otherwise are copied to the destination's order first.

#include <vector>

#include "common/binary_problem.hpp"
#include "common/prelu_problem.hpp"
#include "common/softmax_problem.hpp"
#include "common/sum_problem.hpp"
#include "cpu/compose/channels_last.hpp"

namespace octet::impl::one_order {

/// A tensor that is read, and the argument that it is.
struct operand {
    int arg;
    memory_desc *md;
};

inline std::vector<operand> operands_of(binary_problem &p) {
    return {{OCTET_ARG_SRC_0, &p.src0}, {OCTET_ARG_SRC_1, &p.src1}};
}
inline std::vector<operand> operands_of(prelu_problem &p) {
    return {{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_WEIGHTS, &p.weights}};
}
inline std::vector<operand> operands_of(softmax_problem &p) { return {{OCTET_ARG_SRC, &p.src}}; }
inline std::vector<operand> operands_of(sum_problem &p) {
    std::vector<operand> operands;
    for (std::size_t i = 0; i < p.srcs.size(); i++)
        operands.push_back({OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i), &p.srcs[i]});
    return operands;
}

/// Copies of those that lie otherwise than `out.dst`; operands and post-ops are changed to read them.
std::vector<channels_last::copy> copies_of(const std::vector<operand> &operands, epilogue &out);

/// Plans the problem with the family, or one with copies before it where the family refuses the orders.
template <typename Problem, plan_function<Problem> family>
candidate plan(const Problem &p, const machine &m) {
    const candidate direct = family(p, m);
    if (!direct.is_refused())
        return direct;
    Problem inner = p;
    const std::vector<channels_last::copy> copies = copies_of(operands_of(inner), inner.out_stage);
    return copies.empty() ? direct : channels_last::with_copies(family(inner, m), copies, m);
}

} // namespace octet::impl::one_order
