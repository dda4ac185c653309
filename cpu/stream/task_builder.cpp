// Pushes steps, sources and parameter vectors; `finish` adds what is left of the epilogue.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/task_builder.hpp"

#include <memory>

#include "common/bits.hpp"
#include "common/small_floats.hpp"
#include "common/text.hpp"

namespace octet::impl::stream {

namespace {

param_vector same_everywhere(std::uint32_t word) {
    return {0, false, [word](const arguments &, const coordinates &, int) { return word; }};
}

} // namespace

task_builder::task_builder(const epilogue &out) {
    task_.out = out;
    task_.dst = out.dst;
}

void task_builder::load(const memory_desc &src, int arg) {
    if (src.format_kind != format_kind::plain)
        refuse("a packed layout");
    if (task_.srcs.size() == jit::max_stream_sources)
        return refuse(text("more than ", jit::max_stream_sources, " sources"));
    step(op::load, static_cast<int>(task_.srcs.size()));
    task_.srcs.push_back(src);
    task_.src_args.push_back(arg);
    task_.src_values.emplace_back();
}

void task_builder::load(const masked_values<float> &values, int arg, const memory_desc &md) {
    memory_desc src = md;
    src.data_type = data_type::f32;
    src.offset0 = 0;
    for (int d = 0; d < src.ndims; d++)
        if ((values.mask & (1 << d)) == 0)
            src.dims[d] = 1;
    set_row_major(src);
    load(src, arg);
    if (!values.runtime && task_.refusal.empty())
        task_.src_values.back() = values.values;
}

void task_builder::eltwise(algorithm alg, float alpha, float beta) {
    task_.program.push_back({op::eltwise, 0, alg, alpha, beta});
}

void task_builder::binary(algorithm alg) { task_.program.push_back({op::binary, 0, alg}); }

void task_builder::code_table(std::vector<std::uint32_t> table) {
    step(op::code_table);
    task_.table = std::move(table);
}

void task_builder::requantize(requantization_rule rule, const fixed_point_multiplier &multiplier) {
    jit::stream_step s{op::requantize};
    s.operand = static_cast<int>(task_.program_params.size());
    s.rule = jit::make_rule_spec(rule, {multiplier}, false);
    const std::vector<fixed_point_multiplier> multipliers(jit::columns_per_block, multiplier);
    const int count = jit::rule_params(s.rule);
    const auto words = std::make_shared<std::vector<std::uint32_t>>(
        static_cast<std::size_t>(count * jit::columns_per_block));
    jit::fill_rule_params(s.rule, multipliers.data(), nullptr, nullptr, words->data());
    for (int i = 0; i < count; i++)
        add_params({0, false, [words, i](const arguments &, const coordinates &, int lane) {
                        return (*words)[static_cast<std::size_t>(i * jit::columns_per_block + lane)];
                    }});
    task_.program.push_back(s);
}

int task_builder::add_params(param_vector p) {
    task_.program_params.push_back(std::move(p));
    return static_cast<int>(task_.program_params.size()) - 1;
}
int task_builder::constant(float x) { return add_params(same_everywhere(bits(x))); }
int task_builder::constant_s32(std::int32_t x) {
    return add_params(same_everywhere(static_cast<std::uint32_t>(x)));
}

void task_builder::subtract(const zero_points &z, const memory_desc &src, bool as_f32) {
    if (!z.values.is_set())
        return;
    const auto word = [z, src, as_f32](const arguments &args, const coordinates &at, int) {
        const std::int32_t zp = z.bind(args)[masked_index(z.values.mask, src.dims, src.ndims, at)];
        return as_f32 ? bits(static_cast<float>(zp)) : static_cast<std::uint32_t>(zp);
    };
    step(as_f32 ? op::subtract : op::subtract_s32, add_params({z.values.mask, z.values.runtime, word}));
}

int task_builder::values(const masked_values<float> &values, int arg, const memory_desc &md) {
    return add_params(
        {values.mask, values.runtime, [values, arg, md](const arguments &args, const coordinates &at, int) {
             const float *data = values.runtime ? args.get<const float>(arg) : values.values.data();
             return bits(data[masked_index(values.mask, md.dims, md.ndims, at)]);
         }});
}

task task_builder::finish(jit::epilogue_stage value) {
    using stage = jit::epilogue_stage;
    task_.value = value;
    epilogue &out = task_.out;
    if (value == stage::accumulator || value == stage::f32_accumulator)
        return task_;
    // The rule is done but for what a float rule does behind the post-ops.
    const f32_facts &facts = facts_of(out.rule).f32;
    const bool has_float_end = facts.rounds_before_zero_point || facts.divides_after_post_ops;
    if (value == stage::s32_value)
        out.rule = unchanged(false);
    else if (!has_float_end)
        out.rule = unchanged(true);
    if (!facts_of(out.rule).f32.divides_after_post_ops)
        out.dst_scales = {};
    out.output_scales = out.src_scales = out.weights_scales = {};
    out.multipliers = {};
    out.real_scales = {};
    return task_;
}

} // namespace octet::impl::stream
