#pragma once // SPDX-License-Identifier: Apache-2.0

// Writes the program of a stream: a stack machine whose steps are emitted as vector code (jit/kernels/stream)
// and whose operands are tensors, constants and parameter vectors of per-channel numbers. programs.cpp has one function
// for each operation, which reads like the operation's formula with this class's words.

#include "cpu/stream/task.hpp"

namespace octet::impl::stream {

/// Writes a task step by step.
class task_builder {
public:
    using op = jit::stream_op;

    explicit task_builder(const epilogue &out);

    /// Pushes a tensor, broadcast where its dimensions are 1.
    void load(const memory_desc &src, int arg);
    /// Pushes f32 values over dimensions of `md`, given at creation or as an argument.
    void load(const masked_values<float> &values, int arg, const memory_desc &md);
    void step(op o, int operand = 0) { task_.program.push_back({o, operand}); }
    /// A step with one f32 or s32 number for all elements.
    void step_by(op o, float number) { step(o, constant(number)); }
    void step_by(op o, std::int32_t number) { step(o, constant_s32(number)); }
    void eltwise(algorithm alg, float alpha, float beta);
    void binary(algorithm alg);
    void code_table(std::vector<std::uint32_t> table);
    /// One multiplier for all elements.
    void requantize(requantization_rule rule, const fixed_point_multiplier &multiplier);

    int constant(float x);
    int constant_s32(std::int32_t x);
    int add_params(param_vector p);

    /// x - zero point on s32 codes, if there is one; `as_f32`: on f32.
    void subtract(const zero_points &z, const memory_desc &src, bool as_f32 = false);
    /// A parameter vector of f32 values over dimensions of `md`, given at creation or as an argument.
    int values(const masked_values<float> &values, int arg, const memory_desc &md);

    void refuse(const std::string &reason) { task_.refusal = reason; }
    void set_bound(double largest) { task_.largest_value = largest; }

    /// The task, with what is left of the epilogue behind a value of this kind.
    task finish(jit::epilogue_stage value);

private:
    task task_;
};

} // namespace octet::impl::stream
