// Descriptions of operations, filled in as the client gives them. What is wrong with one, its primitive
// descriptor says.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "onednn/library/handles.hpp"

using namespace octet::onednn;

namespace {

/// The tensor, or none for a null pointer.
dnnl_memory_desc_t optional(const dnnl_memory_desc_t *md) {
    return md == nullptr ? dnnl_memory_desc_t{} : *md;
}

/// One value per spatial dimension; a null pointer leaves `to` as it is.
void copy(const dnnl_dims_t from, dnnl_dims_t &to, const dnnl_memory_desc_t &tensor) {
    if (from != nullptr)
        std::copy_n(from, std::max(tensor.ndims - 2, 0), to);
}

template <typename Desc> void init(Desc *desc, dnnl_primitive_kind_t kind) {
    *needed(desc, "desc") = Desc{};
    desc->primitive_kind = kind;
}
template <typename Desc> void init(Desc *desc, dnnl_primitive_kind_t kind, dnnl_prop_kind_t prop) {
    init(desc, kind);
    desc->prop_kind = prop;
}

dnnl_status_t convolution(dnnl_convolution_desc_t *desc, dnnl_primitive_kind_t kind, dnnl_prop_kind_t prop,
                          dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src,
                          const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *bias,
                          const dnnl_memory_desc_t *dst, const dnnl_dims_t strides, const dnnl_dims_t dilates,
                          const dnnl_dims_t padding_l, const dnnl_dims_t padding_r) {
    return guarded([&] {
        init(desc, kind, prop);
        desc->alg_kind = alg;
        desc->src_desc = *needed(src, "src");
        desc->weights_desc = *needed(weights, "weights");
        desc->bias_desc = optional(bias);
        desc->dst_desc = *needed(dst, "dst");
        copy(needed(strides, "strides"), desc->strides, *src);
        copy(dilates, desc->dilates, *src);
        copy(needed(padding_l, "padding_l"), desc->padding[0], *src);
        copy(padding_r == nullptr ? padding_l : padding_r, desc->padding[1], *src);
        desc->accum_data_type = dnnl_s32;
    });
}

template <typename Desc>
void init_pooling(Desc *desc, dnnl_primitive_kind_t kind, dnnl_prop_kind_t prop, dnnl_alg_kind_t alg,
                  const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
                  const dnnl_dims_t kernel, const dnnl_dims_t padding_l, const dnnl_dims_t padding_r) {
    init(desc, kind, prop);
    desc->alg_kind = alg;
    desc->src_desc = *needed(src, "src");
    desc->dst_desc = *needed(dst, "dst");
    copy(needed(strides, "strides"), desc->strides, *src);
    copy(needed(kernel, "kernel"), desc->kernel, *src);
    copy(needed(padding_l, "padding_l"), desc->padding[0], *src);
    copy(padding_r == nullptr ? padding_l : padding_r, desc->padding[1], *src);
    desc->accum_data_type = src->data_type;
}

/// The beginning that all cells share. The kind of a cell is beside it, what only some have behind it.
void init_rnn(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop, dnnl_alg_kind_t cell,
              dnnl_rnn_direction_t direction, const dnnl_memory_desc_t *src_layer,
              const dnnl_memory_desc_t *src_iter, const dnnl_memory_desc_t *weights_layer,
              const dnnl_memory_desc_t *weights_iter, const dnnl_memory_desc_t *bias,
              const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter, unsigned flags) {
    init(desc, dnnl_rnn, prop);
    desc->cell_kind = cell;
    desc->direction = direction;
    desc->src_layer_desc = *needed(src_layer, "src_layer");
    desc->src_iter_desc = optional(src_iter);
    desc->weights_layer_desc = *needed(weights_layer, "weights_layer");
    desc->weights_iter_desc = *needed(weights_iter, "weights_iter");
    desc->bias_desc = optional(bias);
    desc->dst_layer_desc = *needed(dst_layer, "dst_layer");
    desc->dst_iter_desc = optional(dst_iter);
    desc->flags = flags;
}

} // namespace

