#include "cpu/registry.hpp"

#include "cpu/compose/biased_matmul.hpp"
#include "cpu/compose/channels_last.hpp"
#include "cpu/compose/concat.hpp"
#include "cpu/compose/deconvolution.hpp"
#include "cpu/compose/table.hpp"
#include "cpu/depthwise/drive.hpp"
#include "cpu/dot/drive.hpp"
#include "cpu/machine/isa.hpp"
#include "cpu/pool/drive.hpp"
#include "cpu/ref/ref.hpp"
#include "cpu/resampling/drive.hpp"
#include "cpu/stream/drive.hpp"

namespace octet::impl {

namespace {

template <typename Problem> std::string takes_all(const Problem &) { return {}; }

template <typename Problem> implementation<Problem> reference() {
    return {"ref", cpu_isa::ref, takes_all<Problem>, ref::create};
}

/// Plain C++, but not asked where the cap says that only definitions may run.
template <typename Problem> implementation<Problem> look_up() {
    return {"table", cpu_isa::avx2, table::refuses, table::create};
}

template <typename Problem, cpu_isa level> implementation<Problem> jit_dot(const char *name) {
    return {name, level, dot::refuses, dot::create<level>};
}

template <typename Problem, cpu_isa level> implementation<Problem> jit_stream(const char *name) {
    return {name, level, stream::refuses<level, Problem>, stream::create<level, Problem>};
}

template <cpu_isa level> implementation<matmul_problem> jit_biased_matmul(const char *name) {
    return {name, level, biased_matmul::refuses<level>, biased_matmul::create<level>};
}

template <cpu_isa level> implementation<pooling_problem> jit_pool(const char *name) {
    return {name, level, channels_last::refuses<level, pooling_problem, pool::refuses>,
            channels_last::create<level, pooling_problem, pool::refuses, pool::create<level>>};
}

template <cpu_isa level> implementation<resampling_problem> jit_resampling(const char *name) {
    return {name, level, channels_last::refuses<level, resampling_problem, resampling::refuses<level>>,
            channels_last::create<level, resampling_problem, resampling::refuses<level>,
                                  resampling::create<level>>};
}

template <cpu_isa level> implementation<convolution_problem> jit_depthwise(const char *name) {
    return {name, level, depthwise::refuses, depthwise::create<level>};
}

template <cpu_isa level> implementation<deconvolution_problem> jit_deconvolution(const char *name) {
    return {name, level, deconvolution::refuses, deconvolution::create<level>};
}

} // namespace

// Reached through `select`; a table grows by one line per implementation, best first.
#define OCTET_IMPLEMENTATIONS(problem, ...)                                                                  \
    template <> const implementation_list<problem> &implementations() {                                      \
        static const implementation_list<problem> list{__VA_ARGS__};                                         \
        return list;                                                                                         \
    }
#define OCTET_STREAM(problem)                                                                                \
    jit_stream<problem, cpu_isa::avx512_vnni>("jit:stream/avx512_vnni"),                                     \
        jit_stream<problem, cpu_isa::avx512_core>("jit:stream/avx512_core"),                                 \
        jit_stream<problem, cpu_isa::avx_vnni>("jit:stream/avx_vnni"),                                       \
        jit_stream<problem, cpu_isa::avx2>("jit:stream/avx2")

OCTET_IMPLEMENTATIONS(convolution_problem, jit_depthwise<cpu_isa::avx512_vnni>("jit:depthwise/avx512_vnni"),
                      jit_depthwise<cpu_isa::avx512_core>("jit:depthwise/avx512_core"),
                      jit_depthwise<cpu_isa::avx_vnni>("jit:depthwise/avx_vnni"),
                      jit_depthwise<cpu_isa::avx2>("jit:depthwise/avx2"),
                      jit_dot<convolution_problem, cpu_isa::avx512_vnni>("jit:dot/avx512_vnni"),
                      jit_dot<convolution_problem, cpu_isa::avx512_core>("jit:dot/avx512_core"),
                      jit_dot<convolution_problem, cpu_isa::avx_vnni>("jit:dot/avx_vnni"),
                      jit_dot<convolution_problem, cpu_isa::avx2>("jit:dot/avx2"),
                      reference<convolution_problem>())
OCTET_IMPLEMENTATIONS(matmul_problem, jit_dot<matmul_problem, cpu_isa::avx512_vnni>("jit:dot/avx512_vnni"),
                      jit_dot<matmul_problem, cpu_isa::avx512_core>("jit:dot/avx512_core"),
                      jit_dot<matmul_problem, cpu_isa::avx_vnni>("jit:dot/avx_vnni"),
                      jit_dot<matmul_problem, cpu_isa::avx2>("jit:dot/avx2"),
                      jit_biased_matmul<cpu_isa::avx512_vnni>("jit:dot+stream/avx512_vnni"),
                      jit_biased_matmul<cpu_isa::avx512_core>("jit:dot+stream/avx512_core"),
                      jit_biased_matmul<cpu_isa::avx_vnni>("jit:dot+stream/avx_vnni"),
                      jit_biased_matmul<cpu_isa::avx2>("jit:dot+stream/avx2"), reference<matmul_problem>())
OCTET_IMPLEMENTATIONS(reorder_problem, OCTET_STREAM(reorder_problem), look_up<reorder_problem>(),
                      reference<reorder_problem>())
OCTET_IMPLEMENTATIONS(pooling_problem, jit_pool<cpu_isa::avx512_vnni>("jit:pool/avx512_vnni"),
                      jit_pool<cpu_isa::avx512_core>("jit:pool/avx512_core"),
                      jit_pool<cpu_isa::avx_vnni>("jit:pool/avx_vnni"),
                      jit_pool<cpu_isa::avx2>("jit:pool/avx2"), reference<pooling_problem>())
OCTET_IMPLEMENTATIONS(binary_problem, OCTET_STREAM(binary_problem), reference<binary_problem>())
OCTET_IMPLEMENTATIONS(softmax_problem, OCTET_STREAM(softmax_problem), reference<softmax_problem>())
OCTET_IMPLEMENTATIONS(prelu_problem, OCTET_STREAM(prelu_problem), reference<prelu_problem>())
OCTET_IMPLEMENTATIONS(sum_problem, OCTET_STREAM(sum_problem), reference<sum_problem>())
// Each part has an implementation of its own: a reorder's.
OCTET_IMPLEMENTATIONS(concat_problem, {"reorder", cpu_isa::avx2, refuses_concat, create_concat},
                      {"ref", cpu_isa::ref, takes_all<concat_problem>, create_concat})
OCTET_IMPLEMENTATIONS(resampling_problem, jit_resampling<cpu_isa::avx512_vnni>("jit:resampling/avx512_vnni"),
                      jit_resampling<cpu_isa::avx512_core>("jit:resampling/avx512_core"),
                      jit_resampling<cpu_isa::avx_vnni>("jit:resampling/avx_vnni"),
                      jit_resampling<cpu_isa::avx2>("jit:resampling/avx2"), reference<resampling_problem>())
OCTET_IMPLEMENTATIONS(deconvolution_problem,
                      jit_deconvolution<cpu_isa::avx512_vnni>("jit:deconvolution/avx512_vnni"),
                      jit_deconvolution<cpu_isa::avx512_core>("jit:deconvolution/avx512_core"),
                      jit_deconvolution<cpu_isa::avx_vnni>("jit:deconvolution/avx_vnni"),
                      jit_deconvolution<cpu_isa::avx2>("jit:deconvolution/avx2"),
                      reference<deconvolution_problem>())
OCTET_IMPLEMENTATIONS(eltwise_problem, OCTET_STREAM(eltwise_problem), look_up<eltwise_problem>(),
                      reference<eltwise_problem>())

template <typename Problem> selection<Problem> select(const Problem &problem) {
    selection<Problem> result;
    for (const implementation<Problem> &entry : implementations<Problem>()) {
        std::string reason;
        if (!isa_is_usable(entry.needs))
            reason = std::string("needs ") + to_string(entry.needs) + ", in use is " +
                     to_string(get_effective_cpu_isa());
        else
            reason = entry.refuses(problem);
        if (reason.empty()) {
            result.chosen = &entry;
            return result;
        }
        result.refusals.push_back(std::string(entry.name) + ": " + reason);
    }
    return result;
}

template selection<convolution_problem> select(const convolution_problem &);
template selection<matmul_problem> select(const matmul_problem &);
template selection<reorder_problem> select(const reorder_problem &);
template selection<pooling_problem> select(const pooling_problem &);
template selection<binary_problem> select(const binary_problem &);
template selection<softmax_problem> select(const softmax_problem &);
template selection<prelu_problem> select(const prelu_problem &);
template selection<sum_problem> select(const sum_problem &);
template selection<concat_problem> select(const concat_problem &);
template selection<resampling_problem> select(const resampling_problem &);
template selection<deconvolution_problem> select(const deconvolution_problem &);
template selection<eltwise_problem> select(const eltwise_problem &);

} // namespace octet::impl
