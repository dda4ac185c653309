// Names of all public enumerators. Each table is in the order of its enumeration; tests/api/names_test.cpp reads
// the headers and compares, so that a new enumerator without a name does not get in.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <utility>

#include "common/text.hpp"
#include "octet/engine.hpp"
#include "octet/error.hpp"
#include "octet/memory.hpp"
#include "octet/primitive.hpp"
#include "octet/requantization.hpp"
#include "octet/source_quantization.hpp"
#include "octet/types.hpp"

namespace octet {

namespace {

template <typename Enum, std::size_t n> const char *name_in(const char *const (&names)[n], Enum value) {
    const auto index = static_cast<std::size_t>(value);
    return index < n ? names[index] : "unknown";
}

} // namespace

inline namespace v0 {

const char *to_string(data_type type) {
    switch (type) { // oneDNN's numbers have gaps
    case data_type::undef:
        return "undef";
    case data_type::f16:
        return "f16";
    case data_type::bf16:
        return "bf16";
    case data_type::f32:
        return "f32";
    case data_type::s32:
        return "s32";
    case data_type::s8:
        return "s8";
    case data_type::u8:
        return "u8";
    case data_type::s4:
        return "s4";
    case data_type::u4:
        return "u4";
    case data_type::s16:
        return "s16";
    case data_type::u2:
        return "u2";
    case data_type::s2:
        return "s2";
    }
    return "unknown";
}

const char *to_string(format_tag tag) {
    static constexpr const char *names[] = {
        "undef", "any",   "a",     "ab",     "ba",     "abc",    "acb",    "bac",    "bca",
        "cab",   "cba",   "abcd",  "abdc",   "acbd",   "acdb",   "adcb",   "bacd",   "bcda",
        "cdab",  "cdba",  "dcab",  "abcde",  "abdec",  "acbde",  "acdeb",  "bacde",  "bcdea",
        "cdeab", "cdeba", "decab", "abcdef", "abdefc", "acbdef", "acdefb", "bacdef", "defcab"};
    return name_in(names, tag);
}

const char *to_string(prop_kind prop) {
    static constexpr const char *names[] = {"undef", "forward_training", "forward_inference"};
    return name_in(names, prop);
}

const char *to_string(padding_kind padding) {
    static constexpr const char *names[] = {"zero"};
    return name_in(names, padding);
}

const char *to_string(primitive_kind kind) {
    static constexpr const char *names[] = {"undef",
                                            "reorder",
                                            "convolution",
                                            "inner_product",
                                            "matmul",
                                            "pooling",
                                            "softmax",
                                            "binary",
                                            "eltwise",
                                            "sum",
                                            "prelu",
                                            "deconvolution",
                                            "concat",
                                            "resampling",
                                            "lrn",
                                            "shuffle",
                                            "logsoftmax",
                                            "batch_normalization",
                                            "layer_normalization",
                                            "reduction",
                                            "rnn"};
    return name_in(names, kind);
}

std::string to_string(normalization_flags flags) {
    using f = normalization_flags;
    constexpr std::pair<f, const char *> names[] = {{f::use_global_stats, "use_global_stats"},
                                                    {f::use_scale_shift, "use_scale_shift"},
                                                    {f::fuse_norm_relu, "fuse_norm_relu"},
                                                    {f::use_scale, "use_scale"},
                                                    {f::use_shift, "use_shift"}};
    std::string text;
    for (const auto &[flag, name] : names)
        if ((flags & flag) != f::none)
            text += (text.empty() ? "" : "+") + std::string(name);
    return text.empty() ? "none" : text;
}

const char *to_string(algorithm alg) {
    static constexpr const char *names[] = {"undef",
                                            "convolution_direct",
                                            "convolution_auto",
                                            "deconvolution_direct",
                                            "eltwise_relu",
                                            "eltwise_tanh",
                                            "eltwise_elu",
                                            "eltwise_square",
                                            "eltwise_abs",
                                            "eltwise_sqrt",
                                            "eltwise_linear",
                                            "eltwise_bounded_relu",
                                            "eltwise_soft_relu",
                                            "eltwise_logistic",
                                            "eltwise_exp",
                                            "eltwise_gelu_tanh",
                                            "eltwise_swish",
                                            "eltwise_log",
                                            "eltwise_clip",
                                            "eltwise_clip_v2",
                                            "eltwise_pow",
                                            "eltwise_gelu_erf",
                                            "eltwise_round",
                                            "eltwise_logsigmoid",
                                            "eltwise_mish",
                                            "eltwise_hardswish",
                                            "eltwise_soft_relu_v2",
                                            "eltwise_ort_clip",
                                            "eltwise_ort_erf",
                                            "eltwise_ort_exp",
                                            "eltwise_ort_gelu_erf",
                                            "eltwise_ort_gelu_tanh",
                                            "eltwise_ort_logistic",
                                            "eltwise_ort_relu",
                                            "eltwise_ort_tanh",
                                            "eltwise_ort_swish",
                                            "pooling_max",
                                            "pooling_avg_include_padding",
                                            "pooling_avg_exclude_padding",
                                            "binary_add",
                                            "binary_mul",
                                            "binary_max",
                                            "binary_min",
                                            "binary_div",
                                            "binary_sub",
                                            "binary_ge",
                                            "binary_gt",
                                            "binary_le",
                                            "binary_lt",
                                            "binary_eq",
                                            "binary_ne",
                                            "resampling_nearest",
                                            "resampling_linear",
                                            "softmax_accurate",
                                            "softmax_log",
                                            "lrn_across_channels",
                                            "lrn_within_channel",
                                            "reduction_max",
                                            "reduction_min",
                                            "reduction_sum",
                                            "reduction_mul",
                                            "reduction_mean",
                                            "reduction_norm_lp_max",
                                            "reduction_norm_lp_sum",
                                            "reduction_norm_lp_power_p_max",
                                            "reduction_norm_lp_power_p_sum",
                                            "vanilla_rnn",
                                            "vanilla_lstm",
                                            "vanilla_gru",
                                            "lbr_gru"};
    return name_in(names, alg);
}

const char *to_string(resampling_coordinates coordinates) {
    static constexpr const char *names[] = {"half_pixel", "asymmetric", "align_corners",
                                            "align_corners_half_pixel"};
    return name_in(names, coordinates);
}

const char *to_string(rnn_direction direction) {
    static constexpr const char *names[] = {"unidirectional_left2right", "unidirectional_right2left",
                                            "bidirectional_concat", "bidirectional_sum"};
    return name_in(names, direction);
}

const char *to_string(scratchpad_mode mode) {
    static constexpr const char *names[] = {"library", "user"};
    return name_in(names, mode);
}

const char *to_string(format_kind kind) {
    static constexpr const char *names[] = {"undef", "any", "plain", "packed"};
    return name_in(names, kind);
}

const char *to_string(packed_kind kind) {
    static constexpr const char *names[] = {
        "none",          "convolution",           "grouped_convolution", "matmul",
        "deconvolution", "grouped_deconvolution", "matmul_with_scales",  "recurrent"};
    return name_in(names, kind);
}

const char *to_string(source_quantizer by) {
    static constexpr const char *names[] = {"dynamic",     "xnnpack", "kleidiai", "litert",
                                            "onnxruntime", "qnnpack", "ggml",     "ggml_avx2"};
    return name_in(names, by);
}

const char *to_string(source_mode mode) {
    static constexpr const char *names[] = {"symmetric", "asymmetric"};
    return name_in(names, mode);
}

const char *to_string(source_span span) {
    static constexpr const char *names[] = {"row", "group", "tensor"};
    return name_in(names, span);
}

const char *to_string(combination order) {
    static constexpr const char *names[] = {"dynamic_row",
                                            "dynamic_group",
                                            "xnnpack",
                                            "xnnpack_unfused",
                                            "xnnpack_groups",
                                            "xnnpack_groups_avx2",
                                            "xnnpack_groups_sse",
                                            "xnnpack_groups_scalar",
                                            "kleidiai",
                                            "kleidiai_groups",
                                            "kleidiai_groups_of_4",
                                            "litert",
                                            "onnxruntime",
                                            "qnnpack",
                                            "ggml_q8_0",
                                            "ggml_q4_0",
                                            "ggml_q4_1",
                                            "ggml_avx2"};
    return name_in(names, order);
}

const char *to_string(query what) {
    static constexpr const char *names[] = {
        "undef",        "src_md",        "weights_md",  "dst_md",
        "workspace_md", "scratchpad_md", "exec_arg_md", "memory_consumption_s64"};
    return name_in(names, what);
}

const char *to_string(scale_derivation how) {
    static constexpr const char *names[] = {"tflite_f64", "tflite_f32prod", "caffe2_f32", "ort_f32",
                                            "snps_onnx_per_channel"};
    return name_in(names, how);
}

const char *to_string(rule_parameters parameters) {
    static constexpr const char *names[] = {"none", "scales", "multipliers", "real_scales"};
    return name_in(names, parameters);
}

const char *to_string(engine::kind kind) {
    static constexpr const char *names[] = {"any", "cpu", "gpu"};
    return name_in(names, kind);
}

// oneDNN's values, which do not count from 0 or have gaps.

const char *to_string(stream::flags flags) {
    switch (flags) {
    case stream::flags::in_order:
        return "in_order";
    case stream::flags::out_of_order:
        return "out_of_order";
    }
    return "unknown";
}

const char *to_string(status s) {
    switch (s) {
    case status::success:
        return "success";
    case status::out_of_memory:
        return "out_of_memory";
    case status::invalid_arguments:
        return "invalid_arguments";
    case status::unimplemented:
        return "unimplemented";
    case status::runtime_error:
        return "runtime_error";
    }
    return "unknown";
}

namespace {

struct argument_name {
    int arg;
    const char *name;
};
constexpr argument_name argument_names[] = {
    {OCTET_ARG_SRC, "OCTET_ARG_SRC"},
    {OCTET_ARG_SRC_1, "OCTET_ARG_SRC_1"},
    {OCTET_ARG_SRC_2, "OCTET_ARG_SRC_2"},
    {OCTET_ARG_DST, "OCTET_ARG_DST"},
    {OCTET_ARG_DST_1, "OCTET_ARG_DST_1"},
    {OCTET_ARG_DST_2, "OCTET_ARG_DST_2"},
    {OCTET_ARG_WEIGHTS, "OCTET_ARG_WEIGHTS"},
    {OCTET_ARG_WEIGHTS_1, "OCTET_ARG_WEIGHTS_1"},
    {OCTET_ARG_WEIGHTS_2, "OCTET_ARG_WEIGHTS_2"},
    {OCTET_ARG_WEIGHTS_3, "OCTET_ARG_WEIGHTS_3"},
    {OCTET_ARG_BIAS, "OCTET_ARG_BIAS"},
    {OCTET_ARG_MEAN, "OCTET_ARG_MEAN"},
    {OCTET_ARG_VARIANCE, "OCTET_ARG_VARIANCE"},
    {OCTET_ARG_SCALE, "OCTET_ARG_SCALE"},
    {OCTET_ARG_SHIFT, "OCTET_ARG_SHIFT"},
    {OCTET_ARG_SCRATCHPAD, "OCTET_ARG_SCRATCHPAD"},
    {OCTET_ARG_ATTR_OUTPUT_SCALES, "OCTET_ARG_ATTR_OUTPUT_SCALES"},
    {OCTET_ARG_ATTR_PREFETCH, "OCTET_ARG_ATTR_PREFETCH"},
};

/// Arguments below the flags that attributes add to them.
std::string tensor_argument(int arg) {
    for (const argument_name &entry : argument_names)
        if (entry.arg == arg)
            return entry.name;
    if (arg >= OCTET_ARG_MULTIPLE_SRC && arg < 2 * OCTET_ARG_MULTIPLE_SRC)
        return impl::text("OCTET_ARG_MULTIPLE_SRC + ", arg - OCTET_ARG_MULTIPLE_SRC);
    return std::to_string(arg);
}

} // namespace

std::string argument_to_string(int arg) {
    constexpr int base = OCTET_ARG_ATTR_MULTIPLE_POST_OP_BASE;
    if (arg >= OCTET_ARG_ATTR_SCALES && arg < 2 * OCTET_ARG_ATTR_SCALES)
        return "OCTET_ARG_ATTR_SCALES | " + tensor_argument(arg - OCTET_ARG_ATTR_SCALES);
    if (arg >= base && arg < OCTET_ARG_ATTR_MULTIPLE_POST_OP(max_post_ops))
        return impl::text("OCTET_ARG_ATTR_MULTIPLE_POST_OP(", arg / base - 1, ") | ",
                          tensor_argument(arg % base));
    if (arg >= OCTET_ARG_ATTR_POST_OP_DW && arg < base)
        return "OCTET_ARG_ATTR_POST_OP_DW | " + tensor_argument(arg - OCTET_ARG_ATTR_POST_OP_DW);
    if (arg >= OCTET_ARG_ATTR_ZERO_POINTS && arg < OCTET_ARG_ATTR_POST_OP_DW)
        return "OCTET_ARG_ATTR_ZERO_POINTS | " + tensor_argument(arg - OCTET_ARG_ATTR_ZERO_POINTS);
    return tensor_argument(arg);
}

} // namespace v0
} // namespace octet
