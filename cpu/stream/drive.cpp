#include "cpu/stream/drive.hpp"

#include "cpu/stream/bytes.hpp"
#include "cpu/table.hpp"

namespace octet::impl::stream {

namespace {

/// A function of one byte, known now.
template <typename Problem> std::string refuses_table(const Problem &p) {
    if (memory::data_type_size(p.dst.data_type) != 1)
        return "a destination of more than 8 bits";
    const std::string reason = table::refuses(p);
    return reason.empty() ? refuses_layouts(p.src, p.dst) : reason;
}

} // namespace

template <cpu_isa level> std::string refuses(const eltwise_problem &p) { return refuses_table(p); }
template <cpu_isa level> std::string refuses(const reorder_problem &p) { return refuses_table(p); }

template <cpu_isa level> std::shared_ptr<const kernel> create(const eltwise_problem &p) {
    return create_table(level, p.src, p.dst, table::entries_of(p));
}
template <cpu_isa level> std::shared_ptr<const kernel> create(const reorder_problem &p) {
    return create_table(level, p.src, p.dst, table::entries_of(p));
}

#define OCTET_INSTANTIATE_PROBLEM(level, problem)                                                            \
    template std::string refuses<cpu_isa::level>(const problem &);                                           \
    template std::shared_ptr<const kernel> create<cpu_isa::level>(const problem &);
#define OCTET_INSTANTIATE(level)                                                                             \
    OCTET_INSTANTIATE_PROBLEM(level, eltwise_problem)                                                        \
    OCTET_INSTANTIATE_PROBLEM(level, reorder_problem)
OCTET_INSTANTIATE(avx512_vnni)
OCTET_INSTANTIATE(avx512_core)
OCTET_INSTANTIATE(avx_vnni)
OCTET_INSTANTIATE(avx2)
#undef OCTET_INSTANTIATE
#undef OCTET_INSTANTIATE_PROBLEM

} // namespace octet::impl::stream
