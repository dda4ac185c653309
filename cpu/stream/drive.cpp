#include "cpu/stream/drive.hpp"

#include <algorithm>
#include <type_traits>

#include "cpu/compose/blocks.hpp"
#include "cpu/compose/table.hpp"
#include "cpu/compose/two_steps.hpp"
#include "cpu/softmax/softmax.hpp"
#include "cpu/stream/bytes.hpp"
#include "cpu/stream/nest.hpp"
#include "cpu/stream/plan.hpp"
#include "cpu/stream/programs.hpp"
#include "cpu/stream/transpose.hpp"

namespace octet::impl::stream {

namespace {

/// True if dst is a function of one byte that is known now.
template <typename Problem> bool is_table(const Problem &p) {
    return memory::data_type_size(p.dst.data_type) == 1 && table::refuses(p).empty();
}

bool is_copy(const reorder_problem &p) {
    const epilogue &out = p.out_stage;
    return p.src.data_type == p.dst.data_type && out.post_ops.empty() && !p.src_zero_points.values.is_set() &&
           !p.src_scales.is_set() && !p.dst_scales.is_set() && !out.output_scales.is_set() &&
           !out.dst_scales.is_set() && !out.multipliers.is_set() && !out.real_scales.is_set() &&
           !out.dst_zero_points.is_set() &&
           (out.rule == requantization_rule::none || p.src.data_type == data_type::f32);
}

bool is_copy(const eltwise_problem &) { return false; }

/// One source of the destination's shape.
template <typename Problem>
constexpr bool is_unary =
    std::is_same_v<Problem, eltwise_problem> || std::is_same_v<Problem, reorder_problem>;

// ---- in two steps where the layouts differ: computed in the source's order, then transposed

/// The problem with a destination that is dense in the order of the source.
template <typename Problem> Problem in_order_of_source(Problem p) {
    p.dst = dense_in_order_of(p.src, p.dst);
    p.out_stage.dst = p.dst;
    return p;
}

// ---- unary problems

template <typename Problem> std::string refuses_one_order(const machine &m, const Problem &p) {
    return is_table(p) || is_copy(p) ? refuses_layouts(p.src, p.dst) : refuses_task(m.isa, make_task(p));
}

template <typename Problem> std::string refuses_unary(const machine &m, const Problem &p) {
    const std::string reason = refuses_one_order(m, p);
    if (reason.empty())
        return reason;
    const std::string no_transpose = refuses_transpose(p.src, p.dst);
    if (is_copy(p))
        return no_transpose;
    if (!no_transpose.empty() || reads_dst(p.out_stage))
        return reason;
    return refuses_one_order(m, in_order_of_source(p));
}

template <typename Problem>
std::shared_ptr<const kernel> create_one_order(const machine &m, const Problem &p) {
    if (is_table(p))
        return create_table(m.isa, p.src, p.dst, table::entries_of(p));
    return is_copy(p) ? create_copy(m.isa, p.src, p.dst) : create_program(m.isa, make_task(p));
}

template <typename Problem>
std::shared_ptr<const kernel> create_two_orders(const machine &m, const Problem &p, std::size_t bytes) {
    const Problem first = in_order_of_source(p);
    return std::make_shared<two_step_kernel>(first.dst, create_one_order(m, first),
                                             create_transpose(m.isa, first.dst, p.dst, bytes));
}

/// A dimension that numbers vary over, -1 if they don't.
template <typename Problem> int channel_of_problem(const Problem &p) {
    return is_table(p) ? -1 : channel_of(make_task(in_order_of_source(p)));
}

template <typename Problem> Problem part_of(Problem p, const partition &blocks, bool is_rest) {
    p.src = blocks.part_of(p.src, is_rest);
    p.dst = p.out_stage.dst = blocks.part_of(p.dst, is_rest);
    return p;
}

/// The whole, unless it can be computed in blocks: post-ops with tensors of their own can't.
template <typename Problem> partition blocks_of(const machine &m, const Problem &p) {
    for (const post_op_entry &entry : p.out_stage.post_ops)
        if (!std::holds_alternative<post_op::eltwise>(entry))
            return {};
    const partition blocks = partition_of(p.src, p.dst, channel_of_problem(p), m.l2_bytes / 4);
    if (blocks.is_whole())
        return {};
    for (const bool is_rest : {false, true}) {
        if (is_rest && blocks.rest() == 0)
            continue;
        const Problem part = part_of(p, blocks, is_rest);
        if (!refuses_transpose(part.src, part.dst).empty() ||
            !refuses_one_order(m, in_order_of_source(part)).empty())
            return {};
    }
    return blocks;
}

template <typename Problem> std::shared_ptr<const kernel> create_unary(const machine &m, const Problem &p) {
    const std::size_t bytes = size_in_bytes(p.src) + size_in_bytes(p.dst);
    if (refuses_one_order(m, p).empty())
        return create_one_order(m, p);
    if (is_copy(p) || (is_table(p) && is_identity(p.src, table::entries_of(p))))
        return create_transpose(m.isa, p.src, p.dst, bytes);
    const partition blocks = blocks_of(m, p);
    if (blocks.is_whole())
        return create_two_orders(m, p, bytes);
    const auto part = [&](bool is_rest) { return create_two_orders(m, part_of(p, blocks, is_rest), bytes); };
    return create_blocks(blocks, p.src, p.dst, part(false), blocks.rest() > 0 ? part(true) : nullptr);
}

} // namespace

template <typename Problem> std::string refuses(const Problem &p, const machine &m) {
    if constexpr (is_unary<Problem>)
        return refuses_unary(m, p);
    else if constexpr (std::is_same_v<Problem, softmax_problem>)
        return refuses_softmax(m.isa, p);
    else
        return refuses_task(m.isa, make_task(p));
}

template <typename Problem> std::shared_ptr<const kernel> create(const Problem &p, const machine &m) {
    if constexpr (is_unary<Problem>)
        return create_unary(m, p);
    else if constexpr (std::is_same_v<Problem, softmax_problem>)
        return create_softmax(m.isa, p);
    else
        return create_program(m.isa, make_task(p));
}

#define OCTET_INSTANTIATE(problem)                                                                           \
    template std::string refuses(const problem &, const machine &);                                          \
    template std::shared_ptr<const kernel> create(const problem &, const machine &);
OCTET_INSTANTIATE(eltwise_problem)
OCTET_INSTANTIATE(reorder_problem)
OCTET_INSTANTIATE(binary_problem)
OCTET_INSTANTIATE(sum_problem)
OCTET_INSTANTIATE(prelu_problem)
OCTET_INSTANTIATE(softmax_problem)
#undef OCTET_INSTANTIATE

} // namespace octet::impl::stream