dnnl_status_t dnnl_convolution_forward_desc_init(dnnl_convolution_desc_t *desc, dnnl_prop_kind_t prop,
                                                 dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src,
                                                 const dnnl_memory_desc_t *weights,
                                                 const dnnl_memory_desc_t *bias,
                                                 const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
                                                 const dnnl_dims_t padding_l, const dnnl_dims_t padding_r) {
    return convolution(desc, dnnl_convolution, prop, alg, src, weights, bias, dst, strides, nullptr,
                       padding_l, padding_r);
}
dnnl_status_t dnnl_dilated_convolution_forward_desc_init(
    dnnl_convolution_desc_t *desc, dnnl_prop_kind_t prop, dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src,
    const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst,
    const dnnl_dims_t strides, const dnnl_dims_t dilates, const dnnl_dims_t padding_l,
    const dnnl_dims_t padding_r) {
    return convolution(desc, dnnl_convolution, prop, alg, src, weights, bias, dst, strides, dilates,
                       padding_l, padding_r);
}
dnnl_status_t dnnl_deconvolution_forward_desc_init(dnnl_deconvolution_desc_t *desc, dnnl_prop_kind_t prop,
                                                   dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src,
                                                   const dnnl_memory_desc_t *weights,
                                                   const dnnl_memory_desc_t *bias,
                                                   const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
                                                   const dnnl_dims_t padding_l, const dnnl_dims_t padding_r) {
    return convolution(desc, dnnl_deconvolution, prop, alg, src, weights, bias, dst, strides, nullptr,
                       padding_l, padding_r);
}
dnnl_status_t dnnl_dilated_deconvolution_forward_desc_init(
    dnnl_deconvolution_desc_t *desc, dnnl_prop_kind_t prop, dnnl_alg_kind_t alg,
    const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *bias,
    const dnnl_memory_desc_t *dst, const dnnl_dims_t strides, const dnnl_dims_t dilates,
    const dnnl_dims_t padding_l, const dnnl_dims_t padding_r) {
    return convolution(desc, dnnl_deconvolution, prop, alg, src, weights, bias, dst, strides, dilates,
                       padding_l, padding_r);
}

dnnl_status_t dnnl_inner_product_forward_desc_init(dnnl_inner_product_desc_t *desc, dnnl_prop_kind_t prop,
                                                   const dnnl_memory_desc_t *src,
                                                   const dnnl_memory_desc_t *weights,
                                                   const dnnl_memory_desc_t *bias,
                                                   const dnnl_memory_desc_t *dst) {
    return guarded([&] {
        init(desc, dnnl_inner_product, prop);
        desc->src_desc = *needed(src, "src");
        desc->weights_desc = *needed(weights, "weights");
        desc->bias_desc = optional(bias);
        desc->dst_desc = *needed(dst, "dst");
        desc->accum_data_type = dnnl_s32;
    });
}
dnnl_status_t dnnl_matmul_desc_init(dnnl_matmul_desc_t *desc, const dnnl_memory_desc_t *src,
                                    const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *bias,
                                    const dnnl_memory_desc_t *dst) {
    return guarded([&] {
        init(desc, dnnl_matmul);
        desc->src_desc = *needed(src, "src");
        desc->weights_desc = *needed(weights, "weights");
        desc->bias_desc = optional(bias);
        desc->dst_desc = *needed(dst, "dst");
        desc->accum_data_type = dnnl_s32;
    });
}

