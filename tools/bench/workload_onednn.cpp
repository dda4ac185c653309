// The timed layer as oneDNN runs it, the other side of workload_octet.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "bench/layer.hpp"

#ifdef OCTET_HAVE_DNNL

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_debug.h>

namespace octet::tools {
namespace {

constexpr int src_arg = DNNL_ARG_SRC, weights_arg = DNNL_ARG_WEIGHTS, dst_arg = DNNL_ARG_DST;

void set_attributes(dnnl::primitive_attr &attr, const layer &l, const bench_contract &contract) {
    if (contract.dst == data_type::s32)
        return;
    if (!contract.is_f32())
        attr.set_output_scales(1 << 1, layer_scales(l));
    if (l.kind != layer_kind::convolution)
        return;
    dnnl::post_ops ops;
    ops.append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f);
    attr.set_post_ops(ops);
}

dnnl::cpu_isa baseline_isa(cpu_isa level) {
    switch (level) {
    case cpu_isa::avx512_amx:
        return dnnl::cpu_isa::avx512_core_amx;
    case cpu_isa::avx512_vnni:
        return dnnl::cpu_isa::avx512_core_vnni;
    case cpu_isa::avx512_core:
        return dnnl::cpu_isa::avx512_core;
    case cpu_isa::avx_vnni:
        return dnnl::cpu_isa::avx2_vnni;
    case cpu_isa::avx2:
        return dnnl::cpu_isa::avx2;
    case cpu_isa::ref:
        return dnnl::cpu_isa::sse41; // its lowest
    }
    throw error(status::unimplemented, std::string("--baseline onednn: it has no level ") + to_string(level));
}

} // namespace
} // namespace octet::tools

#define WORKLOAD onednn_workload
#include "bench/workload.inl"

namespace octet::tools {

std::unique_ptr<workload> make_onednn_workload(const layer &l, const bench_contract &contract) {
    // The limit can be set once, before oneDNN's first primitive.
    static const dnnl::status limited = dnnl::set_max_cpu_isa(baseline_isa(get_effective_cpu_isa()));
    if (limited != dnnl::status::success)
        throw error(status::runtime_error, "oneDNN can't be limited to the instruction set in use");
    try {
        return std::make_unique<onednn_workload>(l, contract);
    } catch (const dnnl::error &e) {
        throw error(status::unimplemented, l.name + ": oneDNN: " + e.what());
    }
}

void rest_onednn() { omp_pause_resource_all(omp_pause_hard); }
void set_onednn_threads(int threads) { omp_set_num_threads(threads); }

} // namespace octet::tools

#else

namespace octet::tools {

std::unique_ptr<workload> make_onednn_workload(const layer &, const bench_contract &) {
    throw error(status::unimplemented,
                "--baseline onednn: this build has no oneDNN; configure it with -DOCTET_WITH_ONEDNN=ON");
}
void rest_onednn() {}
void set_onednn_threads(int) {}

} // namespace octet::tools

#endif
