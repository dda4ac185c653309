#ifndef OCTET_COMPAT_DNNL_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_H

/* oneDNN 2.6's C interface, on Octet. The functions are in liboctet under names of their own
   (octet_dnnl_engine_create), so that oneDNN can be in the same process; a source file sees one of the two.
   doc/onednn.md says what differs. */

#include "octet/compat/dnnl_config.h"
#include "octet/compat/dnnl_types.h"
#include "octet/compat/dnnl_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sentence of this thread's last failure: what was given and what is allowed. Octet's own; oneDNN has
   verbose mode. */
OCTET_DNNL_API const char *octet_dnnl_last_error(void) OCTET_DNNL_SYMBOL(dnnl_last_error);

/* Memory descriptors. Tags and strides as in oneDNN, blocked tags included; a descriptor is filled in by
   values alone. */
OCTET_DNNL_API dnnl_status_t dnnl_memory_desc_init_by_strides(dnnl_memory_desc_t *md, int ndims, const
        dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides)
        OCTET_DNNL_SYMBOL(dnnl_memory_desc_init_by_strides);
OCTET_DNNL_API dnnl_status_t dnnl_memory_desc_init_by_tag(dnnl_memory_desc_t *md, int ndims, const dnnl_dims_t
        dims, dnnl_data_type_t type, dnnl_format_tag_t tag) OCTET_DNNL_SYMBOL(dnnl_memory_desc_init_by_tag);
OCTET_DNNL_API dnnl_status_t dnnl_memory_desc_init_submemory(dnnl_memory_desc_t *md, const dnnl_memory_desc_t
        *parent, const dnnl_dims_t dims, const dnnl_dims_t offsets)
        OCTET_DNNL_SYMBOL(dnnl_memory_desc_init_submemory);
OCTET_DNNL_API dnnl_status_t dnnl_memory_desc_reshape(dnnl_memory_desc_t *out, const dnnl_memory_desc_t *in,
        int ndims, const dnnl_dims_t dims) OCTET_DNNL_SYMBOL(dnnl_memory_desc_reshape);
OCTET_DNNL_API dnnl_status_t dnnl_memory_desc_permute_axes(dnnl_memory_desc_t *out, const dnnl_memory_desc_t
        *in, const int *permutation) OCTET_DNNL_SYMBOL(dnnl_memory_desc_permute_axes);
OCTET_DNNL_API int dnnl_memory_desc_equal(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b)
        OCTET_DNNL_SYMBOL(dnnl_memory_desc_equal);
OCTET_DNNL_API size_t dnnl_memory_desc_get_size(const dnnl_memory_desc_t *md)
        OCTET_DNNL_SYMBOL(dnnl_memory_desc_get_size);
OCTET_DNNL_API size_t dnnl_data_type_size(dnnl_data_type_t type) OCTET_DNNL_SYMBOL(dnnl_data_type_size);

/* Engines, streams, memory. */
OCTET_DNNL_API size_t dnnl_engine_get_count(dnnl_engine_kind_t kind) OCTET_DNNL_SYMBOL(dnnl_engine_get_count);
OCTET_DNNL_API dnnl_status_t dnnl_engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind, size_t index)
        OCTET_DNNL_SYMBOL(dnnl_engine_create);
OCTET_DNNL_API dnnl_status_t dnnl_engine_get_kind(dnnl_engine_t engine, dnnl_engine_kind_t *kind)
        OCTET_DNNL_SYMBOL(dnnl_engine_get_kind);
OCTET_DNNL_API dnnl_status_t dnnl_engine_destroy(dnnl_engine_t engine) OCTET_DNNL_SYMBOL(dnnl_engine_destroy);
OCTET_DNNL_API dnnl_status_t dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine, unsigned flags)
        OCTET_DNNL_SYMBOL(dnnl_stream_create);
OCTET_DNNL_API dnnl_status_t dnnl_stream_get_engine(const_dnnl_stream_t stream, dnnl_engine_t *engine)
        OCTET_DNNL_SYMBOL(dnnl_stream_get_engine);
