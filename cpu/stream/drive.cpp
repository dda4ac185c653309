#include "cpu/stream/drive.hpp"

#include <type_traits>

#include "cpu/stream/bytes.hpp"
#include "cpu/stream/plan.hpp"
#include "cpu/stream/programs.hpp"
#include "cpu/table.hpp"

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

template <typename Problem>
constexpr bool is_unary =
    std::is_same_v<Problem, eltwise_problem> || std::is_same_v<Problem, reorder_problem>;

} // namespace

template <cpu_isa level, typename Problem> std::string refuses(const Problem &p) {
    if constexpr (is_unary<Problem>)
        if (is_table(p))
            return refuses_layouts(p.src, p.dst);
    if constexpr (std::is_same_v<Problem, reorder_problem>)
        if (is_copy(p))
            return refuses_layouts(p.src, p.dst);
    return refuses_task(level, make_task(p));
}

template <cpu_isa level, typename Problem> std::shared_ptr<const kernel> create(const Problem &p) {
    if constexpr (is_unary<Problem>)
        if (is_table(p))
            return create_table(level, p.src, p.dst, table::entries_of(p));
    if constexpr (std::is_same_v<Problem, reorder_problem>)
        if (is_copy(p))
            return create_copy(p.src, p.dst);
    return create_program(level, make_task(p));
}

#define OCTET_INSTANTIATE_PROBLEM(level, problem)                                                            \
    template std::string refuses<cpu_isa::level>(const problem &);                                           \
    template std::shared_ptr<const kernel> create<cpu_isa::level>(const problem &);
#define OCTET_INSTANTIATE(level)                                                                             \
    OCTET_INSTANTIATE_PROBLEM(level, eltwise_problem)                                                        \
    OCTET_INSTANTIATE_PROBLEM(level, reorder_problem)                                                        \
    OCTET_INSTANTIATE_PROBLEM(level, binary_problem)                                                         \
    OCTET_INSTANTIATE_PROBLEM(level, sum_problem)                                                            \
    OCTET_INSTANTIATE_PROBLEM(level, prelu_problem)
OCTET_INSTANTIATE(avx512_vnni)
OCTET_INSTANTIATE(avx512_core)
OCTET_INSTANTIATE(avx_vnni)
OCTET_INSTANTIATE(avx2)
#undef OCTET_INSTANTIATE
#undef OCTET_INSTANTIATE_PROBLEM

} // namespace octet::impl::stream
