#pragma once // SPDX-License-Identifier: Apache-2.0

// A problem in the words of verbose mode, to be timed like a layer of a table.

#include <memory>

#include "bench/layer.hpp"
#include "bench/measure.hpp"
#include "octet/octet.hpp"

namespace octet::tools {

/// The primitive with memory for its arguments, weights packed beforehand.
std::unique_ptr<workload> make_problem_workload(const primitive_desc &pd);

/// Named after the operation; operations are counted where sums of products are what it computes.
subject subject_of(const primitive_desc &pd);

} // namespace octet::tools