OCTET_DNNL_API dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream) OCTET_DNNL_SYMBOL(dnnl_stream_wait);
OCTET_DNNL_API dnnl_status_t dnnl_stream_destroy(dnnl_stream_t stream) OCTET_DNNL_SYMBOL(dnnl_stream_destroy);
OCTET_DNNL_API dnnl_status_t dnnl_memory_create(dnnl_memory_t *memory, const dnnl_memory_desc_t *md,
        dnnl_engine_t engine, void *handle) OCTET_DNNL_SYMBOL(dnnl_memory_create);
OCTET_DNNL_API dnnl_status_t dnnl_memory_get_memory_desc(const_dnnl_memory_t memory, const dnnl_memory_desc_t
        **md) OCTET_DNNL_SYMBOL(dnnl_memory_get_memory_desc);
OCTET_DNNL_API dnnl_status_t dnnl_memory_get_engine(const_dnnl_memory_t memory, dnnl_engine_t *engine)
        OCTET_DNNL_SYMBOL(dnnl_memory_get_engine);
OCTET_DNNL_API dnnl_status_t dnnl_memory_map_data(const_dnnl_memory_t memory, void **mapped)
        OCTET_DNNL_SYMBOL(dnnl_memory_map_data);
OCTET_DNNL_API dnnl_status_t dnnl_memory_unmap_data(const_dnnl_memory_t memory, void *mapped)
        OCTET_DNNL_SYMBOL(dnnl_memory_unmap_data);
OCTET_DNNL_API dnnl_status_t dnnl_memory_get_data_handle(const_dnnl_memory_t memory, void **handle)
        OCTET_DNNL_SYMBOL(dnnl_memory_get_data_handle);
OCTET_DNNL_API dnnl_status_t dnnl_memory_set_data_handle(dnnl_memory_t memory, void *handle)
        OCTET_DNNL_SYMBOL(dnnl_memory_set_data_handle);
OCTET_DNNL_API dnnl_status_t dnnl_memory_set_data_handle_v2(dnnl_memory_t memory, void *handle, dnnl_stream_t
        stream) OCTET_DNNL_SYMBOL(dnnl_memory_set_data_handle_v2);
OCTET_DNNL_API dnnl_status_t dnnl_memory_destroy(dnnl_memory_t memory) OCTET_DNNL_SYMBOL(dnnl_memory_destroy);

/* Post-ops. The fused depthwise convolution can be appended and read back; no primitive takes it. */
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_create(dnnl_post_ops_t *ops) OCTET_DNNL_SYMBOL(dnnl_post_ops_create);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_destroy(dnnl_post_ops_t ops)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_destroy);
OCTET_DNNL_API int dnnl_post_ops_len(const_dnnl_post_ops_t ops) OCTET_DNNL_SYMBOL(dnnl_post_ops_len);
OCTET_DNNL_API dnnl_primitive_kind_t dnnl_post_ops_get_kind(const_dnnl_post_ops_t ops, int index)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_get_kind);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_append_sum(dnnl_post_ops_t ops, float scale)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_append_sum);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_append_sum_v2(dnnl_post_ops_t ops, float scale, dnnl_data_type_t
        type) OCTET_DNNL_SYMBOL(dnnl_post_ops_append_sum_v2);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_append_sum_v3(dnnl_post_ops_t ops, float scale, int32_t zero_point,
        dnnl_data_type_t type) OCTET_DNNL_SYMBOL(dnnl_post_ops_append_sum_v3);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_get_params_sum(const_dnnl_post_ops_t ops, int index, float *scale)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_get_params_sum);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_get_params_sum_v2(const_dnnl_post_ops_t ops, int index, float
        *scale, dnnl_data_type_t *type) OCTET_DNNL_SYMBOL(dnnl_post_ops_get_params_sum_v2);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_get_params_sum_v3(const_dnnl_post_ops_t ops, int index, float
        *scale, int32_t *zero_point, dnnl_data_type_t *type) OCTET_DNNL_SYMBOL(dnnl_post_ops_get_params_sum_v3);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_append_eltwise(dnnl_post_ops_t ops, float scale, dnnl_alg_kind_t
        alg, float alpha, float beta) OCTET_DNNL_SYMBOL(dnnl_post_ops_append_eltwise);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_get_params_eltwise(const_dnnl_post_ops_t ops, int index, float
        *scale, dnnl_alg_kind_t *alg, float *alpha, float *beta)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_get_params_eltwise);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_append_binary(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, const
        dnnl_memory_desc_t *src1) OCTET_DNNL_SYMBOL(dnnl_post_ops_append_binary);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_get_params_binary(const_dnnl_post_ops_t ops, int index,
        dnnl_alg_kind_t *alg, const dnnl_memory_desc_t **src1)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_get_params_binary);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_append_prelu(dnnl_post_ops_t ops, int mask)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_append_prelu);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_get_params_prelu(const_dnnl_post_ops_t ops, int index, int *mask)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_get_params_prelu);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_append_dw(dnnl_post_ops_t ops, dnnl_data_type_t weights,
        dnnl_data_type_t bias, dnnl_data_type_t dst, dnnl_dim_t kernel, dnnl_dim_t stride, dnnl_dim_t padding,
        dnnl_dim_t count, int mask, const float *scales) OCTET_DNNL_SYMBOL(dnnl_post_ops_append_dw);
