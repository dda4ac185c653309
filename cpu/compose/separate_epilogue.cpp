#include "cpu/compose/separate_epilogue.hpp"

#include "common/element.hpp"
#include "cpu/stream/programs.hpp"
#include "cpu/stream/task_builder.hpp"

namespace octet::impl::separate_epilogue {

bool bias_enters_sums(const epilogue &out, int channel_dim) {
    if (out.bias.ndims == 0 || !is_integer(out.bias.data_type) || facts_of(out.rule).f32.adds_bias_in_f32)
        return false;
    for (int d = 0; d < out.bias.ndims; d++)
        if (d != channel_dim && out.bias.dims[d] != 1)
            return false;
    return true;
}

namespace {

stream::task rest_of(epilogue out, const memory_desc &sums, int channel_dim, const correction &correct) {
    const memory_desc bias = out.bias;
    const bool is_in_sums = bias_enters_sums(out, channel_dim);
    const bool is_added = bias.ndims != 0 && !facts_of(out.rule).f32.adds_bias_in_f32;
    if (is_added)
        out.bias = {};
    stream::task_builder b(out);
    b.set_bound(jit::any_s32);
    b.load(sums, OCTET_ARG_SRC);
    if (correct)
        correct(b);
    if (is_added && !is_in_sums) {
        b.load(bias, OCTET_ARG_BIAS);
        b.step(jit::stream_op::add_pair);
    }
    return b.finish(jit::epilogue_stage::accumulator);
}

} // namespace

offer plan_rest(const epilogue &out, const memory_desc &sums, int channel_dim, const machine &m,
                const correction &correct) {
    return stream::plan_task(m.isa, rest_of(out, sums, channel_dim, correct));
}

} // namespace octet::impl::separate_epilogue