dnnl_status_t dnnl_pooling_forward_desc_init(dnnl_pooling_desc_t *desc, dnnl_prop_kind_t prop,
                                             dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src,
                                             const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
                                             const dnnl_dims_t kernel, const dnnl_dims_t padding_l,
                                             const dnnl_dims_t padding_r) {
    return guarded([&] {
        init_pooling(desc, dnnl_pooling, prop, alg, src, dst, strides, kernel, padding_l, padding_r);
    });
}
dnnl_status_t dnnl_pooling_v2_forward_desc_init(dnnl_pooling_v2_desc_t *desc, dnnl_prop_kind_t prop,
                                                dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src,
                                                const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
                                                const dnnl_dims_t kernel, const dnnl_dims_t dilation,
                                                const dnnl_dims_t padding_l, const dnnl_dims_t padding_r) {
    return guarded([&] {
        init_pooling(desc, dnnl_pooling_v2, prop, alg, src, dst, strides, kernel, padding_l, padding_r);
        copy(dilation, desc->dilation, *src);
    });
}

dnnl_status_t dnnl_eltwise_forward_desc_init(dnnl_eltwise_desc_t *desc, dnnl_prop_kind_t prop,
                                             dnnl_alg_kind_t alg, const dnnl_memory_desc_t *data, float alpha,
                                             float beta) {
    return guarded([&] {
        init(desc, dnnl_eltwise, prop);
        desc->alg_kind = alg;
        desc->data_desc = *needed(data, "data");
        desc->alpha = alpha;
        desc->beta = beta;
    });
}

dnnl_status_t dnnl_softmax_forward_desc_init(dnnl_softmax_desc_t *desc, dnnl_prop_kind_t prop,
                                             const dnnl_memory_desc_t *data, int axis) {
    return guarded([&] {
        init(desc, dnnl_softmax, prop);
        desc->data_desc = *needed(data, "data");
        desc->softmax_axis = axis;
    });
}
dnnl_status_t dnnl_logsoftmax_forward_desc_init(dnnl_logsoftmax_desc_t *desc, dnnl_prop_kind_t prop,
                                                const dnnl_memory_desc_t *data, int axis) {
    return guarded([&] {
        init(desc, dnnl_logsoftmax, prop);
        desc->data_desc = *needed(data, "data");
        desc->softmax_axis = axis;
    });
}
dnnl_status_t dnnl_softmax_v2_forward_desc_init(dnnl_softmax_v2_desc_t *desc, dnnl_prop_kind_t prop,
                                                dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src,
                                                const dnnl_memory_desc_t *dst, int axis) {
    return guarded([&] {
        init(desc, dnnl_softmax_v2, prop);
        desc->alg_kind = alg;
        desc->src_desc = *needed(src, "src");
        desc->dst_desc = *needed(dst, "dst");
        desc->softmax_axis = axis;
    });
}

dnnl_status_t dnnl_prelu_forward_desc_init(dnnl_prelu_desc_t *desc, dnnl_prop_kind_t prop,
                                           const dnnl_memory_desc_t *data,
                                           const dnnl_memory_desc_t *weights) {
    return guarded([&] {
        init(desc, dnnl_prelu, prop);
        desc->data_desc = *needed(data, "data");
        desc->weights_desc = *needed(weights, "weights");
    });
}
dnnl_status_t dnnl_binary_desc_init(dnnl_binary_desc_t *desc, dnnl_alg_kind_t alg,
                                    const dnnl_memory_desc_t *src0, const dnnl_memory_desc_t *src1,
                                    const dnnl_memory_desc_t *dst) {
    return guarded([&] {
        init(desc, dnnl_binary);
        desc->alg_kind = alg;
        desc->src_desc[0] = *needed(src0, "src0");
        desc->src_desc[1] = *needed(src1, "src1");
        desc->dst_desc = *needed(dst, "dst");
    });
}