OCTET_DNNL_API dnnl_status_t dnnl_post_ops_get_params_dw(const_dnnl_post_ops_t ops, int index,
        dnnl_data_type_t *weights, dnnl_data_type_t *bias, dnnl_data_type_t *dst, dnnl_dim_t *kernel,
        dnnl_dim_t *stride, dnnl_dim_t *padding, dnnl_dim_t *count, int *mask, const float **scales)
        OCTET_DNNL_SYMBOL(dnnl_post_ops_get_params_dw);

/* Attributes. Values that are read stay where they are until the attribute changes.
   octet_dnnl_primitive_attr: the octet::primitive_attr behind them, for C++. */
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_create(dnnl_primitive_attr_t *attr)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_create);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_clone(dnnl_primitive_attr_t *attr,
        const_dnnl_primitive_attr_t from) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_clone);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_destroy(dnnl_primitive_attr_t attr)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_destroy);
OCTET_DNNL_API void *octet_dnnl_primitive_attr(dnnl_primitive_attr_t attr)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_get_fpmath_mode(const_dnnl_primitive_attr_t attr,
        dnnl_fpmath_mode_t *mode) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_fpmath_mode);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_fpmath_mode(dnnl_primitive_attr_t attr,
        dnnl_fpmath_mode_t mode) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_fpmath_mode);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_get_scratchpad_mode(const_dnnl_primitive_attr_t attr,
        dnnl_scratchpad_mode_t *mode) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_scratchpad_mode);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_scratchpad_mode(dnnl_primitive_attr_t attr,
        dnnl_scratchpad_mode_t mode) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_scratchpad_mode);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_get_output_scales(const_dnnl_primitive_attr_t attr,
        dnnl_dim_t *count, int *mask, const float **scales)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_output_scales);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_output_scales(dnnl_primitive_attr_t attr, dnnl_dim_t
        count, int mask, const float *scales) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_output_scales);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_get_scales(const_dnnl_primitive_attr_t attr, int arg,
        dnnl_dim_t *count, int *mask, const float **scales) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_scales);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_scales(dnnl_primitive_attr_t attr, int arg, dnnl_dim_t
        count, int mask, const float *scales) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_scales);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_get_zero_points(const_dnnl_primitive_attr_t attr, int arg,
        dnnl_dim_t *count, int *mask, const int32_t **zero_points)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_zero_points);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_zero_points(dnnl_primitive_attr_t attr, int arg,
        dnnl_dim_t count, int mask, const int32_t *zero_points)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_zero_points);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_rnn_data_qparams(dnnl_primitive_attr_t attr, float scale,
        float shift) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_rnn_data_qparams);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_get_rnn_data_qparams(const_dnnl_primitive_attr_t attr, float
        *scale, float *shift) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_rnn_data_qparams);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_rnn_weights_qparams(dnnl_primitive_attr_t attr,
        dnnl_dim_t count, int mask, const float *scales)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_rnn_weights_qparams);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_get_rnn_weights_qparams(const_dnnl_primitive_attr_t attr,
        dnnl_dim_t *count, int *mask, const float **scales)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_rnn_weights_qparams);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_rnn_weights_projection_qparams(dnnl_primitive_attr_t
        attr, dnnl_dim_t count, int mask, const float *scales)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_rnn_weights_projection_qparams);
