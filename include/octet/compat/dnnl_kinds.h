#ifndef OCTET_COMPAT_DNNL_KINDS_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_KINDS_H

/* oneDNN's operations and their algorithms, once, as lists of (name, number). They become dnnl_matmul of
   dnnl_types.h, primitive::kind::matmul of dnnl.hpp and the text "matmul". */

#define OCTET_DNNL_PRIMITIVE_KINDS(kind) \
    kind(reorder, 1) kind(shuffle, 2) kind(concat, 3) kind(sum, 4) kind(convolution, 5)                    \
    kind(deconvolution, 6) kind(eltwise, 7) kind(softmax, 8) kind(pooling, 9) kind(lrn, 10)                \
    kind(batch_normalization, 11) kind(layer_normalization, 12) kind(inner_product, 13) kind(rnn, 14)      \
    kind(binary, 16) kind(logsoftmax, 17) kind(matmul, 18) kind(resampling, 19) kind(pooling_v2, 20)       \
    kind(reduction, 21) kind(prelu, 22) kind(softmax_v2, 23)

#define OCTET_DNNL_ALGORITHMS(algorithm) \
    algorithm(convolution_direct, 1) algorithm(convolution_winograd, 2) algorithm(convolution_auto, 3)     \
    algorithm(deconvolution_direct, 10) algorithm(deconvolution_winograd, 11)                              \
    algorithm(eltwise_relu, 0x1f) algorithm(eltwise_tanh, 0x2f) algorithm(eltwise_elu, 0x3f)               \
    algorithm(eltwise_square, 0x4f) algorithm(eltwise_abs, 0x5f) algorithm(eltwise_sqrt, 0x6f)             \
    algorithm(eltwise_linear, 0x7f) algorithm(eltwise_bounded_relu, 0x8f)                                  \
    algorithm(eltwise_soft_relu, 0x9f) algorithm(eltwise_logistic, 0xaf) algorithm(eltwise_exp, 0xbf)      \
    algorithm(eltwise_gelu_tanh, 0xcf) algorithm(eltwise_swish, 0xdf) algorithm(eltwise_log, 0xef)         \
    algorithm(eltwise_clip, 0xff) algorithm(eltwise_clip_v2, 0x10) algorithm(eltwise_pow, 0x20)            \
    algorithm(eltwise_gelu_erf, 0x30) algorithm(eltwise_round, 0x40) algorithm(eltwise_logsigmoid, 0x50)   \
    algorithm(eltwise_mish, 0x60) algorithm(eltwise_hardswish, 0x70)                                       \
    algorithm(eltwise_relu_use_dst_for_bwd, 0x100) algorithm(eltwise_tanh_use_dst_for_bwd, 0x101)          \
    algorithm(eltwise_elu_use_dst_for_bwd, 0x102) algorithm(eltwise_sqrt_use_dst_for_bwd, 0x103)           \
    algorithm(eltwise_logistic_use_dst_for_bwd, 0x104) algorithm(eltwise_exp_use_dst_for_bwd, 0x105)       \
    algorithm(eltwise_clip_v2_use_dst_for_bwd, 0x106) algorithm(pooling_max, 0x1ff)                        \
    algorithm(pooling_avg_include_padding, 0x2ff) algorithm(pooling_avg_exclude_padding, 0x3ff)            \
    algorithm(lrn_across_channels, 0xaff) algorithm(lrn_within_channel, 0xbff)                             \
    algorithm(vanilla_rnn, 0x1fff) algorithm(vanilla_lstm, 0x2fff) algorithm(vanilla_gru, 0x3fff)          \
    algorithm(lbr_gru, 0x4fff) algorithm(vanilla_augru, 0x5fff) algorithm(lbr_augru, 0x6fff)               \
    algorithm(binary_add, 0x1fff0) algorithm(binary_mul, 0x1fff1) algorithm(binary_max, 0x1fff2)           \
    algorithm(binary_min, 0x1fff3) algorithm(binary_div, 0x1fff4) algorithm(binary_sub, 0x1fff5)           \
    algorithm(binary_ge, 0x1fff6) algorithm(binary_gt, 0x1fff7) algorithm(binary_le, 0x1fff8)              \
    algorithm(binary_lt, 0x1fff9) algorithm(binary_eq, 0x1fffa) algorithm(binary_ne, 0x1fffb)              \
    algorithm(resampling_nearest, 0x2fff0) algorithm(resampling_linear, 0x2fff1)                           \
    algorithm(reduction_max, 0x2fff2) algorithm(reduction_min, 0x2fff3) algorithm(reduction_sum, 0x2fff4)  \
    algorithm(reduction_mul, 0x2fff5) algorithm(reduction_mean, 0x2fff6)                                   \
    algorithm(reduction_norm_lp_max, 0x2fff7) algorithm(reduction_norm_lp_sum, 0x2fff8)                    \
    algorithm(reduction_norm_lp_power_p_max, 0x2fff9) algorithm(reduction_norm_lp_power_p_sum, 0x2fffa)    \
    algorithm(softmax_accurate, 0x30000) algorithm(softmax_log, 0x30001)

#endif