/// Without factors they are the ratio of sizes, without a destination its sizes follow from the factors.
dnnl_status_t dnnl_resampling_forward_desc_init(dnnl_resampling_desc_t *desc, dnnl_prop_kind_t prop,
                                                dnnl_alg_kind_t alg, const float *factors,
                                                const dnnl_memory_desc_t *src,
                                                const dnnl_memory_desc_t *dst) {
    return guarded([&] {
        init(desc, dnnl_resampling, prop);
        desc->alg_kind = alg;
        desc->src_desc = *needed(src, "src");
        desc->dst_desc = optional(dst);
        const int spatial = std::max(src->ndims - 2, 0);
        if (factors != nullptr)
            std::copy_n(factors, spatial, desc->factors);
        else if (dst != nullptr)
            for (int d = 0; d < spatial; d++)
                desc->factors[d] =
                    static_cast<float>(dst->dims[2 + d]) / static_cast<float>(src->dims[2 + d]);
    });
}

dnnl_status_t dnnl_reduction_desc_init(dnnl_reduction_desc_t *desc, dnnl_alg_kind_t alg,
                                       const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst, float p,
                                       float eps) {
    return guarded([&] {
        init(desc, dnnl_reduction);
        desc->alg_kind = alg;
        desc->src_desc = *needed(src, "src");
        desc->dst_desc = *needed(dst, "dst");
        desc->p = p;
        desc->eps = eps;
    });
}
dnnl_status_t dnnl_batch_normalization_forward_desc_init(dnnl_batch_normalization_desc_t *desc,
                                                         dnnl_prop_kind_t prop,
                                                         const dnnl_memory_desc_t *data, float epsilon,
                                                         unsigned flags) {
    return guarded([&] {
        init(desc, dnnl_batch_normalization, prop);
        desc->data_desc = *needed(data, "data");
        desc->batch_norm_epsilon = epsilon;
        desc->flags = flags;
    });
}
dnnl_status_t dnnl_layer_normalization_forward_desc_init(dnnl_layer_normalization_desc_t *desc,
                                                         dnnl_prop_kind_t prop,
                                                         const dnnl_memory_desc_t *data,
                                                         const dnnl_memory_desc_t *stat, float epsilon,
                                                         unsigned flags) {
    return guarded([&] {
        init(desc, dnnl_layer_normalization, prop);
        desc->data_desc = *needed(data, "data");
        desc->stat_desc = optional(stat);
        desc->layer_norm_epsilon = epsilon;
        desc->flags = flags;
    });
}

dnnl_status_t dnnl_lrn_forward_desc_init(dnnl_lrn_desc_t *desc, dnnl_prop_kind_t prop, dnnl_alg_kind_t alg,
                                         const dnnl_memory_desc_t *data, dnnl_dim_t local_size, float alpha,
                                         float beta, float k) {
    return guarded([&] {
        init(desc, dnnl_lrn, prop);
        desc->alg_kind = alg;
        desc->data_desc = *needed(data, "data");
        desc->local_size = local_size;
        desc->lrn_alpha = alpha;
        desc->lrn_beta = beta;
        desc->lrn_k = k;
    });
}
dnnl_status_t dnnl_shuffle_forward_desc_init(dnnl_shuffle_desc_t *desc, dnnl_prop_kind_t prop,
                                             const dnnl_memory_desc_t *data, int axis,
                                             dnnl_dim_t group_size) {
    return guarded([&] {
        init(desc, dnnl_shuffle, prop);
        desc->data_desc = *needed(data, "data");
        desc->axis = axis;
        desc->group_size = group_size;
    });
}

