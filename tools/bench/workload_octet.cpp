// The timed layer as Octet runs it. Its twin is workload_onednn.cpp; what both have in common is written
// once, in workload.inl, because the two libraries share an interface but not their types.
// SPDX-License-Identifier: Apache-2.0
#include "bench/layer.hpp"
#include "octet/contract.hpp"

namespace octet::tools {
namespace {

namespace dnnl = octet;
constexpr int src_arg = OCTET_ARG_SRC, weights_arg = OCTET_ARG_WEIGHTS, dst_arg = OCTET_ARG_DST;

void add_relu(primitive_attr &attr, const layer &l) {
    if (l.kind != layer_kind::convolution)
        return;
    post_ops ops;
    ops.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f);
    attr.set_post_ops(ops);
}

void set_attributes(primitive_attr &attr, const layer &l, const bench_contract &contract) {
    attr.set_requantization(contract.rule);
    if (contract.rule == requantization_rule::none)
        return;
    if (contract.is_f32())
        return add_relu(attr, l);
    model::accumulator acc;
    acc.src_scale = acc.dst_scale = 1;
    acc.weights_scales = layer_scales(l);
    acc.dst_mask = 1 << 1;
    acc.weights_mask = l.kind == layer_kind::matmul ? 1 << 1 : l.g > 1 ? (1 << 0) + (1 << 1) : 1 << 0;
    acc.magnitudes.assign(acc.weights_scales.size(), l.reduction() * 255 * 128);
    model::set_contract(attr, contract.rule, acc);
    if (parameters_of(contract.rule) == rule_parameters::scales)
        return add_relu(attr, l);
    if (l.kind != layer_kind::convolution)
        return;
    post_ops ops;
    ops.append_clip(0, 255);
    attr.set_post_ops(ops);
}

} // namespace
} // namespace octet::tools

#define WORKLOAD octet_workload
#include "bench/workload.inl"

namespace octet::tools {

std::unique_ptr<workload> make_octet_workload(const layer &l, const bench_contract &contract) {
    return std::make_unique<octet_workload>(l, contract);
}

} // namespace octet::tools
