// Pooling, binary, eltwise, softmax, resampling, PReLU. They keep the layout of their source, so `any` for a destination means
// that of the source, as in oneDNN.

#include "dnnl/descriptors.hpp"
#include "dnnl/translate.hpp"

namespace octet::interop {
namespace {

/// A source, whose layout has to be known.
octet::memory::desc source(const dnnl_memory_desc_t &md) {
    if (md.format_kind == dnnl_format_kind_any)
        throw refusal("a source with layout any");
    return to_octet(md);
}

octet::memory::dims spatial(const dnnl_dims_t values, int ndims) { return {values, values + ndims - 2}; }

} // namespace

void translate_pooling(const dnnl_pooling_v2_desc_t &d, const octet::primitive_attr &attr, problem &p) {
    const int ndims = d.src_desc.ndims;
    if (ndims < 3 || ndims > 5)
        throw refusal("a rank of src that is none of 3, 4, 5");
    if (d.prop_kind == dnnl_forward_training && d.alg_kind == dnnl_pooling_max)
        throw refusal("a workspace for the backward pass");
    const octet::memory::desc src = source(d.src_desc), dst = laid_out_like(to_octet(d.dst_desc), src);
    p.pd = octet::pooling_forward::primitive_desc(
        octet::pooling_forward::desc(to_octet(d.prop_kind), to_octet(d.alg_kind), src, dst,
                                     spatial(d.strides, ndims), spatial(d.kernel, ndims),
                                     spatial(d.dilation, ndims), spatial(d.padding[0], ndims),
                                     spatial(d.padding[1], ndims)),
        attr, octet_engine());
    p.tensors = {{DNNL_ARG_SRC, d.src_desc}, {DNNL_ARG_DST, with_layout(d.dst_desc, dst)}};
}

void translate_binary(const dnnl_binary_desc_t &d, const octet::primitive_attr &attr, problem &p) {
    const octet::memory::desc src0 = source(d.src_desc[0]), dst = laid_out_like(to_octet(d.dst_desc), src0);
    const octet::memory::desc src1 = laid_out_like(to_octet(d.src_desc[1]), src0);
    p.pd = octet::binary::primitive_desc(octet::binary::desc(to_octet(d.alg_kind), src0, src1, dst), attr,
                                         octet_engine());
    p.tensors = {{DNNL_ARG_SRC_0, d.src_desc[0]},
                 {DNNL_ARG_SRC_1, with_layout(d.src_desc[1], src1)},
                 {DNNL_ARG_DST, with_layout(d.dst_desc, dst)}};
}

void translate_eltwise(const dnnl_eltwise_desc_t &d, const octet::primitive_attr &attr, problem &p) {
    const octet::memory::desc data = source(d.data_desc);
    p.pd = octet::eltwise_forward::primitive_desc(octet::eltwise_forward::desc(to_octet(d.prop_kind),
                                                                               to_octet(d.alg_kind), data,
                                                                               data, d.alpha, d.beta),
                                                  attr, octet_engine());
    p.tensors = {{DNNL_ARG_SRC, d.data_desc}, {DNNL_ARG_DST, d.data_desc}};
}

void translate_softmax(const dnnl_softmax_desc_t &d, dnnl_alg_kind_t alg, const octet::primitive_attr &attr,
                       problem &p) {
    const octet::memory::desc data = source(d.data_desc);
    p.pd = octet::softmax_forward::primitive_desc(
        octet::softmax_forward::desc(to_octet(d.prop_kind), to_octet(alg), data, data, d.softmax_axis), attr,
        octet_engine());
    p.tensors = {{DNNL_ARG_SRC, d.data_desc}, {DNNL_ARG_DST, d.data_desc}};
}

void translate_softmax(const dnnl_softmax_v2_desc_t &d, const octet::primitive_attr &attr, problem &p) {
    const octet::memory::desc src = source(d.src_desc), dst = laid_out_like(to_octet(d.dst_desc), src);
    p.pd = octet::softmax_forward::primitive_desc(
        octet::softmax_forward::desc(to_octet(d.prop_kind), to_octet(d.alg_kind), src, dst, d.softmax_axis),
        attr, octet_engine());
    p.tensors = {{DNNL_ARG_SRC, d.src_desc}, {DNNL_ARG_DST, with_layout(d.dst_desc, dst)}};
}

void translate_resampling(const dnnl_resampling_desc_t &d, const octet::primitive_attr &attr, problem &p) {
    const octet::memory::desc src = source(d.src_desc), dst = laid_out_like(to_octet(d.dst_desc), src);
    // Factors that oneDNN filled in from the sizes say nothing; others give coordinates of their own.
    const int spatial_ndims = d.src_desc.ndims - 2;
    for (int i = 0; i < spatial_ndims; i++)
        if (d.factors[i] !=
            static_cast<float>(d.dst_desc.dims[2 + i]) / static_cast<float>(d.src_desc.dims[2 + i]))
            throw refusal("factors that are not the ratio of sizes");
    p.pd = octet::resampling_forward::primitive_desc(
        octet::resampling_forward::desc(to_octet(d.prop_kind), to_octet(d.alg_kind), src, dst), attr,
        octet_engine());
    p.tensors = {{DNNL_ARG_SRC, d.src_desc}, {DNNL_ARG_DST, with_layout(d.dst_desc, dst)}};
}

void translate_prelu(const dnnl_prelu_desc_t &d, const octet::primitive_attr &attr, problem &p) {
    const octet::memory::desc data = source(d.data_desc),
                              weights = laid_out_like(to_octet(d.weights_desc), data);
    p.pd = octet::prelu_forward::primitive_desc(
        octet::prelu_forward::desc(to_octet(d.prop_kind), data, weights, data), attr, octet_engine());
    p.tensors = {{DNNL_ARG_SRC, d.data_desc},
                 {DNNL_ARG_WEIGHTS, with_layout(d.weights_desc, weights)},
                 {DNNL_ARG_DST, d.data_desc}};
}

} // namespace octet::interop
