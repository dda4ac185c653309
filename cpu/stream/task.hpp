#pragma once // SPDX-License-Identifier: Apache-2.0

// A task says what the stream kernel computes per element, by steps that repeat the reference's operations in its order
// (cpu/ref); the numbers of the steps are parameter vectors, each with the function that gives it for a channel.

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/problem.hpp"
#include "jit/kernels/stream_program.hpp"

namespace octet::impl::stream {

/// One number per channel, or one for all.
struct param_vector {
    int mask = 0; ///< dimensions that it varies over
    bool is_runtime = false;
    /// Returns the dword for one lane of a vector whose columns are all at these coordinates.
    std::function<std::uint32_t(const arguments &, const coordinates &, int lane)> word;
};

struct task {
    /// Why no program computes the task; the other members are valid only if this is empty.
    std::string refusal;

    std::vector<memory_desc> srcs;
    std::vector<int> src_args;
    /// Values of a source that is known at creation; empty: an argument.
    std::vector<std::vector<float>> src_values;
    memory_desc dst;
    jit::stream_program program;
    std::vector<param_vector> program_params;
    std::vector<std::uint32_t> table; ///< for the program's code_table
    jit::epilogue_stage value = jit::epilogue_stage::f32_value;
    epilogue out;                    ///< the epilogue behind the program
    double largest_value = HUGE_VAL; ///< bound of an f32 value
};

} // namespace octet::impl::stream
