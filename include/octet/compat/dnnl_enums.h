#ifndef OCTET_COMPAT_DNNL_ENUMS_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_ENUMS_H

/* oneDNN 2.6's enumerations with its numbers: clients store them, send them and switch over them, and so does
   the C interface between a header and a library that were built apart. interop/onednn/tests/compat compares each with
   oneDNN's. */

#include "octet/compat/dnnl_kinds.h"
#include "octet/compat/dnnl_tags.h"

/* What a call returns; the sentence that belongs to a failure: octet_dnnl_last_error(). */
typedef enum {
    dnnl_success = 0, dnnl_out_of_memory = 1, dnnl_invalid_arguments = 2, dnnl_unimplemented = 3,
    dnnl_iterator_ends = 4, dnnl_runtime_error = 5, dnnl_not_required = 6
} dnnl_status_t;

/* Element types. octet_dnnl_s16: Octet's own, for frameworks that quantize activations to 16 bits. */
typedef enum {
    dnnl_data_type_undef = 0, dnnl_f16 = 1, dnnl_bf16 = 2, dnnl_f32 = 3, dnnl_s32 = 4, dnnl_s8 = 5,
    dnnl_u8 = 6, octet_dnnl_s16 = 64
} dnnl_data_type_t;

/* How a layout is described. dnnl_format_kind_octet: weights as Octet packs them, which only reorder reads
   and writes; where oneDNN has a blocked layout after `any`. */
typedef enum {
    dnnl_format_kind_undef = 0, dnnl_format_kind_any = 1, dnnl_blocked = 2, dnnl_format_kind_wino = 3,
    dnnl_format_kind_rnn_packed = 4, dnnl_format_kind_octet = 0x4f43
} dnnl_format_kind_t;

/* Layouts by name; dnnl_tags.h has the list. */
#define OCTET_DNNL_TAG(name, number) dnnl_##name = number,
#define OCTET_DNNL_NAME(name, of) dnnl_##name = dnnl_##of,
typedef enum {
    dnnl_format_tag_undef = 0,
    dnnl_format_tag_any = 1,
    OCTET_DNNL_TAGS_PLAIN(OCTET_DNNL_TAG)
    OCTET_DNNL_TAGS_BLOCKED(OCTET_DNNL_TAG)
    OCTET_DNNL_TAGS_NAMED(OCTET_DNNL_NAME)
    dnnl_format_tag_last = 514
} dnnl_format_tag_t;
#undef OCTET_DNNL_TAG
#undef OCTET_DNNL_NAME

/* Direction. Octet has no backward pass: its names exist, its primitives are unimplemented. */
typedef enum {
    dnnl_prop_kind_undef = 0, dnnl_forward_training = 64, dnnl_forward_inference = 96,
    dnnl_forward_scoring = dnnl_forward_inference, dnnl_forward = dnnl_forward_training, dnnl_backward = 128,
    dnnl_backward_data = 160, dnnl_backward_weights = 192, dnnl_backward_bias = 193
} dnnl_prop_kind_t;

/* Operations and their algorithms; dnnl_kinds.h has the lists. */
#define OCTET_DNNL_KIND(name, number) dnnl_##name = number,
typedef enum {
    dnnl_undefined_primitive = 0,
    OCTET_DNNL_PRIMITIVE_KINDS(OCTET_DNNL_KIND)
    dnnl_gemm = 15,
    dnnl_primitive_kind_max = 32767
} dnnl_primitive_kind_t;
typedef enum {
    dnnl_alg_kind_undef = 0,
    OCTET_DNNL_ALGORITHMS(OCTET_DNNL_KIND)
    dnnl_eltwise_gelu = dnnl_eltwise_gelu_tanh,
    dnnl_pooling_avg = dnnl_pooling_avg_exclude_padding
} dnnl_alg_kind_t;
#undef OCTET_DNNL_KIND

/* Parameters of normalizations. */
typedef enum {
    dnnl_normalization_flags_none = 0, dnnl_use_global_stats = 1, dnnl_use_scaleshift = 2,
    dnnl_fuse_norm_relu = 4, dnnl_use_scale = 8, dnnl_use_shift = 16
} dnnl_normalization_flags_t;

/* Compensation that oneDNN stores behind weights; Octet never does. */
typedef enum {
    dnnl_memory_extra_flag_none = 0, dnnl_memory_extra_flag_compensation_conv_s8s8 = 1,
    dnnl_memory_extra_flag_scale_adjust = 2, dnnl_memory_extra_flag_rnn_u8s8_compensation = 4,
    dnnl_memory_extra_flag_gpu_rnn_u8s8_compensation = dnnl_memory_extra_flag_rnn_u8s8_compensation,
    dnnl_memory_extra_flag_compensation_conv_asymmetric_src = 8,
    dnnl_memory_extra_flag_rnn_s8s8_compensation = 22
} dnnl_memory_extra_flags_t;

