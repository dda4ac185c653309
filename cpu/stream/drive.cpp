// How each element-wise problem is computed: by a program in one pass, in two steps where layouts differ, as
// a table, a copy, or in blocks. Start at the functions `plan` at the end.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/drive.hpp"

#include <algorithm>
#include <type_traits>

#include "common/text.hpp"
#include "cpu/machine/caches.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/several_kernels.hpp"
#include "cpu/stream/blocks.hpp"
#include "cpu/stream/bytes.hpp"
#include "cpu/stream/nest.hpp"
#include "cpu/stream/pair_tables.hpp"
#include "cpu/stream/plan.hpp"
#include "cpu/stream/programs.hpp"
#include "cpu/stream/table.hpp"
#include "cpu/stream/transpose.hpp"
#include "cpu/two_steps.hpp"

namespace octet::impl::stream {

namespace {

/// True if dst is a function of one byte that is known now.
template <typename Problem> bool is_table(const Problem &p) {
    return memory::data_type_size(p.dst.data_type) == 1 && table::refuses(p).empty();
}

bool is_one(const masked_values<float> &scales) {
    return !scales.runtime &&
           std::all_of(scales.values.begin(), scales.values.end(), [](float s) { return s == 1.f; });
}

bool is_copy(const reorder_problem &p) { return only_moves(p); }
bool is_copy(const eltwise_problem &) { return false; }

/// One source of the destination's shape.
template <typename Problem>
constexpr bool is_unary =
    std::is_same_v<Problem, eltwise_problem> || std::is_same_v<Problem, reorder_problem>;

// ---- in two steps where the layouts differ: what has fewer bytes is transposed, before or after it is computed

/// The problem with a destination that is dense in the order of the source.
template <typename Problem> Problem in_order_of_source(Problem p) {
    p.dst = dense_in_order_of(p.src, p.dst);
    p.out_stage.dst = p.dst;
    return p;
}

// ---- unary problems

/// Quotients by scales that come with the arguments: by multiplications, where that is exact for these.
class division_kernel : public kernel {
public:
    division_kernel(const reorder_problem &p, const candidate &in_range, const candidate &any)
        : p_(p), in_range_(in_range.make()), any_(any.make()) {}

    void execute(const arguments &args) const override {
        (are_in_range(p_, args) ? in_range_ : any_)->execute(args);
    }
    std::size_t size_bytes() const override {
        return sizeof *this + in_range_->size_bytes() + any_->size_bytes();
    }
    std::string plan() const override {
        return text(in_range_->plan(), "; for scales by which products are no quotients ", any_->plan());
    }

private:
    const reorder_problem p_;
    const std::shared_ptr<const kernel> in_range_, any_;
};

candidate plan_program(const eltwise_problem &p, const machine &m) { return plan_task(m.isa, make_task(p)); }
candidate plan_program(const reorder_problem &p, const machine &m) {
    const candidate any = plan_task(m.isa, make_task(p));
    if (any.is_refused() || !divides_by_arguments(p))
        return any;
    const candidate in_range = plan_task(m.isa, make_task(p, divisors::in_range));
    if (in_range.is_refused())
        return any;
    return candidate([=] { return std::make_shared<division_kernel>(p, in_range, any); });
}

template <typename Problem> candidate plan_one_order(const Problem &p, const machine &m) {
    if (is_table(p))
        return plan_table(m.isa, p.src, p.dst, [p] { return table::entries_of(p); });
    return is_copy(p) ? plan_copy(m.isa, p.src, p.dst) : plan_program(p, m);
}

/// `bytes` are those of the whole; results that leave the caches are transposed, whose stores can pass these by.
template <typename Problem> candidate plan_two_orders(const Problem &p, const machine &m, std::size_t bytes) {
    if (memory::data_type_size(p.src.data_type) < memory::data_type_size(p.dst.data_type) &&
        !leaves_caches(bytes)) {
        Problem last = p;
        last.src = dense_in_order_of(p.dst, p.src);
        return in_two_steps(last.src, plan_transpose(m.isa, p.src, last.src, size_in_bytes(last.src)),
                            plan_one_order(last, m));
    }
    const Problem first = in_order_of_source(p);
    return in_two_steps(first.dst, plan_one_order(first, m), plan_transpose(m.isa, first.dst, p.dst, bytes));
}

template <typename Problem> variation variation_of_problem(const Problem &p) {
    return is_table(p) ? variation{} : variation_of(make_task(in_order_of_source(p)));
}

template <typename Problem> Problem part_of(Problem p, const partition &blocks, bool is_rest) {
    p.src = blocks.part_of(p.src, is_rest);
    p.dst = p.out_stage.dst = blocks.part_of(p.dst, is_rest);
    return p;
}

/// The whole, unless it can be computed in blocks: post-ops with tensors of their own can't.
template <typename Problem> partition blocks_of(const Problem &p, const machine &m, std::size_t bytes) {
    for (const post_op_entry &entry : p.out_stage.post_ops)
        if (!function_of(entry))
            return {};
    const variation v = variation_of_problem(p);
    const partition blocks = partition_of(p.src, p.dst, v.channel, m.l2_bytes / 4);
    if (blocks.is_whole() || v.outer_dims != 0)
        return {};
    for (const bool is_rest : {false, true})
        if ((!is_rest || blocks.rest() > 0) &&
            plan_two_orders(part_of(p, blocks, is_rest), m, bytes).is_refused())
            return {};
    return blocks;
}

template <typename Problem>
std::shared_ptr<const kernel> make_two_orders(const Problem &p, const machine &m, std::size_t bytes) {
    const partition blocks = blocks_of(p, m, bytes);
    if (blocks.is_whole())
        return plan_two_orders(p, m, bytes).make();
    const auto part = [&](bool is_rest) {
        return plan_two_orders(part_of(p, blocks, is_rest), m, bytes).make();
    };
    return create_blocks(blocks, p.src, p.dst, part(false), blocks.rest() > 0 ? part(true) : nullptr);
}

template <typename Problem> candidate plan_unary(const Problem &p, const machine &m) {
    const candidate direct = plan_one_order(p, m);
    if (!direct.is_refused())
        return direct;
    const std::size_t bytes = size_in_bytes(p.src) + size_in_bytes(p.dst);
    const candidate transpose = plan_transpose(m.isa, p.src, p.dst, bytes);
    if (is_copy(p))
        return transpose;
    if (transpose.is_refused() || reads_dst(p.out_stage))
        return direct;
    const candidate two_orders = plan_two_orders(p, m, bytes);
    if (two_orders.is_refused())
        return two_orders;
    return candidate([=] {
        const bool only_moves = is_table(p) && is_identity(p.src, table::entries_of(p));
        return only_moves ? transpose.make() : make_two_orders(p, m, bytes);
    });
}

// ---- sums

/// A sum in parts, each of as many sources as a program has, with the sum so far as the first of them. The order of
/// additions is that of the sources, and f32 keeps every one of them.
class sum_in_parts : public kernel {
public:
    sum_in_parts(const memory_desc &between, const std::vector<candidate> &parts)
        : bytes_(size_in_bytes(between)), parts_(parts) {}

