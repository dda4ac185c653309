#pragma once // SPDX-License-Identifier: Apache-2.0

// The words of the interface: element types, layouts, algorithms, execution arguments. Spelling and, where it
// shows, values are oneDNN 2.x's, so that programs can be moved by hand or with octet/compat/dnnl.hpp.

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "octet/export.hpp"

/// Octet: bit-exact int8 inference primitives for x86.
namespace octet {
/// The API of versions 0.x. The names of its symbols change with it, so two versions can share a process.
inline namespace v0 {

using dim_t = std::int64_t;      ///< a size or an index, in elements
constexpr int max_ndims = 6;     ///< highest rank of a tensor
constexpr int max_post_ops = 32; ///< longest post-op chain

/// Element types, with oneDNN's numbers. f16 and bf16 are 16-bit floats, rounded to nearest even; reorders
/// take them, and products as the types of destinations, biases and operands of post-ops. s16, which oneDNN
/// 2.x does not have, exists for frameworks that quantize activations to 16 bits (reorder and softmax only).
///
/// s4, u4 (oneDNN 3's numbers), s2 and u2 are codes that share a byte, the element with the lowest index in
/// its lowest bits: two's complement -8 to 7, 0 to 15, two's complement -2 to 1, 0 to 3. Of the primitives only
/// reorder takes them.
enum class data_type {
    undef,
    f16 = 1,
    bf16 = 2,
    f32 = 3,
    s32 = 4,
    s8 = 5,
    u8 = 6,
    s4 = 11,
    u4 = 12,
    s16 = 64,
    u2 = 65,
    s2 = 66
};

/// Elements that share a byte: 2 for s4 and u4, 4 for s2 and u2, else 1.
constexpr int elements_per_byte(data_type type) {
    return type == data_type::s4 || type == data_type::u4   ? 2
           : type == data_type::s2 || type == data_type::u2 ? 4
                                                            : 1;
}

/// Plain layouts, spelled as in oneDNN: letters name the logical dimensions from outermost to innermost in
/// memory. `any` lets the primitive choose (see each primitive's documentation).
enum class format_tag {
    undef,
    any,
    a,
    ab,
    ba,
    abc,
    acb,
    bac,
    bca,
    cab,
    cba,
    abcd,
    abdc,
    acbd,
    acdb,
    adcb,
    bacd,
    bcda,
    cdab,
    cdba,
    dcab,
    abcde,
    abdec,
    acbde,
    acdeb,
    bacde,
    bcdea,
    cdeab,
    cdeba,
    decab,
    abcdef,
    abdefc,
    acbdef,
    acdefb,
    bacdef,
    defcab,
    x = a,
    nc = ab,
    cn = ba,
    tn = ab,
    nt = ba,
    ncw = abc,
    nwc = acb,
    nchw = abcd,
    nhwc = acdb,
    chwn = bcda,
    ncdhw = abcde,
    ndhwc = acdeb,
    oi = ab,
    io = ba,
    oiw = abc,
    owi = acb,
    wio = cba,
    iwo = bca,
    oihw = abcd,
    hwio = cdba,
    ohwi = acdb,
    ihwo = bcda,
    iohw = bacd,
    hwoi = cdab,
    oidhw = abcde,
    dhwio = cdeba,
    odhwi = acdeb,
    iodhw = bacde,
    idhwo = bcdea,
    dhwoi = cdeab,
    goiw = abcd,
    gowi = abdc,
    giow = acbd,
    wigo = dcab,
    goihw = abcde,
    gohwi = abdec,
    giohw = acbde,
    hwigo = decab,
    goidhw = abcdef,
    godhwi = abdefc,
    giodhw = acbdef,
    dhwigo = defcab,
    tnc = abc,
    ntc = bac,
    ldnc = abcd,
    ldigo = abcde,
    ldgoi = abdec,
    ldio = abcd,
    ldoi = abdc,
    ldgo = abcd,
};

/// Octet has no backward pass: forward_training computes what forward_inference does.
enum class prop_kind {
    undef,
    forward_training,
    forward_inference,
    forward_scoring = forward_inference,
    forward = forward_training
};

/// The value outside an image. `zero` means the real value 0, that is the code of the source zero point.
enum class padding_kind { zero };

/// Operations, as `primitive_desc::get_kind` and `post_ops::kind` name them. `undef`: a post-op that is no
/// operation of its own.
enum class primitive_kind {
    undef,
    reorder,
    convolution,
    inner_product,
    matmul,
    pooling,
    softmax,
    binary,
    eltwise,
    sum,
    prelu,
    deconvolution,
    concat,
    resampling,
    lrn,
    shuffle,
    logsoftmax,
    batch_normalization,
    layer_normalization,
    reduction,
    rnn
};

/// Algorithms of all operations, spelled as in oneDNN 2.x. Formulas of the eltwise family: doc/eltwise.md.
enum class algorithm {
    undef,
    convolution_direct,
    convolution_auto,
    deconvolution_direct,
    eltwise_relu,
    eltwise_tanh,
    eltwise_elu,
    eltwise_square,
    eltwise_abs,
    eltwise_sqrt,
    eltwise_linear,
    eltwise_bounded_relu,
    eltwise_soft_relu,
    eltwise_logistic,
    eltwise_exp,
    eltwise_gelu_tanh,
    eltwise_gelu = eltwise_gelu_tanh,
    eltwise_swish,
    eltwise_log,
    eltwise_clip,
    eltwise_clip_v2,
    eltwise_pow,
    eltwise_gelu_erf,
    eltwise_round,
    eltwise_logsigmoid,
    eltwise_mish,
    eltwise_hardswish,
    eltwise_soft_relu_v2,
    /// ONNX Runtime's functions, MLAS's polynomials and what keeps NaN and -0; not in oneDNN.
    ///@{
    eltwise_ort_clip,
    eltwise_ort_erf,
    eltwise_ort_exp,
    eltwise_ort_gelu_erf,
    eltwise_ort_gelu_tanh,
    eltwise_ort_logistic,
    eltwise_ort_relu,
    eltwise_ort_tanh,
    eltwise_ort_swish,
    ///@}
    pooling_max,
    pooling_avg_include_padding,
    pooling_avg_exclude_padding,
    pooling_avg = pooling_avg_exclude_padding,
    binary_add,
    binary_mul,
    binary_max,
    binary_min,
    binary_div,
    binary_sub,
    binary_ge,
    binary_gt,
    binary_le,
    binary_lt,
    binary_eq,
    binary_ne,
    resampling_nearest,
    resampling_linear,
    softmax_accurate,
    softmax_log,
    lrn_across_channels,
    lrn_within_channel,
    reduction_max,
    reduction_min,
    reduction_sum,
    reduction_mul,
    reduction_mean,
    reduction_norm_lp_max,
    reduction_norm_lp_sum,
    reduction_norm_lp_power_p_max,
    reduction_norm_lp_power_p_sum,
    vanilla_rnn,
    vanilla_lstm,
    vanilla_gru,
    lbr_gru,
};

/// The order in which a recurrent network takes its steps, and what becomes of two directions' results.
enum class rnn_direction {
    unidirectional_left2right,
    unidirectional_right2left,
    bidirectional_concat, ///< left to right, then right to left, along the channels
    bidirectional_sum,
    unidirectional = unidirectional_left2right
};

/// oneDNN has no flags of recurrent networks, but a parameter for them.
enum class rnn_flags : unsigned { undef = 0 };

/// The set of a normalization's further operands and steps; values are oneDNN 2.x's.
enum class normalization_flags : unsigned {
    none = 0,
    use_global_stats = 1, ///< mean and variance are arguments
    use_scale_shift = 2,  ///< one tensor {2, C} with scales, then shifts, as OCTET_ARG_SCALE_SHIFT
    fuse_norm_relu = 4,   ///< batch normalization: ReLU on the result
    use_scale = 8,        ///< {C}, OCTET_ARG_SCALE
    use_shift = 16,       ///< {C}, OCTET_ARG_SHIFT
};
/// Union and intersection.
///@{
constexpr normalization_flags operator|(normalization_flags a, normalization_flags b) {
    return static_cast<normalization_flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr normalization_flags operator&(normalization_flags a, normalization_flags b) {
    return static_cast<normalization_flags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
///@}

/// The place of the centre of destination element i in the source, in elements; s is the ratio of sizes.
/// `align_corners` maps the first and last elements onto each other: s = (in - 1) / (out - 1).
enum class resampling_coordinates {
    half_pixel,               ///< (i + 1/2) * s - 1/2: oneDNN
    asymmetric,               ///< i * s
    align_corners,            ///< i * s
    align_corners_half_pixel, ///< (i + 1/2) * s: TFLite's RESIZE_NEAREST_NEIGHBOR with both of its options
};

/// The owner of the scratchpad. Octet's implementations report the size they need in `scratchpad_desc()`.
enum class scratchpad_mode { library, user };

/// The name of an enumerator as it is spelled here, "unknown" for a number that is none. Of several names of
/// one value it is the first: "acdb" for `nhwc`, "forward_training" for `forward`.
///@{
OCTET_API const char *to_string(data_type type);
OCTET_API const char *to_string(format_tag tag);
OCTET_API const char *to_string(prop_kind prop);
OCTET_API const char *to_string(padding_kind padding);
OCTET_API const char *to_string(primitive_kind kind);
OCTET_API const char *to_string(algorithm alg);
OCTET_API const char *to_string(resampling_coordinates coordinates);
OCTET_API const char *to_string(rnn_direction direction);
OCTET_API const char *to_string(scratchpad_mode mode);
///@}

/// The names of a set, "use_global_stats+use_scale"; "none" for the empty one.
OCTET_API std::string to_string(normalization_flags flags);

/// "OCTET_ARG_SRC", "OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST", …: the constants below that make an
/// execution argument.
OCTET_API std::string argument_to_string(int arg);

/// A NaN with a payload of its own: "this scale is given at execution".
inline float runtime_f32_value() {
    const std::uint32_t bits = 0x7fc000d0u; // the pattern oneDNN 2.x uses
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
/// True for that NaN alone, compared by bits.
inline bool is_runtime_value(float value) {
    const float runtime = runtime_f32_value();
    return std::memcmp(&value, &runtime, sizeof value) == 0;
}

} // namespace v0
} // namespace octet

/// Placeholders for attribute values, dimensions and strides that are known only at execution.
#define OCTET_RUNTIME_F32_VAL (::octet::runtime_f32_value())
#define OCTET_RUNTIME_S32_VAL (::std::numeric_limits<::std::int32_t>::min())
#define OCTET_RUNTIME_DIM_VAL (::std::numeric_limits<::std::int64_t>::min())
/// Bytes of a tensor with a size that is known only at execution.
#define OCTET_RUNTIME_SIZE_VAL (static_cast<::std::size_t>(OCTET_RUNTIME_DIM_VAL))

/// Execution arguments; the values are oneDNN 2.x's.
#define OCTET_ARG_SRC_0 1
#define OCTET_ARG_SRC OCTET_ARG_SRC_0
#define OCTET_ARG_FROM OCTET_ARG_SRC_0
#define OCTET_ARG_SRC_LAYER OCTET_ARG_SRC_0
#define OCTET_ARG_SRC_1 2
#define OCTET_ARG_SRC_ITER OCTET_ARG_SRC_1
#define OCTET_ARG_SRC_2 3
#define OCTET_ARG_SRC_ITER_C OCTET_ARG_SRC_2
#define OCTET_ARG_DST_0 17
#define OCTET_ARG_DST OCTET_ARG_DST_0
#define OCTET_ARG_TO OCTET_ARG_DST_0
#define OCTET_ARG_DST_LAYER OCTET_ARG_DST_0
#define OCTET_ARG_DST_1 18
#define OCTET_ARG_DST_ITER OCTET_ARG_DST_1
#define OCTET_ARG_DST_2 19
#define OCTET_ARG_DST_ITER_C OCTET_ARG_DST_2
#define OCTET_ARG_WEIGHTS_0 33
#define OCTET_ARG_WEIGHTS OCTET_ARG_WEIGHTS_0
#define OCTET_ARG_SCALE_SHIFT OCTET_ARG_WEIGHTS_0
#define OCTET_ARG_WEIGHTS_LAYER OCTET_ARG_WEIGHTS_0
#define OCTET_ARG_WEIGHTS_1 34
#define OCTET_ARG_WEIGHTS_ITER OCTET_ARG_WEIGHTS_1
#define OCTET_ARG_WEIGHTS_2 35
#define OCTET_ARG_WEIGHTS_PEEPHOLE OCTET_ARG_WEIGHTS_2
#define OCTET_ARG_WEIGHTS_3 36
#define OCTET_ARG_WEIGHTS_PROJECTION OCTET_ARG_WEIGHTS_3
#define OCTET_ARG_BIAS 41
#define OCTET_ARG_MEAN 49
#define OCTET_ARG_VARIANCE 50
#define OCTET_ARG_SCALE 51
#define OCTET_ARG_SHIFT 52
#define OCTET_ARG_SCRATCHPAD 80
#define OCTET_ARG_MULTIPLE_SRC 1024
#define OCTET_ARG_ATTR_OUTPUT_SCALES 513
#define OCTET_ARG_ATTR_PREFETCH 514 /* Octet's own: primitive_attr::set_prefetched_bytes */
#define OCTET_ARG_ATTR_ZERO_POINTS 4096
#define OCTET_ARG_ATTR_POST_OP_DW 8192
#define OCTET_ARG_ATTR_INPUT_SCALES 1048576
#define OCTET_ARG_ATTR_SCALES OCTET_ARG_ATTR_INPUT_SCALES
#define OCTET_ARG_ATTR_MULTIPLE_POST_OP_BASE 16384
#define OCTET_ARG_ATTR_MULTIPLE_POST_OP(index) (OCTET_ARG_ATTR_MULTIPLE_POST_OP_BASE * ((index) + 1))
