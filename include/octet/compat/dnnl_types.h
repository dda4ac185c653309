#ifndef OCTET_COMPAT_DNNL_TYPES_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_TYPES_H

/* oneDNN 2.6's types and constants for C and C++. Structures are oneDNN's to the byte, so that one code
   serves clients of this header and clients of oneDNN's own; interop/onednn/tests/compat compares them. */

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
extern "C" {
#else
#include <stddef.h>
#include <stdint.h>
#endif

#include "octet/compat/dnnl_enums.h"

#define OCTET_DNNL_API __attribute__((visibility("default")))

/* A function's symbol: liboctet has names of its own, liboctet_dnnl, which stands in front of oneDNN, has
   oneDNN's. */
#ifdef OCTET_DNNL_IN_FRONT
#define OCTET_DNNL_SYMBOL(name) __asm__(#name)
#else
#define OCTET_DNNL_SYMBOL(name) __asm__("octet_" #name)
#endif

#define DNNL_MAX_NDIMS 12

typedef int64_t dnnl_dim_t;
typedef dnnl_dim_t dnnl_dims_t[DNNL_MAX_NDIMS];

/* Placeholders for what is known at execution. */
static const union {
    unsigned u;
    float f;
} DNNL_RUNTIME_F32_VAL_REP = {0x7fc000d0}; /* a NaN with a payload of its own */
#define DNNL_RUNTIME_F32_VAL (DNNL_RUNTIME_F32_VAL_REP.f)
static const int DNNL_RUNTIME_S32_VAL_REP = INT32_MIN;
#define DNNL_RUNTIME_S32_VAL DNNL_RUNTIME_S32_VAL_REP
#define DNNL_RUNTIME_DIM_VAL INT64_MIN
#define DNNL_RUNTIME_SIZE_VAL ((size_t)DNNL_RUNTIME_DIM_VAL)

/* A layout by strides, in elements. Dimensions inner_idxs[i] are stored in blocks of inner_blks[i], the last
   one innermost. */
typedef struct {
    dnnl_dims_t strides;
    int inner_nblks;
    dnnl_dims_t inner_blks, inner_idxs;
} dnnl_blocking_desc_t;

/* Octet's packed weights: octet::memory_desc's fields of that name. */
typedef struct {
    int kind;
    dnnl_dim_t groups, width, patches[5], steps[3];
} octet_dnnl_packed_desc_t;

/* Weights of oneDNN's recurrent networks: the one layout that its functions size, allocate and compare
   without reading it. */
#define DNNL_RNN_MAX_N_PARTS 4
typedef struct {
    dnnl_rnn_packed_memory_format_t format;
    int n_parts, n, ldb, parts[DNNL_RNN_MAX_N_PARTS];
    size_t part_pack_size[DNNL_RNN_MAX_N_PARTS];
    unsigned pack_part[DNNL_RNN_MAX_N_PARTS];
    size_t offset_compensation, size;
    char reserved[200];
} dnnl_rnn_packed_desc_t;

/* What oneDNN stores behind the elements; with Octet always none. */
typedef struct {
    uint64_t flags;
    int compensation_mask;
    float scale_adjust;
    int asymm_compensation_mask;
    char reserved[60];
} dnnl_memory_extra_desc_t;

/* A tensor: shape, type and layout. Element (i0, i1, ...) of one without blocks lies at offset0 + sum of i *
   strides. */
typedef struct {
    int ndims;
    dnnl_dims_t dims;
    dnnl_data_type_t data_type;
    dnnl_dims_t padded_dims, padded_offsets; /* dims rounded up to whole blocks */
    dnnl_dim_t offset0;
    dnnl_format_kind_t format_kind;
    union {
        dnnl_blocking_desc_t blocking;
        dnnl_rnn_packed_desc_t rnn_packed_desc;
        octet_dnnl_packed_desc_t octet;
    } format_desc;
    dnnl_memory_extra_desc_t extra;
} dnnl_memory_desc_t;

/* Handles. */
typedef struct dnnl_engine *dnnl_engine_t;
typedef const struct dnnl_engine *const_dnnl_engine_t;
typedef struct dnnl_stream *dnnl_stream_t;
typedef const struct dnnl_stream *const_dnnl_stream_t;
typedef struct dnnl_memory *dnnl_memory_t;
typedef const struct dnnl_memory *const_dnnl_memory_t;
typedef struct dnnl_primitive_attr *dnnl_primitive_attr_t;
typedef const struct dnnl_primitive_attr *const_dnnl_primitive_attr_t;
typedef struct dnnl_post_ops *dnnl_post_ops_t;
typedef const struct dnnl_post_ops *const_dnnl_post_ops_t;
typedef struct dnnl_primitive_desc *dnnl_primitive_desc_t;
typedef const struct dnnl_primitive_desc *const_dnnl_primitive_desc_t;
typedef struct dnnl_primitive_desc_iterator *dnnl_primitive_desc_iterator_t;
typedef const struct dnnl_primitive_desc_iterator *const_dnnl_primitive_desc_iterator_t;
typedef struct dnnl_primitive *dnnl_primitive_t;
typedef const struct dnnl_primitive *const_dnnl_primitive_t;

#define DNNL_MEMORY_NONE (NULL)
#define DNNL_MEMORY_ALLOCATE ((void *)(size_t)-1)

typedef struct {
    int arg;
    dnnl_memory_t memory;
} dnnl_exec_arg_t;

/* Operations as a client describes them. The first field of each tells which it is. */
typedef void *dnnl_op_desc_t;
typedef const void *const_dnnl_op_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t src_desc, diff_src_desc, weights_desc, diff_weights_desc, bias_desc, diff_bias_desc, dst_desc,
        diff_dst_desc;
    dnnl_dims_t strides, dilates, padding[2];
    dnnl_data_type_t accum_data_type;
} dnnl_convolution_desc_t;