dnnl_status_t dnnl_vanilla_rnn_forward_desc_init(
    dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop, dnnl_alg_kind_t activation, dnnl_rnn_direction_t direction,
    const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t *src_iter,
    const dnnl_memory_desc_t *weights_layer, const dnnl_memory_desc_t *weights_iter,
    const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter,
    unsigned flags, float alpha, float beta) {
    return guarded([&] {
        init_rnn(desc, prop, dnnl_vanilla_rnn, direction, src_layer, src_iter, weights_layer, weights_iter,
                 bias, dst_layer, dst_iter, flags);
        desc->activation_kind = activation;
        desc->alpha = alpha;
        desc->beta = beta;
    });
}
dnnl_status_t
dnnl_lstm_forward_desc_init_v3(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop, dnnl_rnn_direction_t direction,
                               const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t *src_iter,
                               const dnnl_memory_desc_t *src_iter_c, const dnnl_memory_desc_t *weights_layer,
                               const dnnl_memory_desc_t *weights_iter,
                               const dnnl_memory_desc_t *weights_peephole,
                               const dnnl_memory_desc_t *weights_projection, const dnnl_memory_desc_t *bias,
                               const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter,
                               const dnnl_memory_desc_t *dst_iter_c, unsigned flags) {
    return guarded([&] {
        init_rnn(desc, prop, dnnl_vanilla_lstm, direction, src_layer, src_iter, weights_layer, weights_iter,
                 bias, dst_layer, dst_iter, flags);
        desc->src_iter_c_desc = optional(src_iter_c);
        desc->dst_iter_c_desc = optional(dst_iter_c);
        desc->weights_peephole_desc = optional(weights_peephole);
        desc->weights_projection_desc = optional(weights_projection);
    });
}
dnnl_status_t
dnnl_lstm_forward_desc_init_v2(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop, dnnl_rnn_direction_t direction,
                               const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t *src_iter,
                               const dnnl_memory_desc_t *src_iter_c, const dnnl_memory_desc_t *weights_layer,
                               const dnnl_memory_desc_t *weights_iter,
                               const dnnl_memory_desc_t *weights_peephole, const dnnl_memory_desc_t *bias,
                               const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter,
                               const dnnl_memory_desc_t *dst_iter_c, unsigned flags) {
    return dnnl_lstm_forward_desc_init_v3(desc, prop, direction, src_layer, src_iter, src_iter_c,
                                          weights_layer, weights_iter, weights_peephole, nullptr, bias,
                                          dst_layer, dst_iter, dst_iter_c, flags);
}
dnnl_status_t
dnnl_lstm_forward_desc_init(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop, dnnl_rnn_direction_t direction,
                            const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t *src_iter,
                            const dnnl_memory_desc_t *src_iter_c, const dnnl_memory_desc_t *weights_layer,
                            const dnnl_memory_desc_t *weights_iter, const dnnl_memory_desc_t *bias,
                            const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter,
                            const dnnl_memory_desc_t *dst_iter_c, unsigned flags) {
    return dnnl_lstm_forward_desc_init_v3(desc, prop, direction, src_layer, src_iter, src_iter_c,
                                          weights_layer, weights_iter, nullptr, nullptr, bias, dst_layer,
                                          dst_iter, dst_iter_c, flags);
}
dnnl_status_t dnnl_gru_forward_desc_init(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop,
                                         dnnl_rnn_direction_t direction, const dnnl_memory_desc_t *src_layer,
                                         const dnnl_memory_desc_t *src_iter,
                                         const dnnl_memory_desc_t *weights_layer,
                                         const dnnl_memory_desc_t *weights_iter,
                                         const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst_layer,
                                         const dnnl_memory_desc_t *dst_iter, unsigned flags) {
    return guarded([&] {
        init_rnn(desc, prop, dnnl_vanilla_gru, direction, src_layer, src_iter, weights_layer, weights_iter,
                 bias, dst_layer, dst_iter, flags);
    });
}
dnnl_status_t
dnnl_lbr_gru_forward_desc_init(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop, dnnl_rnn_direction_t direction,
                               const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t *src_iter,
                               const dnnl_memory_desc_t *weights_layer,
                               const dnnl_memory_desc_t *weights_iter, const dnnl_memory_desc_t *bias,
                               const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter,
                               unsigned flags) {
    return guarded([&] {
        init_rnn(desc, prop, dnnl_lbr_gru, direction, src_layer, src_iter, weights_layer, weights_iter, bias,
                 dst_layer, dst_iter, flags);
    });
}