OCTET_DNNL_API dnnl_status_t
        dnnl_primitive_attr_get_rnn_weights_projection_qparams(const_dnnl_primitive_attr_t attr, dnnl_dim_t
        *count, int *mask, const float **scales)
        OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_rnn_weights_projection_qparams);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_get_post_ops(const_dnnl_primitive_attr_t attr,
        const_dnnl_post_ops_t *ops) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_get_post_ops);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_attr_set_post_ops(dnnl_primitive_attr_t attr,
        const_dnnl_post_ops_t ops) OCTET_DNNL_SYMBOL(dnnl_primitive_attr_set_post_ops);

/* Descriptions of operations. A null pointer for bias or padding_r: none, and as padding_l. */
OCTET_DNNL_API dnnl_status_t dnnl_convolution_forward_desc_init(dnnl_convolution_desc_t *desc,
        dnnl_prop_kind_t prop, dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t
        *weights, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
        const dnnl_dims_t padding_l, const dnnl_dims_t padding_r)
        OCTET_DNNL_SYMBOL(dnnl_convolution_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_dilated_convolution_forward_desc_init(dnnl_convolution_desc_t *desc,
        dnnl_prop_kind_t prop, dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t
        *weights, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
        const dnnl_dims_t dilates, const dnnl_dims_t padding_l, const dnnl_dims_t padding_r)
        OCTET_DNNL_SYMBOL(dnnl_dilated_convolution_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_deconvolution_forward_desc_init(dnnl_deconvolution_desc_t *desc,
        dnnl_prop_kind_t prop, dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t
        *weights, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
        const dnnl_dims_t padding_l, const dnnl_dims_t padding_r)
        OCTET_DNNL_SYMBOL(dnnl_deconvolution_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_dilated_deconvolution_forward_desc_init(dnnl_deconvolution_desc_t *desc,
        dnnl_prop_kind_t prop, dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t
        *weights, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst, const dnnl_dims_t strides,
        const dnnl_dims_t dilates, const dnnl_dims_t padding_l, const dnnl_dims_t padding_r)
        OCTET_DNNL_SYMBOL(dnnl_dilated_deconvolution_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_inner_product_forward_desc_init(dnnl_inner_product_desc_t *desc,
        dnnl_prop_kind_t prop, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *weights, const
        dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst)
        OCTET_DNNL_SYMBOL(dnnl_inner_product_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_matmul_desc_init(dnnl_matmul_desc_t *desc, const dnnl_memory_desc_t *src,
        const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst)
        OCTET_DNNL_SYMBOL(dnnl_matmul_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_pooling_forward_desc_init(dnnl_pooling_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst, const dnnl_dims_t
        strides, const dnnl_dims_t kernel, const dnnl_dims_t padding_l, const dnnl_dims_t padding_r)
        OCTET_DNNL_SYMBOL(dnnl_pooling_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_pooling_v2_forward_desc_init(dnnl_pooling_v2_desc_t *desc, dnnl_prop_kind_t
        prop, dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst, const
        dnnl_dims_t strides, const dnnl_dims_t kernel, const dnnl_dims_t dilation, const dnnl_dims_t
        padding_l, const dnnl_dims_t padding_r) OCTET_DNNL_SYMBOL(dnnl_pooling_v2_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_eltwise_forward_desc_init(dnnl_eltwise_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_alg_kind_t alg, const dnnl_memory_desc_t *data, float alpha, float beta)
        OCTET_DNNL_SYMBOL(dnnl_eltwise_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_softmax_forward_desc_init(dnnl_softmax_desc_t *desc, dnnl_prop_kind_t prop,
        const dnnl_memory_desc_t *data, int axis) OCTET_DNNL_SYMBOL(dnnl_softmax_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_logsoftmax_forward_desc_init(dnnl_logsoftmax_desc_t *desc, dnnl_prop_kind_t
        prop, const dnnl_memory_desc_t *data, int axis) OCTET_DNNL_SYMBOL(dnnl_logsoftmax_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_softmax_v2_forward_desc_init(dnnl_softmax_v2_desc_t *desc, dnnl_prop_kind_t
        prop, dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst, int axis)
        OCTET_DNNL_SYMBOL(dnnl_softmax_v2_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_prelu_forward_desc_init(dnnl_prelu_desc_t *desc, dnnl_prop_kind_t prop,
        const dnnl_memory_desc_t *data, const dnnl_memory_desc_t *weights)
        OCTET_DNNL_SYMBOL(dnnl_prelu_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_binary_desc_init(dnnl_binary_desc_t *desc, dnnl_alg_kind_t alg, const
        dnnl_memory_desc_t *src0, const dnnl_memory_desc_t *src1, const dnnl_memory_desc_t *dst)
        OCTET_DNNL_SYMBOL(dnnl_binary_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_resampling_forward_desc_init(dnnl_resampling_desc_t *desc, dnnl_prop_kind_t
        prop, dnnl_alg_kind_t alg, const float *factors, const dnnl_memory_desc_t *src, const
        dnnl_memory_desc_t *dst) OCTET_DNNL_SYMBOL(dnnl_resampling_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_reduction_desc_init(dnnl_reduction_desc_t *desc, dnnl_alg_kind_t alg, const
        dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst, float p, float eps)
        OCTET_DNNL_SYMBOL(dnnl_reduction_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_batch_normalization_forward_desc_init(dnnl_batch_normalization_desc_t *desc,
        dnnl_prop_kind_t prop, const dnnl_memory_desc_t *data, float epsilon, unsigned flags)
        OCTET_DNNL_SYMBOL(dnnl_batch_normalization_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_layer_normalization_forward_desc_init(dnnl_layer_normalization_desc_t *desc,
        dnnl_prop_kind_t prop, const dnnl_memory_desc_t *data, const dnnl_memory_desc_t *stat, float epsilon,
        unsigned flags) OCTET_DNNL_SYMBOL(dnnl_layer_normalization_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_vanilla_rnn_forward_desc_init(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_alg_kind_t activation, dnnl_rnn_direction_t direction, const dnnl_memory_desc_t *src_layer, const
        dnnl_memory_desc_t *src_iter, const dnnl_memory_desc_t *weights_layer, const dnnl_memory_desc_t
        *weights_iter, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst_layer, const
        dnnl_memory_desc_t *dst_iter, unsigned flags, float alpha, float beta)
        OCTET_DNNL_SYMBOL(dnnl_vanilla_rnn_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_lstm_forward_desc_init(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_rnn_direction_t direction, const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t
        *src_iter, const dnnl_memory_desc_t *src_iter_c, const dnnl_memory_desc_t *weights_layer, const
        dnnl_memory_desc_t *weights_iter, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst_layer,
        const dnnl_memory_desc_t *dst_iter, const dnnl_memory_desc_t *dst_iter_c, unsigned flags)
        OCTET_DNNL_SYMBOL(dnnl_lstm_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_lstm_forward_desc_init_v2(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_rnn_direction_t direction, const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t
        *src_iter, const dnnl_memory_desc_t *src_iter_c, const dnnl_memory_desc_t *weights_layer, const
        dnnl_memory_desc_t *weights_iter, const dnnl_memory_desc_t *weights_peephole, const dnnl_memory_desc_t
        *bias, const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter, const
        dnnl_memory_desc_t *dst_iter_c, unsigned flags) OCTET_DNNL_SYMBOL(dnnl_lstm_forward_desc_init_v2);
OCTET_DNNL_API dnnl_status_t dnnl_lstm_forward_desc_init_v3(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_rnn_direction_t direction, const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t
        *src_iter, const dnnl_memory_desc_t *src_iter_c, const dnnl_memory_desc_t *weights_layer, const
        dnnl_memory_desc_t *weights_iter, const dnnl_memory_desc_t *weights_peephole, const dnnl_memory_desc_t
        *weights_projection, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst_layer, const
        dnnl_memory_desc_t *dst_iter, const dnnl_memory_desc_t *dst_iter_c, unsigned flags)
        OCTET_DNNL_SYMBOL(dnnl_lstm_forward_desc_init_v3);
OCTET_DNNL_API dnnl_status_t dnnl_gru_forward_desc_init(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_rnn_direction_t direction, const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t
        *src_iter, const dnnl_memory_desc_t *weights_layer, const dnnl_memory_desc_t *weights_iter, const
        dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter,
        unsigned flags) OCTET_DNNL_SYMBOL(dnnl_gru_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_lbr_gru_forward_desc_init(dnnl_rnn_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_rnn_direction_t direction, const dnnl_memory_desc_t *src_layer, const dnnl_memory_desc_t
        *src_iter, const dnnl_memory_desc_t *weights_layer, const dnnl_memory_desc_t *weights_iter, const
        dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst_layer, const dnnl_memory_desc_t *dst_iter,
        unsigned flags) OCTET_DNNL_SYMBOL(dnnl_lbr_gru_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_lrn_forward_desc_init(dnnl_lrn_desc_t *desc, dnnl_prop_kind_t prop,
        dnnl_alg_kind_t alg, const dnnl_memory_desc_t *data, dnnl_dim_t local_size, float alpha, float beta,
        float k) OCTET_DNNL_SYMBOL(dnnl_lrn_forward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_shuffle_forward_desc_init(dnnl_shuffle_desc_t *desc, dnnl_prop_kind_t prop,
        const dnnl_memory_desc_t *data, int axis, dnnl_dim_t group_size)
        OCTET_DNNL_SYMBOL(dnnl_shuffle_forward_desc_init);

/* Descriptions of backward passes, for programs that mention them; their primitive descriptors are
   unimplemented. */
OCTET_DNNL_API dnnl_status_t dnnl_convolution_backward_data_desc_init(dnnl_convolution_desc_t *desc,
        dnnl_alg_kind_t alg, const dnnl_memory_desc_t *diff_src, const dnnl_memory_desc_t *weights, const
        dnnl_memory_desc_t *diff_dst, const dnnl_dims_t strides, const dnnl_dims_t padding_l, const
        dnnl_dims_t padding_r) OCTET_DNNL_SYMBOL(dnnl_convolution_backward_data_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_convolution_backward_weights_desc_init(dnnl_convolution_desc_t *desc,
        dnnl_alg_kind_t alg, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *diff_weights, const
        dnnl_memory_desc_t *diff_bias, const dnnl_memory_desc_t *diff_dst, const dnnl_dims_t strides, const
        dnnl_dims_t padding_l, const dnnl_dims_t padding_r)
        OCTET_DNNL_SYMBOL(dnnl_convolution_backward_weights_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_pooling_backward_desc_init(dnnl_pooling_desc_t *desc, dnnl_alg_kind_t alg,
        const dnnl_memory_desc_t *diff_src, const dnnl_memory_desc_t *diff_dst, const dnnl_dims_t strides,
        const dnnl_dims_t kernel, const dnnl_dims_t padding_l, const dnnl_dims_t padding_r)
        OCTET_DNNL_SYMBOL(dnnl_pooling_backward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_pooling_v2_backward_desc_init(dnnl_pooling_v2_desc_t *desc, dnnl_alg_kind_t
        alg, const dnnl_memory_desc_t *diff_src, const dnnl_memory_desc_t *diff_dst, const dnnl_dims_t
        strides, const dnnl_dims_t kernel, const dnnl_dims_t dilation, const dnnl_dims_t padding_l, const
        dnnl_dims_t padding_r) OCTET_DNNL_SYMBOL(dnnl_pooling_v2_backward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_eltwise_backward_desc_init(dnnl_eltwise_desc_t *desc, dnnl_alg_kind_t alg,
        const dnnl_memory_desc_t *diff_data, const dnnl_memory_desc_t *data, float alpha, float beta)
        OCTET_DNNL_SYMBOL(dnnl_eltwise_backward_desc_init);
OCTET_DNNL_API dnnl_status_t dnnl_lrn_backward_desc_init(dnnl_lrn_desc_t *desc, dnnl_alg_kind_t alg, const
        dnnl_memory_desc_t *diff_data, const dnnl_memory_desc_t *data, dnnl_dim_t local_size, float alpha,
        float beta, float k) OCTET_DNNL_SYMBOL(dnnl_lrn_backward_desc_init);

/* Primitive descriptors. Octet has one implementation for a problem, so the iterator ends after the first. */
OCTET_DNNL_API dnnl_status_t dnnl_primitive_desc_iterator_create(dnnl_primitive_desc_iterator_t *iterator,
        const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
        const_dnnl_primitive_desc_t hint) OCTET_DNNL_SYMBOL(dnnl_primitive_desc_iterator_create);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_desc_iterator_next(dnnl_primitive_desc_iterator_t iterator)
        OCTET_DNNL_SYMBOL(dnnl_primitive_desc_iterator_next);
OCTET_DNNL_API dnnl_primitive_desc_t dnnl_primitive_desc_iterator_fetch(const_dnnl_primitive_desc_iterator_t
        iterator) OCTET_DNNL_SYMBOL(dnnl_primitive_desc_iterator_fetch);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_desc_iterator_destroy(dnnl_primitive_desc_iterator_t iterator)
        OCTET_DNNL_SYMBOL(dnnl_primitive_desc_iterator_destroy);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_desc_create(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t desc,
        const_dnnl_primitive_attr_t attr, dnnl_engine_t engine, const_dnnl_primitive_desc_t hint)
        OCTET_DNNL_SYMBOL(dnnl_primitive_desc_create);
OCTET_DNNL_API dnnl_status_t dnnl_reorder_primitive_desc_create(dnnl_primitive_desc_t *pd, const
        dnnl_memory_desc_t *src, dnnl_engine_t src_engine, const dnnl_memory_desc_t *dst, dnnl_engine_t
        dst_engine, const_dnnl_primitive_attr_t attr) OCTET_DNNL_SYMBOL(dnnl_reorder_primitive_desc_create);
OCTET_DNNL_API dnnl_status_t dnnl_concat_primitive_desc_create(dnnl_primitive_desc_t *pd, const
        dnnl_memory_desc_t *dst, int n, int dimension, const dnnl_memory_desc_t *srcs,
        const_dnnl_primitive_attr_t attr, dnnl_engine_t engine)
        OCTET_DNNL_SYMBOL(dnnl_concat_primitive_desc_create);
OCTET_DNNL_API dnnl_status_t dnnl_sum_primitive_desc_create(dnnl_primitive_desc_t *pd, const
        dnnl_memory_desc_t *dst, int n, const float *scales, const dnnl_memory_desc_t *srcs,
        const_dnnl_primitive_attr_t attr, dnnl_engine_t engine)
        OCTET_DNNL_SYMBOL(dnnl_sum_primitive_desc_create);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_desc_clone(dnnl_primitive_desc_t *pd, const_dnnl_primitive_desc_t
        from) OCTET_DNNL_SYMBOL(dnnl_primitive_desc_clone);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_desc_get_attr(const_dnnl_primitive_desc_t pd,
        const_dnnl_primitive_attr_t *attr) OCTET_DNNL_SYMBOL(dnnl_primitive_desc_get_attr);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_desc_query(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int
        index, void *result) OCTET_DNNL_SYMBOL(dnnl_primitive_desc_query);
OCTET_DNNL_API const dnnl_memory_desc_t *dnnl_primitive_desc_query_md(const_dnnl_primitive_desc_t pd,
        dnnl_query_t what, int index) OCTET_DNNL_SYMBOL(dnnl_primitive_desc_query_md);
OCTET_DNNL_API int dnnl_primitive_desc_query_s32(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index)
        OCTET_DNNL_SYMBOL(dnnl_primitive_desc_query_s32);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_desc_destroy(dnnl_primitive_desc_t pd)
        OCTET_DNNL_SYMBOL(dnnl_primitive_desc_destroy);

/* Primitives. A tensor is used with the layout that the primitive descriptor names, whatever the memory
   object says; arguments that the primitive does not have are passed over. There are no cache blobs, as in
   oneDNN on CPUs. */
OCTET_DNNL_API dnnl_status_t dnnl_primitive_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t
        pd) OCTET_DNNL_SYMBOL(dnnl_primitive_create);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_create_from_cache_blob(dnnl_primitive_t *primitive,
        const_dnnl_primitive_desc_t pd, size_t size, const uint8_t *blob)
        OCTET_DNNL_SYMBOL(dnnl_primitive_create_from_cache_blob);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_get_cache_blob(const_dnnl_primitive_t primitive, size_t *size,
        uint8_t *blob) OCTET_DNNL_SYMBOL(dnnl_primitive_get_cache_blob);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_get_primitive_desc(const_dnnl_primitive_t primitive,
        const_dnnl_primitive_desc_t *pd) OCTET_DNNL_SYMBOL(dnnl_primitive_get_primitive_desc);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
        int count, const dnnl_exec_arg_t *args) OCTET_DNNL_SYMBOL(dnnl_primitive_execute);
OCTET_DNNL_API dnnl_status_t dnnl_primitive_destroy(dnnl_primitive_t primitive)
        OCTET_DNNL_SYMBOL(dnnl_primitive_destroy);

/* Settings of the process. The primitive cache is counted in primitives here;
   octet::set_primitive_cache_capacity counts bytes. */
OCTET_DNNL_API const dnnl_version_t *dnnl_version(void) OCTET_DNNL_SYMBOL(dnnl_version);
OCTET_DNNL_API dnnl_status_t dnnl_set_verbose(int level) OCTET_DNNL_SYMBOL(dnnl_set_verbose);
OCTET_DNNL_API dnnl_status_t dnnl_set_jit_dump(int enable) OCTET_DNNL_SYMBOL(dnnl_set_jit_dump);
OCTET_DNNL_API dnnl_status_t dnnl_set_jit_profiling_flags(unsigned flags)
        OCTET_DNNL_SYMBOL(dnnl_set_jit_profiling_flags);
OCTET_DNNL_API dnnl_status_t dnnl_set_jit_profiling_jitdumpdir(const char *directory)
        OCTET_DNNL_SYMBOL(dnnl_set_jit_profiling_jitdumpdir);
OCTET_DNNL_API dnnl_status_t dnnl_set_max_cpu_isa(dnnl_cpu_isa_t isa) OCTET_DNNL_SYMBOL(dnnl_set_max_cpu_isa);
OCTET_DNNL_API dnnl_cpu_isa_t dnnl_get_effective_cpu_isa(void) OCTET_DNNL_SYMBOL(dnnl_get_effective_cpu_isa);
OCTET_DNNL_API dnnl_status_t dnnl_set_cpu_isa_hints(dnnl_cpu_isa_hints_t hints)
        OCTET_DNNL_SYMBOL(dnnl_set_cpu_isa_hints);
OCTET_DNNL_API dnnl_cpu_isa_hints_t dnnl_get_cpu_isa_hints(void) OCTET_DNNL_SYMBOL(dnnl_get_cpu_isa_hints);
OCTET_DNNL_API dnnl_status_t dnnl_get_default_fpmath_mode(dnnl_fpmath_mode_t *mode)
        OCTET_DNNL_SYMBOL(dnnl_get_default_fpmath_mode);
OCTET_DNNL_API dnnl_status_t dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_t mode)
        OCTET_DNNL_SYMBOL(dnnl_set_default_fpmath_mode);
OCTET_DNNL_API dnnl_status_t dnnl_get_primitive_cache_capacity(int *capacity)
        OCTET_DNNL_SYMBOL(dnnl_get_primitive_cache_capacity);
OCTET_DNNL_API dnnl_status_t dnnl_set_primitive_cache_capacity(int capacity)
        OCTET_DNNL_SYMBOL(dnnl_set_primitive_cache_capacity);

/* Row-major matrix products: c = alpha * op(a) * op(b) + beta * c, and the same of codes less their offsets,
   plus offset c: one value (F), one of each column (C) or row (R). */
OCTET_DNNL_API dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k,
        float alpha, const float *a, dnnl_dim_t lda, const float *b, dnnl_dim_t ldb, float beta, float *c,
        dnnl_dim_t ldc) OCTET_DNNL_SYMBOL(dnnl_sgemm);
OCTET_DNNL_API dnnl_status_t dnnl_gemm_u8s8s32(char transa, char transb, char offsetc, dnnl_dim_t m,
        dnnl_dim_t n, dnnl_dim_t k, float alpha, const uint8_t *a, dnnl_dim_t lda, uint8_t ao, const int8_t
        *b, dnnl_dim_t ldb, int8_t bo, float beta, int32_t *c, dnnl_dim_t ldc, const int32_t *co)
        OCTET_DNNL_SYMBOL(dnnl_gemm_u8s8s32);
OCTET_DNNL_API dnnl_status_t dnnl_gemm_s8s8s32(char transa, char transb, char offsetc, dnnl_dim_t m,
        dnnl_dim_t n, dnnl_dim_t k, float alpha, const int8_t *a, dnnl_dim_t lda, int8_t ao, const int8_t *b,
        dnnl_dim_t ldb, int8_t bo, float beta, int32_t *c, dnnl_dim_t ldc, const int32_t *co)
        OCTET_DNNL_SYMBOL(dnnl_gemm_s8s8s32);

#ifdef __cplusplus
}
#endif

#endif