typedef dnnl_convolution_desc_t dnnl_deconvolution_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_memory_desc_t src_desc, diff_src_desc, weights_desc, diff_weights_desc, bias_desc, diff_bias_desc, dst_desc,
        diff_dst_desc;
    dnnl_data_type_t accum_data_type;
} dnnl_inner_product_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_memory_desc_t src_desc, weights_desc, bias_desc, dst_desc;
    dnnl_data_type_t accum_data_type;
} dnnl_matmul_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t data_desc, diff_data_desc;
    float alpha, beta;
} dnnl_eltwise_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_memory_desc_t data_desc, diff_desc;
    int softmax_axis;
} dnnl_softmax_desc_t;

typedef dnnl_softmax_desc_t dnnl_logsoftmax_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_memory_desc_t src_desc, diff_src_desc;
    int softmax_axis;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t dst_desc, diff_dst_desc;
} dnnl_softmax_v2_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t src_desc, diff_src_desc, dst_desc, diff_dst_desc;
    dnnl_dims_t strides, kernel, padding[2];
    dnnl_data_type_t accum_data_type;
} dnnl_pooling_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t src_desc, diff_src_desc, dst_desc, diff_dst_desc;
    dnnl_dims_t strides, kernel, padding[2];
    dnnl_data_type_t accum_data_type;
    dnnl_dims_t dilation;
} dnnl_pooling_v2_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_memory_desc_t data_desc, weights_desc, diff_data_desc, diff_weights_desc;
} dnnl_prelu_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t src_desc[2], dst_desc;
} dnnl_binary_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t src_desc, diff_src_desc, dst_desc, diff_dst_desc;
    float factors[DNNL_MAX_NDIMS];
} dnnl_resampling_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t src_desc, dst_desc;
    float p, eps;
} dnnl_reduction_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_memory_desc_t data_desc, diff_data_desc, data_scaleshift_desc, diff_data_scaleshift_desc, stat_desc;
    float batch_norm_epsilon;
    unsigned flags;
} dnnl_batch_normalization_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_memory_desc_t data_desc, diff_data_desc, data_scaleshift_desc, diff_data_scaleshift_desc, stat_desc;
    float layer_norm_epsilon;
    unsigned flags;
} dnnl_layer_normalization_desc_t;

