#pragma once

// Element-wise problems as programs for the stream kernel. A task says what to compute per element, by steps
// that repeat the reference's operations in its order (cpu/ref); the numbers of the steps are planes, each
// with the function that gives it for a channel.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/problem.hpp"
#include "jit/kernels/stream.hpp"

namespace octet::impl::stream {

/// One number per channel, or one for all.
struct plane {
    int mask = 0; ///< dimensions that it varies over
    bool is_runtime = false;
    /// Bits of its dword for a lane of a vector of columns that are all at these coordinates.
    std::function<std::uint32_t(const arguments &, const coordinates &, int lane)> word;
};

struct task {
    std::string refusal; ///< why no program does it; all else is valid if this is empty

    std::vector<memory_desc> srcs;
    std::vector<int> src_args;
    std::vector<std::vector<float>> src_values; ///< of a source that is known at creation; empty: an argument
    memory_desc dst;
    jit::stream_program program;
    std::vector<plane> planes;
    std::vector<std::uint32_t> table; ///< of look_up
    jit::epilogue_stage value = jit::epilogue_stage::f32_value;
    epilogue out;                    ///< what follows the program
    double largest_value = HUGE_VAL; ///< bound of an f32 value
};

task make_task(const binary_problem &p);
/// Destination scales that come with the arguments: any, or those for which multiplications give the code. Zero points
/// that do are small (compose/far_zero_points.hpp).
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