    void execute(const arguments &args) const override {
        void *between = thread_scratch(scratch_slot::between_steps, bytes_);
        const arguments from(args, OCTET_ARG_SRC, between), to_between(from, OCTET_ARG_DST, between);
        for (std::size_t i = 0; i < parts_.count(); i++)
            parts_[i].execute(i + 1 < parts_.count() ? to_between : from);
    }
    std::size_t size_bytes() const override { return sizeof *this + parts_.size_bytes(); }
    std::string plan() const override { return text(parts_.count(), " parts: ", parts_.plans()); }

private:
    const std::size_t bytes_;
    const several_kernels parts_;
};

candidate plan_sum(const sum_problem &p, const machine &m) {
    constexpr std::size_t most = jit::max_stream_sources;
    memory_desc between = dense_in_order_of(p.dst, p.dst);
    between.data_type = data_type::f32;
    std::vector<candidate> parts;
    for (std::size_t first = 0; first < p.srcs.size();) {
        const std::size_t end = std::min(p.srcs.size(), first + most - (first > 0 ? 1 : 0));
        parts.push_back(plan_task(m.isa, make_part_of_sum(p, first, end, between)));
        if (parts.back().is_refused())
            return parts.back();
        first = end;
    }
    if (parts.size() == 1)
        return parts[0];
    return candidate([=] { return std::make_shared<sum_in_parts>(between, parts); });
}

/// Making tables takes longer than all other planning. Where the general kernel could do without, that waits
/// until somebody wants a kernel: descriptors of what is in the primitive cache need none.
candidate plan_binary(const binary_problem &p, const machine &m) {
    const candidate by_task = plan_task(m.isa, make_task(p));
    const auto preferred = [p, isa = m.isa, by_task] {
        const candidate by_tables = plan_pair_tables(isa, p);
        return by_tables.is_refused() ? by_task : by_tables;
    };
    return by_task.is_refused() ? preferred() : candidate([preferred] { return preferred().make(); });
}

} // namespace

// Codes of 8 bits are exact in f32, and so is their product with 1.
bool only_moves(const reorder_problem &p) {
    const epilogue &out = p.out_stage;
    const bool is_code = memory::data_type_size(p.src.data_type) == 1;
    return p.src.data_type == p.dst.data_type && out.post_ops.empty() && !p.src_zero_points.values.is_set() &&
           !p.src_scales.is_set() && !p.dst_scales.is_set() &&
           (!out.output_scales.is_set() || (is_code && is_one(out.output_scales))) &&
           !out.dst_scales.is_set() && !out.multipliers.is_set() && !out.real_scales.is_set() &&
           !out.dst_zero_points.is_set() &&
           (operators_of(out.rule) == operators::integers || p.src.data_type == data_type::f32 ||
            (is_code && is_plain_f32(out.rule)));
}

template <typename Problem> candidate plan(const Problem &p, const machine &m) {
    if constexpr (is_unary<Problem>)
        return plan_unary(p, m);
    else if constexpr (std::is_same_v<Problem, sum_problem>)
        return plan_sum(p, m);
    else if constexpr (std::is_same_v<Problem, binary_problem>)
        return plan_binary(p, m);
    else
        return plan_task(m.isa, make_task(p));
}

template candidate plan(const eltwise_problem &, const machine &);
template candidate plan(const reorder_problem &, const machine &);
template candidate plan(const binary_problem &, const machine &);
template candidate plan(const sum_problem &, const machine &);
template candidate plan(const prelu_problem &, const machine &);
template candidate plan(const batch_normalization_problem &, const machine &);

} // namespace octet::impl::stream