/* Operations that Octet does not have; creating their primitive descriptors is unimplemented. */
typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_alg_kind_t alg_kind;
    dnnl_memory_desc_t data_desc, diff_data_desc;
    dnnl_dim_t local_size;
    float lrn_alpha, lrn_beta, lrn_k;
} dnnl_lrn_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_memory_desc_t data_desc;
    int axis;
    dnnl_dim_t group_size;
} dnnl_shuffle_desc_t;

typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_alg_kind_t cell_kind;
    dnnl_rnn_direction_t direction;
    dnnl_memory_desc_t src_layer_desc, src_iter_desc, src_iter_c_desc, weights_layer_desc, weights_iter_desc, bias_desc,
        dst_layer_desc, dst_iter_desc, dst_iter_c_desc, weights_peephole_desc, weights_projection_desc,
        diff_src_layer_desc, diff_src_iter_desc, diff_src_iter_c_desc, diff_weights_layer_desc, diff_weights_iter_desc,
        diff_bias_desc, diff_dst_layer_desc, diff_dst_iter_desc, diff_dst_iter_c_desc, diff_weights_peephole_desc,
        diff_weights_projection_desc;
    unsigned flags;
    dnnl_alg_kind_t activation_kind;
    float alpha, beta;
} dnnl_rnn_desc_t;

/* Execution arguments. */
#define DNNL_ARG_SRC_0 1
#define DNNL_ARG_SRC DNNL_ARG_SRC_0
#define DNNL_ARG_SRC_LAYER DNNL_ARG_SRC_0
#define DNNL_ARG_FROM DNNL_ARG_SRC_0
#define DNNL_ARG_SRC_1 2
#define DNNL_ARG_SRC_ITER DNNL_ARG_SRC_1
#define DNNL_ARG_SRC_2 3
#define DNNL_ARG_SRC_ITER_C DNNL_ARG_SRC_2
#define DNNL_ARG_SRC_3 4
#define DNNL_ARG_AUGRU_ATTENTION DNNL_ARG_SRC_3
#define DNNL_ARG_DST_0 17
#define DNNL_ARG_DST DNNL_ARG_DST_0
#define DNNL_ARG_TO DNNL_ARG_DST_0
#define DNNL_ARG_DST_LAYER DNNL_ARG_DST_0
#define DNNL_ARG_DST_1 18
#define DNNL_ARG_DST_ITER DNNL_ARG_DST_1
#define DNNL_ARG_DST_2 19
#define DNNL_ARG_DST_ITER_C DNNL_ARG_DST_2
#define DNNL_ARG_WEIGHTS_0 33
#define DNNL_ARG_WEIGHTS DNNL_ARG_WEIGHTS_0
#define DNNL_ARG_SCALE_SHIFT DNNL_ARG_WEIGHTS_0
#define DNNL_ARG_WEIGHTS_LAYER DNNL_ARG_WEIGHTS_0
#define DNNL_ARG_WEIGHTS_1 34
#define DNNL_ARG_WEIGHTS_ITER DNNL_ARG_WEIGHTS_1
#define DNNL_ARG_WEIGHTS_2 35
#define DNNL_ARG_WEIGHTS_PEEPHOLE DNNL_ARG_WEIGHTS_2
#define DNNL_ARG_WEIGHTS_3 36
#define DNNL_ARG_WEIGHTS_PROJECTION DNNL_ARG_WEIGHTS_3
#define DNNL_ARG_BIAS 41
#define DNNL_ARG_MEAN 49
#define DNNL_ARG_VARIANCE 50
#define DNNL_ARG_SCALE 51
#define DNNL_ARG_SHIFT 52
#define DNNL_ARG_WORKSPACE 64
#define DNNL_ARG_SCRATCHPAD 80
#define DNNL_ARG_DIFF_SRC_0 129
#define DNNL_ARG_DIFF_SRC DNNL_ARG_DIFF_SRC_0
#define DNNL_ARG_DIFF_SRC_LAYER DNNL_ARG_DIFF_SRC_0
#define DNNL_ARG_DIFF_SRC_1 130
#define DNNL_ARG_DIFF_SRC_ITER DNNL_ARG_DIFF_SRC_1
#define DNNL_ARG_DIFF_SRC_2 131
#define DNNL_ARG_DIFF_SRC_ITER_C DNNL_ARG_DIFF_SRC_2
#define DNNL_ARG_DIFF_SRC_3 132
#define DNNL_ARG_DIFF_AUGRU_ATTENTION DNNL_ARG_DIFF_SRC_3
#define DNNL_ARG_DIFF_DST_0 145
#define DNNL_ARG_DIFF_DST DNNL_ARG_DIFF_DST_0
#define DNNL_ARG_DIFF_DST_LAYER DNNL_ARG_DIFF_DST_0
#define DNNL_ARG_DIFF_DST_1 146
#define DNNL_ARG_DIFF_DST_ITER DNNL_ARG_DIFF_DST_1
#define DNNL_ARG_DIFF_DST_2 147
#define DNNL_ARG_DIFF_DST_ITER_C DNNL_ARG_DIFF_DST_2
#define DNNL_ARG_DIFF_WEIGHTS_0 161
#define DNNL_ARG_DIFF_WEIGHTS DNNL_ARG_DIFF_WEIGHTS_0
#define DNNL_ARG_DIFF_SCALE_SHIFT DNNL_ARG_DIFF_WEIGHTS_0
#define DNNL_ARG_DIFF_WEIGHTS_LAYER DNNL_ARG_DIFF_WEIGHTS_0
#define DNNL_ARG_DIFF_WEIGHTS_1 162
#define DNNL_ARG_DIFF_WEIGHTS_ITER DNNL_ARG_DIFF_WEIGHTS_1
#define DNNL_ARG_DIFF_WEIGHTS_2 163
#define DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE DNNL_ARG_DIFF_WEIGHTS_2
#define DNNL_ARG_DIFF_WEIGHTS_3 164
#define DNNL_ARG_DIFF_WEIGHTS_PROJECTION DNNL_ARG_DIFF_WEIGHTS_3
#define DNNL_ARG_DIFF_BIAS 169
#define DNNL_ARG_DIFF_SCALE 255
#define DNNL_ARG_DIFF_SHIFT 256
#define DNNL_ARG_ATTR_OUTPUT_SCALES 513
#define DNNL_ARG_MULTIPLE_SRC 1024
#define DNNL_ARG_MULTIPLE_DST 2048
#define DNNL_ARG_ATTR_ZERO_POINTS 4096
#define DNNL_ARG_ATTR_POST_OP_DW 8192
#define DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE 16384
#define DNNL_ARG_ATTR_INPUT_SCALES 1048576
#define DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) (DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE * ((index) + 1))
#define DNNL_ARG_ATTR_SCALES DNNL_ARG_ATTR_INPUT_SCALES

