#pragma once // SPDX-License-Identifier: Apache-2.0

// For epilogues whose numbers vary over more than the channel: a bias, a scale, a zero point or the operand of a
// post-op for each row, image or element. The family makes sums in s32, and the stream kernel, which walks
// tensors of any broadcast, does the rest. Same bytes: the epilogue is one sequence wherever it runs.

#include "cpu/compose/channels_last.hpp"
#include "cpu/stream/nest.hpp"
#include "cpu/stream/task_builder.hpp"
#include "cpu/two_steps.hpp"

namespace octet::impl::separate_epilogue {

/// True if the bias enters the sums: integers, one per channel, for a rule that adds it to the accumulator.
bool bias_enters_sums(const epilogue &out, int channel_dim);

/// Adds the steps that change the sums before the epilogue.
using correction = std::function<void(stream::task_builder &)>;

/// The rest of `out`, from sums in `sums`.
candidate plan_rest(const epilogue &out, const memory_desc &sums, int channel_dim, const machine &m,
                    const correction &correct = {});

/// The post-ops of a float rule and what follows them, from codes or f32 `values` that the rule is done with.
candidate plan_post_ops(const epilogue &out, const memory_desc &values, const machine &m);

/// The problem without its epilogue.
template <typename Problem> Problem sums_of(const Problem &p) {
    Problem sums = p;
    sums.dst = stream::dense_in_order_of(p.dst, p.dst);
    sums.dst.data_type = p.sums_f32() ? data_type::f32 : data_type::s32;
    sums.out_stage = {};
    sums.out_stage.rule = unchanged(p.sums_f32());
    sums.out_stage.dst = sums.dst;
    if (bias_enters_sums(p.out_stage, channels_last::channel_dim_of(p)))
        sums.out_stage.bias = p.out_stage.bias;
    return sums;
}

template <typename Problem, plan_function<Problem> family>
candidate plan(const Problem &p, const machine &m) {
    const Problem sums = sums_of(p);
    return in_two_steps(sums.dst, family(sums, m),
                        plan_rest(p.out_stage, sums.dst, channels_last::channel_dim_of(p), m));
}

} // namespace octet::impl::separate_epilogue
