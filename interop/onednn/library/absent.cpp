// Descriptions of backward passes. They hold their kind and direction, so that a program that trains as well
// as infers links; their primitive descriptors are `unimplemented`.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/library/handles.hpp"

using namespace octet::onednn;

namespace {

template <typename Desc>
dnnl_status_t backward(Desc *desc, dnnl_primitive_kind_t kind, dnnl_prop_kind_t prop, dnnl_alg_kind_t alg) {
    return guarded([&] {
        *needed(desc, "desc") = Desc{};
        desc->primitive_kind = kind;
        desc->prop_kind = prop;
        desc->alg_kind = alg;
    });
}

using md = const dnnl_memory_desc_t *;

} // namespace

dnnl_status_t dnnl_convolution_backward_data_desc_init(dnnl_convolution_desc_t *desc, dnnl_alg_kind_t alg, md,
                                                       md, md, const dnnl_dims_t, const dnnl_dims_t,
                                                       const dnnl_dims_t) {
    return backward(desc, dnnl_convolution, dnnl_backward_data, alg);
}
dnnl_status_t dnnl_convolution_backward_weights_desc_init(dnnl_convolution_desc_t *desc, dnnl_alg_kind_t alg,
                                                          md, md, md, md, const dnnl_dims_t,
                                                          const dnnl_dims_t, const dnnl_dims_t) {
    return backward(desc, dnnl_convolution, dnnl_backward_weights, alg);
}
dnnl_status_t dnnl_pooling_backward_desc_init(dnnl_pooling_desc_t *desc, dnnl_alg_kind_t alg, md, md,
                                              const dnnl_dims_t, const dnnl_dims_t, const dnnl_dims_t,
                                              const dnnl_dims_t) {
    return backward(desc, dnnl_pooling, dnnl_backward_data, alg);
}
dnnl_status_t dnnl_pooling_v2_backward_desc_init(dnnl_pooling_v2_desc_t *desc, dnnl_alg_kind_t alg, md, md,
                                                 const dnnl_dims_t, const dnnl_dims_t, const dnnl_dims_t,
                                                 const dnnl_dims_t, const dnnl_dims_t) {
    return backward(desc, dnnl_pooling_v2, dnnl_backward_data, alg);
}
dnnl_status_t dnnl_eltwise_backward_desc_init(dnnl_eltwise_desc_t *desc, dnnl_alg_kind_t alg, md, md, float,
                                              float) {
    return backward(desc, dnnl_eltwise, dnnl_backward_data, alg);
}
dnnl_status_t dnnl_lrn_backward_desc_init(dnnl_lrn_desc_t *desc, dnnl_alg_kind_t alg, md, md, dnnl_dim_t,
                                          float, float, float) {
    return backward(desc, dnnl_lrn, dnnl_backward_data, alg);
}