/* Runtimes, for version and configuration. */
#define DNNL_RUNTIME_NONE 0u
#define DNNL_RUNTIME_SEQ 1u
#define DNNL_RUNTIME_OMP 2u
#define DNNL_RUNTIME_TBB 4u
#define DNNL_RUNTIME_THREADPOOL 8u
#define DNNL_RUNTIME_OCL 256u
#define DNNL_RUNTIME_SYCL 512u
#define DNNL_RUNTIME_DPCPP DNNL_RUNTIME_SYCL

typedef struct {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} dnnl_version_t;

/* Flags of dnnl_set_jit_profiling_flags: perf's map, or nothing. */
#define DNNL_JIT_PROFILE_NONE 0u
#define DNNL_JIT_PROFILE_VTUNE 1u
#define DNNL_JIT_PROFILE_LINUX_PERFMAP 2u
#define DNNL_JIT_PROFILE_LINUX_JITDUMP 4u
#define DNNL_JIT_PROFILE_LINUX_JITDUMP_USE_TSC 8u
#define DNNL_JIT_PROFILE_LINUX_PERF (DNNL_JIT_PROFILE_LINUX_JITDUMP | DNNL_JIT_PROFILE_LINUX_PERFMAP)

#ifdef __cplusplus
}
#endif

#endif
