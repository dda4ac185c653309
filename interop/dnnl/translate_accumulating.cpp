// Convolution, deconvolution, inner product and matmul. Their weights are what `any` is for: it becomes Octet's packed layout.

#include "dnnl/descriptors.hpp"
#include "dnnl/translate.hpp"

namespace octet::interop {
namespace {

/// oneDNN's lists of spatial sizes are as long as the rank allows.
octet::memory::dims spatial(const dnnl_dims_t values, int ndims) { return {values, values + ndims - 2}; }

/// Octet takes unsigned weights, oneDNN doesn't: nobody expects them.
void require_types(const dnnl_memory_desc_t &weights) {
    if (weights.data_type != dnnl_s8)
        throw refusal("weights that are not s8");
}

template <typename Desc> void set_tensors(const Desc &d, problem &p) {
    p.tensors = {{DNNL_ARG_SRC, with_layout(d.src_desc, p.pd.src_desc())},
                 {DNNL_ARG_WEIGHTS, with_layout(d.weights_desc, p.pd.weights_desc())},
                 {DNNL_ARG_DST, with_layout(d.dst_desc, p.pd.dst_desc())}};
    if (d.bias_desc.ndims != 0)
        p.tensors.push_back({DNNL_ARG_BIAS, with_layout(d.bias_desc, p.pd.bias_desc())});
}

template <typename Operation, typename Desc>
void translate_windows(const Desc &d, const octet::primitive_attr &attr, problem &p) {
    require_types(d.weights_desc);
    const int ndims = d.src_desc.ndims;
    if (ndims < 3 || ndims > 5)
        throw refusal("a rank of src that is none of 3, 4, 5");
    const typename Operation::desc desc(to_octet(d.prop_kind), to_octet(d.alg_kind), to_octet(d.src_desc),
                                        to_octet(d.weights_desc), to_octet(d.bias_desc), to_octet(d.dst_desc),
                                        spatial(d.strides, ndims), spatial(d.dilates, ndims),
                                        spatial(d.padding[0], ndims), spatial(d.padding[1], ndims));
    p.pd = typename Operation::primitive_desc(desc, attr, octet_engine());
    set_tensors(d, p);
}

} // namespace

void translate_convolution(const dnnl_convolution_desc_t &d, const octet::primitive_attr &attr, problem &p) {
    translate_windows<octet::convolution_forward>(d, attr, p);
}

void translate_deconvolution(const dnnl_deconvolution_desc_t &d, const octet::primitive_attr &attr,
                             problem &p) {
    translate_windows<octet::deconvolution_forward>(d, attr, p);
}

void translate_inner_product(const dnnl_inner_product_desc_t &d, const octet::primitive_attr &attr,
                             problem &p) {
    require_types(d.weights_desc);
    p.pd = octet::inner_product_forward::primitive_desc(
        octet::inner_product_forward::desc(to_octet(d.prop_kind), to_octet(d.src_desc),
                                           to_octet(d.weights_desc), to_octet(d.bias_desc),
                                           to_octet(d.dst_desc)),
        attr, octet_engine());
    set_tensors(d, p);
}

void translate_matmul(const dnnl_matmul_desc_t &d, const octet::primitive_attr &attr, problem &p) {
    require_types(d.weights_desc);
    p.pd = octet::matmul::primitive_desc(octet::matmul::desc(to_octet(d.src_desc), to_octet(d.weights_desc),
                                                             to_octet(d.bias_desc), to_octet(d.dst_desc)),
                                         attr, octet_engine());
    set_tensors(d, p);
}

} // namespace octet::interop
