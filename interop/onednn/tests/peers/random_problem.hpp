#pragma once // SPDX-License-Identifier: Apache-2.0

// Random problems of every operation, small enough that a few hundred of them take seconds.

#include "random.hpp"

namespace peers {

/// The contents that attributes of a family of problems may have. Output scales are always there.
struct theme {
    std::string name;
    bool src_zero_points = false, weights_zero_points = false, dst_zero_points = false;
    bool runtime = false;              ///< scales and zero points may be given at execution
    std::vector<std::string> post_ops; ///< kinds to draw from: "sum", "eltwise", "binary", "prelu"
    int max_post_ops = 1;
};

/// Operations that are neither accumulating nor in the list of random_problem.cpp.
problem random_elementwise_problem(operation op, random_source &r, range data);

/// lrn, shuffle, logsoftmax and fused_depthwise: finite numbers, and weights whose products no level saturates.
problem random_other_problem(operation op, random_source &r);

problem random_problem(operation op, const theme &t, range r, unsigned seed);

/// The problem in one line, with everything needed to recognise it.
std::string to_string(const problem &p);

} // namespace peers