/* Formats of packed weights of recurrent networks. */
typedef enum {
    dnnl_packed_format_undef = 0, dnnl_ldigo_p = 1, dnnl_ldgoi_p = 2, dnnl_ldio_p = 3
} dnnl_rnn_packed_memory_format_t;

/* Names for code that mentions recurrent networks; Octet has none. */
typedef enum {
    dnnl_rnn_flags_undef = 0
} dnnl_rnn_flags_t;

/* Likewise. */
typedef enum {
    dnnl_unidirectional_left2right = 0, dnnl_unidirectional_right2left = 1, dnnl_bidirectional_concat = 2,
    dnnl_bidirectional_sum = 3, dnnl_unidirectional = dnnl_unidirectional_left2right
} dnnl_rnn_direction_t;

/* Where primitives run: on the CPU. */
typedef enum {
    dnnl_any_engine = 0, dnnl_cpu = 1, dnnl_gpu = 2
} dnnl_engine_kind_t;

/* Permission to compute f32 in less: accepted, and not made use of. */
typedef enum {
    dnnl_fpmath_mode_strict = 0, dnnl_fpmath_mode_bf16 = 1, dnnl_fpmath_mode_f16 = 2,
    dnnl_fpmath_mode_any = 3
} dnnl_fpmath_mode_t;

/* Who owns the scratchpad. */
typedef enum {
    dnnl_scratchpad_mode_library = 0, dnnl_scratchpad_mode_user = 1
} dnnl_scratchpad_mode_t;

/* What a primitive descriptor can be asked. */
typedef enum {
    dnnl_query_undef = 0, dnnl_query_engine = 1, dnnl_query_primitive_kind = 2,
    dnnl_query_num_of_inputs_s32 = 3, dnnl_query_num_of_outputs_s32 = 4, dnnl_query_time_estimate_f64 = 5,
    dnnl_query_memory_consumption_s64 = 6, dnnl_query_scratchpad_engine = 7, dnnl_query_impl_info_str = 8,
    dnnl_query_reorder_src_engine = 9, dnnl_query_reorder_dst_engine = 10, dnnl_query_prop_kind = 11,
    dnnl_query_cache_blob_id_size_s64 = 12, dnnl_query_cache_blob_id = 13, dnnl_query_some_d = 64,
    dnnl_query_op_d = 65, dnnl_query_convolution_d = 66, dnnl_query_deconvolution_d = 67,
    dnnl_query_shuffle_d = 68, dnnl_query_eltwise_d = 69, dnnl_query_softmax_d = 70,
    dnnl_query_pooling_d = 71, dnnl_query_lrn_d = 72, dnnl_query_batch_normalization_d = 73,
    dnnl_query_layer_normalization_d = 74, dnnl_query_inner_product_d = 75, dnnl_query_rnn_d = 76,
    dnnl_query_gemm_d = 77, dnnl_query_binary_d = 78, dnnl_query_logsoftmax_d = 79, dnnl_query_matmul_d = 80,
    dnnl_query_resampling_d = 81, dnnl_query_pooling_v2_d = 82, dnnl_query_reduction_d = 83,
    dnnl_query_prelu_d = 84, dnnl_query_softmax_v2_d = 85, dnnl_query_some_md = 128, dnnl_query_src_md = 129,
    dnnl_query_diff_src_md = 130, dnnl_query_weights_md = 131, dnnl_query_diff_weights_md = 132,
    dnnl_query_dst_md = 133, dnnl_query_diff_dst_md = 134, dnnl_query_workspace_md = 135,
    dnnl_query_scratchpad_md = 136, dnnl_query_exec_arg_md = 255, dnnl_query_max = 32767
} dnnl_query_t;

/* Accepted and without effect: an execution is complete when it returns. */
typedef enum {
    dnnl_stream_in_order = 1, dnnl_stream_out_of_order = 2, dnnl_stream_default_flags = dnnl_stream_in_order
} dnnl_stream_flags_t;

/* Instruction sets. */
typedef enum {
    dnnl_cpu_isa_all = 0, dnnl_cpu_isa_sse41 = 1, dnnl_cpu_isa_avx = 3, dnnl_cpu_isa_avx2 = 7,
    dnnl_cpu_isa_avx512_mic = 15, dnnl_cpu_isa_avx512_mic_4ops = 0x1f, dnnl_cpu_isa_avx512_core = 0x27,
    dnnl_cpu_isa_avx512_core_vnni = 0x67, dnnl_cpu_isa_avx512_core_bf16 = 0xe7,
    dnnl_cpu_isa_avx512_core_amx = 0x3e7, dnnl_cpu_isa_avx2_vnni = 0x407
} dnnl_cpu_isa_t;

/* Accepted and without effect. */
typedef enum {
    dnnl_cpu_isa_no_hints = 0, dnnl_cpu_isa_prefer_ymm = 1
} dnnl_cpu_isa_hints_t;

#endif
