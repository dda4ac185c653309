#ifndef OCTET_COMPAT_DNNL_ENUMS_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_ENUMS_H

/* oneDNN 2.6's enumerations with its numbers: clients store them, send them and switch over them, and so does the C interface
   between a header and a library that were built apart. tests/compat compares each with oneDNN's. */

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

/* How a layout is described. dnnl_format_kind_octet: weights as Octet packs them, which only reorder reads and writes; where
   oneDNN has a blocked layout after `any`. */
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

/* Operations. */
typedef enum {
    dnnl_undefined_primitive = 0, dnnl_reorder = 1, dnnl_shuffle = 2, dnnl_concat = 3, dnnl_sum = 4,
    dnnl_convolution = 5, dnnl_deconvolution = 6, dnnl_eltwise = 7, dnnl_softmax = 8, dnnl_pooling = 9,
    dnnl_lrn = 10, dnnl_batch_normalization = 11, dnnl_layer_normalization = 12, dnnl_inner_product = 13,
    dnnl_rnn = 14, dnnl_gemm = 15, dnnl_binary = 16, dnnl_logsoftmax = 17, dnnl_matmul = 18,
    dnnl_resampling = 19, dnnl_pooling_v2 = 20, dnnl_reduction = 21, dnnl_prelu = 22, dnnl_softmax_v2 = 23,
    dnnl_primitive_kind_max = 32767
} dnnl_primitive_kind_t;

/* Algorithms of all operations. */
typedef enum {
    dnnl_alg_kind_undef = 0, dnnl_convolution_direct = 1, dnnl_convolution_winograd = 2,
    dnnl_convolution_auto = 3, dnnl_deconvolution_direct = 10, dnnl_deconvolution_winograd = 11,
    dnnl_eltwise_relu = 0x1f, dnnl_eltwise_tanh = 0x2f, dnnl_eltwise_elu = 0x3f, dnnl_eltwise_square = 0x4f,
    dnnl_eltwise_abs = 0x5f, dnnl_eltwise_sqrt = 0x6f, dnnl_eltwise_linear = 0x7f,
    dnnl_eltwise_bounded_relu = 0x8f, dnnl_eltwise_soft_relu = 0x9f, dnnl_eltwise_logistic = 0xaf,
    dnnl_eltwise_exp = 0xbf, dnnl_eltwise_gelu_tanh = 0xcf, dnnl_eltwise_gelu = dnnl_eltwise_gelu_tanh,
    dnnl_eltwise_swish = 0xdf, dnnl_eltwise_log = 0xef, dnnl_eltwise_clip = 0xff, dnnl_eltwise_clip_v2 = 0x10,
    dnnl_eltwise_pow = 0x20, dnnl_eltwise_gelu_erf = 0x30, dnnl_eltwise_round = 0x40,
    dnnl_eltwise_logsigmoid = 0x50, dnnl_eltwise_mish = 0x60, dnnl_eltwise_hardswish = 0x70,
    dnnl_eltwise_relu_use_dst_for_bwd = 0x100, dnnl_eltwise_tanh_use_dst_for_bwd = 0x101,
    dnnl_eltwise_elu_use_dst_for_bwd = 0x102, dnnl_eltwise_sqrt_use_dst_for_bwd = 0x103,
    dnnl_eltwise_logistic_use_dst_for_bwd = 0x104, dnnl_eltwise_exp_use_dst_for_bwd = 0x105,
    dnnl_eltwise_clip_v2_use_dst_for_bwd = 0x106, dnnl_pooling_max = 0x1ff,
    dnnl_pooling_avg_include_padding = 0x2ff, dnnl_pooling_avg_exclude_padding = 0x3ff,
    dnnl_pooling_avg = dnnl_pooling_avg_exclude_padding, dnnl_lrn_across_channels = 0xaff,
    dnnl_lrn_within_channel = 0xbff, dnnl_vanilla_rnn = 0x1fff, dnnl_vanilla_lstm = 0x2fff,
    dnnl_vanilla_gru = 0x3fff, dnnl_lbr_gru = 0x4fff, dnnl_vanilla_augru = 0x5fff, dnnl_lbr_augru = 0x6fff,
    dnnl_binary_add = 0x1fff0, dnnl_binary_mul = 0x1fff1, dnnl_binary_max = 0x1fff2,
    dnnl_binary_min = 0x1fff3, dnnl_binary_div = 0x1fff4, dnnl_binary_sub = 0x1fff5, dnnl_binary_ge = 0x1fff6,
    dnnl_binary_gt = 0x1fff7, dnnl_binary_le = 0x1fff8, dnnl_binary_lt = 0x1fff9, dnnl_binary_eq = 0x1fffa,
    dnnl_binary_ne = 0x1fffb, dnnl_resampling_nearest = 0x2fff0, dnnl_resampling_linear = 0x2fff1,
    dnnl_reduction_max = 0x2fff2, dnnl_reduction_min = 0x2fff3, dnnl_reduction_sum = 0x2fff4,
    dnnl_reduction_mul = 0x2fff5, dnnl_reduction_mean = 0x2fff6, dnnl_reduction_norm_lp_max = 0x2fff7,
    dnnl_reduction_norm_lp_sum = 0x2fff8, dnnl_reduction_norm_lp_power_p_max = 0x2fff9,
    dnnl_reduction_norm_lp_power_p_sum = 0x2fffa, dnnl_softmax_accurate = 0x30000, dnnl_softmax_log = 0x30001
} dnnl_alg_kind_t;

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
