#pragma once // SPDX-License-Identifier: Apache-2.0

// Element-wise problems as tasks for the stream kernel (task.hpp), written step by step with a `task_builder`.

#include <cstddef>

#include "common/binary_problem.hpp"
#include "common/eltwise_problem.hpp"
#include "common/normalization_problem.hpp"
#include "common/prelu_problem.hpp"
#include "common/reorder_problem.hpp"
#include "common/sum_problem.hpp"
#include "cpu/stream/task.hpp"

namespace octet::impl::stream {

task make_task(const binary_problem &p);
/// Destination scales that come with the arguments: any, or those for which multiplications give the code. Zero points
/// that do are small (compose/out_of_range_zero_points.hpp).
enum class divisors { any, in_range };
task make_task(const reorder_problem &p, divisors d = divisors::any);
/// Whether it makes a difference, and whether those of an execution are in range.
bool divides_by_arguments(const reorder_problem &p);
bool are_in_range(const reorder_problem &p, const arguments &args);
task make_task(const eltwise_problem &p);
/// Sources [first, end) added to the f32 sum in `between` of those before; the last part has the epilogue.
task make_part_of_sum(const sum_problem &p, std::size_t first, std::size_t end, const memory_desc &between);
task make_task(const prelu_problem &p);
task make_task(const batch_normalization_problem &p);

} // namespace octet::impl::stream
