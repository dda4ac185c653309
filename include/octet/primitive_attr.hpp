#pragma once // SPDX-License-Identifier: Apache-2.0

// How an operation treats numbers: scales, zero points, the numeric contract and what is applied to results
// before they are stored. One vocabulary for all operations, because frameworks differ here and not in the
// sums.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "octet/export.hpp"
#include "octet/memory.hpp"
#include "octet/requantization.hpp"
#include "octet/source_quantization.hpp"
#include "octet/types.hpp"

namespace octet {
namespace impl {
struct post_op_tensors;
}
inline namespace v0 {

/// One value per index of the dimensions whose bit is set in `mask`, row-major over those dimensions; mask 0:
/// one value for the whole tensor. `runtime`: the values come with the execution arguments. Indices of the last
/// two dimensions that lie in one group share a value.
template <typename T> struct masked_values {
    int mask = 0;                                              ///< bit i: dimension i
    std::vector<T> values;                                     ///< given at creation
    bool runtime = false;                                      ///< given at execution, `values` is empty
    memory::dims groups{};                                     ///< of the last two dimensions; empty: {1, 1}
    octet::data_type type = octet::data_type::undef;           ///< at execution; undef: f32 or s32
    bool is_set() const { return runtime || !values.empty(); } ///< false: the attribute has its default
};

/// The stages of a post-op chain. x is the value of one destination element after requantization and before
/// the destination zero point. f32 stages work on binary32 values, integer stages on s32; where the two meet,
/// s32 → f32 rounds to nearest even and f32 → s32 rounds to nearest even and saturates.
namespace post_op {

/// x + scale * (dst_before - zero_point); dst_before is read as `type` (undef: the destination's type).
struct sum {
    float scale = 1.f;                               ///< finite
    std::int32_t zero_point = 0;                     ///< zero point of dst before
    octet::data_type type = octet::data_type::undef; ///< a type of the size of dst's; undef: dst's
};

/// scale * f(x) for an eltwise algorithm; formulas and errors in ulp: doc/eltwise.md.
struct eltwise {
    octet::algorithm algorithm = octet::algorithm::undef; ///< eltwise_*
    float alpha = 0.f;                                    ///< the function's first parameter
    float beta = 0.f;                                     ///< the second
    float scale = 1.f;                                    ///< finite
};

/// x op src1, src1 converted to f32 and broadcast over its dimensions of size 1. Comparisons give 1 or 0.
/// The tensor is passed as `OCTET_ARG_ATTR_MULTIPLE_POST_OP(index) | OCTET_ARG_SRC_1`.
struct binary {
    octet::algorithm algorithm = octet::algorithm::undef; ///< binary_*
    memory::desc src1;                                    ///< rank of dst, each dimension 1 or dst's
};

/// x >= 0 ? x : x * weights; f32 weights, one per index of the masked destination dimensions, dimension 1
/// innermost. Passed as `OCTET_ARG_ATTR_MULTIPLE_POST_OP(index) | OCTET_ARG_WEIGHTS`.
struct prelu {
    int mask = 0; ///< over dst
};

/// Integer: min(max(x, low), high), relative to the destination zero point: relu is {0, INT32_MAX}.
struct clip {
    std::int32_t low;  ///< at most `high`
    std::int32_t high; ///< included
};

/// Integer: x + value, saturating.
struct add {
    std::int32_t value; ///< in units of x
};

/// Integer: x + rule(dst_before - zero_point, multiplier), saturating.
struct rescaled_sum {
    fixed_point_multiplier multiplier;               ///< s_dst_before / s_dst; may be negative
    std::int32_t zero_point = 0;                     ///< zero point of dst before
    octet::data_type type = octet::data_type::undef; ///< integer type of dst before; undef: dst's
    requantization_rule rule = tflite_rule;          ///< a fixed-point rule
};

/// Integer: x >= 0 ? rule(x, identity) : rule(x, alpha). A negative alpha multiplier applies its magnitude
/// and negates the result (TFLite).
struct leaky_relu {
    fixed_point_multiplier identity;        ///< for x >= 0
    fixed_point_multiplier alpha;           ///< for x < 0
    requantization_rule rule = tflite_rule; ///< a fixed-point rule
};

/// Integer: table[saturate(x) - lowest code of `type`], where `type` is s8 or u8. Entries are read as `type`.
struct table {
    octet::data_type type = octet::data_type::s8; ///< type of index and result
    std::array<std::uint8_t, 256> entries{};      ///< from the lowest code up
};

/// ONNX Runtime's QLinearAdd of c, the code that x would be stored as, and d = dst_before, both read as codes
/// of the destination's type (s8 or u8). With c = saturate(round(x) + zero_point), rounding half to even, the
/// f32 result is fma(c, scale, fma(d, dst_scale, shift)), or, where c is QLinearAdd's second operand, fma(d,
/// dst_scale, fma(c, scale, shift)). Factors: qlinear_add_factors_of.
struct qlinear_add {
    float scale = 1.f;           ///< scale of c / scale of the result
    float dst_scale = 1.f;       ///< scale of d / scale of the result
    float shift = 0.f;           ///< the zero points' part
    std::int32_t zero_point = 0; ///< zero point of c
    bool is_second = false;      ///< c is the second operand; order changes the last bit
};

/// TFLite's ADD of c, the code that x would be stored as less `zero_point`, and d = dst_before -
/// dst_zero_point, both of the destination's type (s8 or u8). Integer: rule(rule(c * 2^20, multipliers.a) +
/// rule(d * 2^20, multipliers.b), multipliers.dst), see add_multipliers_of. XNNPACK's with rule xnnpack_f32:
/// (c * a + d * b + 2^(shift-1)) >> shift, of the multipliers of a and b, with shifts of 0, and the shift of
/// dst.
struct scaled_add {
    add_multipliers multipliers;            ///< multipliers of c, of d and of their sum
    std::int32_t zero_point = 0;            ///< zero point of c
    std::int32_t dst_zero_point = 0;        ///< zero point of d
    requantization_rule rule = tflite_rule; ///< a tflite rule, or xnnpack_f32
};

/// A depthwise convolution of the convolution's results, the last operation of a chain but for those that
/// belong to it: the convolution and the post-ops before this one give a tensor of the type of the descriptor's
/// dst, the intermediate; of it dst is the depthwise convolution with these scales and the post-ops behind.
/// Each spatial dimension of dst is ceil(intermediate / stride). Weights {C, 1, 1, kernel, kernel} and bias {C}
/// are passed as `OCTET_ARG_ATTR_POST_OP_DW | OCTET_ARG_WEIGHTS` and `| OCTET_ARG_BIAS`.
struct depthwise {
    octet::data_type weights = octet::data_type::s8; ///< s8
    octet::data_type bias = octet::data_type::undef; ///< undef: none
    octet::data_type dst = octet::data_type::u8;     ///< of dst
    dim_t kernel = 3;                                ///< 1 or more
    dim_t stride = 1;                                ///< 1 or more
    dim_t padding = 1;           ///< in front, below `kernel`; behind: what the size needs
    masked_values<float> scales; ///< as output scales: mask 0 or 1 << 1 over dst
};

} // namespace post_op

/// Any of the stages above: one entry of a chain.
using post_op_entry =
    std::variant<post_op::sum, post_op::eltwise, post_op::binary, post_op::prelu, post_op::clip, post_op::add,
                 post_op::rescaled_sum, post_op::leaky_relu, post_op::table, post_op::qlinear_add,
                 post_op::scaled_add, post_op::depthwise>;

/// An ordered chain of at most 32 operations on the destination. Each `append` throws `invalid_arguments` for
/// a value outside its documentation.
class OCTET_API post_ops {
public:
    /// Each appends the stage of that name in `post_op` to the end of the chain. append_eltwise takes its
    /// parameters in oneDNN 2.x's order, or in 3.x's without a scale.
    ///@{
    void append_sum(float scale = 1.f, octet::data_type type = octet::data_type::undef);
    void append_sum(float scale, std::int32_t zero_point, octet::data_type type = octet::data_type::undef);
    void append_eltwise(float scale, octet::algorithm algorithm, float alpha, float beta);
    void append_eltwise(octet::algorithm algorithm, float alpha, float beta);
    void append_binary(octet::algorithm algorithm, const memory::desc &src1);
    void append_prelu(int mask);
    void append_clip(std::int32_t low, std::int32_t high);
    void append_add(std::int32_t value);
    void append_rescaled_sum(const post_op::rescaled_sum &stage);
    void append_leaky_relu(const post_op::leaky_relu &stage);
    void append_table(const post_op::table &stage);
    void append_qlinear_add(const post_op::qlinear_add &stage);
    void append_scaled_add(const post_op::scaled_add &stage);
    ///@}
    /// A depthwise convolution behind a convolution, see post_op::depthwise; without scales they are 1. The
    /// others are oneDNN's names for 3 x 3 windows with a stride of 1 or 2 and a padding of 1.
    ///@{
    void append_dw(octet::data_type weights, octet::data_type bias, octet::data_type dst, dim_t kernel,
                   dim_t stride, dim_t padding_l, int mask, const std::vector<float> &scales);
    void append_dw_k3s1p1(octet::data_type weights, octet::data_type bias, octet::data_type dst, int mask,
                          const std::vector<float> &scales) {
        append_dw(weights, bias, dst, 3, 1, 1, mask, scales);
    }
    void append_dw_k3s2p1(octet::data_type weights, octet::data_type bias, octet::data_type dst, int mask,
                          const std::vector<float> &scales) {
        append_dw(weights, bias, dst, 3, 2, 1, mask, scales);
    }
    ///@}

    int len() const { return static_cast<int>(entries_.size()); } ///< number of entries
    /// Operation and parameters of entry `index`, as in oneDNN 2.x; `invalid_arguments` for an entry of
    /// another kind.
    ///@{
    primitive_kind kind(int index) const;
    void get_params_sum(int index, float &scale) const;
    void get_params_sum(int index, float &scale, octet::data_type &type) const;
    void get_params_sum(int index, float &scale, std::int32_t &zero_point, octet::data_type &type) const;
    void get_params_eltwise(int index, float &scale, octet::algorithm &algorithm, float &alpha,
                            float &beta) const;
    void get_params_binary(int index, octet::algorithm &algorithm, memory::desc &src1) const;
    void get_params_prelu(int index, int &mask) const;
    void get_params_dw(int index, octet::data_type &weights, octet::data_type &bias, octet::data_type &dst,
                       dim_t &kernel, dim_t &stride, dim_t &padding_l, int &mask,
                       std::vector<float> &scales) const;
    ///@}

    const std::vector<post_op_entry> &entries() const { return entries_; } ///< in order

private:
    friend struct impl::post_op_tensors;
    void append(post_op_entry entry);
    template <typename Stage> const Stage &stage_at(const char *call, int index) const;
    std::vector<post_op_entry> entries_;
};

/// How a primitive treats its numbers: scales, zero points, requantization rule and post-ops. A plain value.
///
/// Masks select dimensions of the tensor that the values belong to (output scales and the rule's multipliers:
/// the destination). The number of values is checked against the masked dimensions when a primitive
/// descriptor is made.
class OCTET_API primitive_attr {
public:
    /// The owner of the scratchpad; the library by default.
    ///@{
    octet::scratchpad_mode get_scratchpad_mode() const { return scratchpad_mode_; }
    void set_scratchpad_mode(octet::scratchpad_mode mode) { scratchpad_mode_ = mode; }
    ///@}

    /// oneDNN 2.x output scales: finite, or the single value OCTET_RUNTIME_F32_VAL, which defers them to the
    /// argument OCTET_ARG_ATTR_OUTPUT_SCALES (f32, one dimension, any value). For rules `f32` and `ort_f32`.
    ///@{
    void set_output_scales(int mask, const std::vector<float> &scales);
    void get_output_scales(int &mask, std::vector<float> &scales) const;
    ///@}

    /// Scales of SRC (or SRC_0), SRC_1, WEIGHTS, DST as in oneDNN 3.x: real = scale * (code - zero point);
    /// not 0 for DST. Fixed-point rules derive multipliers from them. `set_scales_mask`:
    /// `OCTET_ARG_ATTR_SCALES | arg`.
    ///@{
    void set_scales(int arg, int mask, const std::vector<float> &scales);
    void set_scales_mask(int arg, int mask);
    /// As in oneDNN 3.x: the values come with the execution, in `type`. Neighbours share them, as many as `groups`
    /// has for each of the last two dimensions; empty: none do. Scales of the WEIGHTS of a product whose source
    /// is quantized at run time, or of the SRC of a reorder that packs them with their codes, are f32, f16 or bf16 and
    /// have groups along K, of which the last may be short: mask (1 << (ndims - 1)) | (1 << (ndims - 2)), groups
    /// {length, 1}, values {G, N}; of an inner product's weights {N, K}: groups {1, length}, values {N, G}.
    void set_scales(int arg, int mask, const memory::dims &groups, octet::data_type type);
    void get_scales(int arg, int &mask, std::vector<float> &scales) const;
    ///@}

    /// Zero points of SRC, WEIGHTS or DST; the single value OCTET_RUNTIME_S32_VAL defers them to the argument
    /// `OCTET_ARG_ATTR_ZERO_POINTS | arg` (s32, one dimension), as `set_zero_points_mask` does.
    ///
    /// A zero point is a number, not a code: any s32 is computed with exactly, as oneDNN does, although
    /// TFLite and ONNX Runtime have only those of the tensor's type. Outside of it no code stands for the
    /// real 0, so padding can not be a row of codes and convolutions may take a slower way.
    ///@{
    void set_zero_points(int arg, int mask, const std::vector<std::int32_t> &zero_points);
    void set_zero_points_mask(int arg, int mask);
    /// As set_scales with groups; s32, s8, u8, s4 or u4.
    void set_zero_points(int arg, int mask, const memory::dims &groups, octet::data_type type);
    void get_zero_points(int arg, int &mask, std::vector<std::int32_t> &zero_points) const;
    ///@}

    /// Matmul and inner product with weights of codes: float src becomes codes while they run, by this quantizer.
    ///@{
    void set_source_quantization(const source_quantization &quantization);
    const std::optional<source_quantization> &get_source_quantization() const { return source_; }
    ///@}

    /// The order of f32 operations in such a product; the default is that of the quantizer, for `dynamic`
    /// dynamic_row, with groups dynamic_group. Others with several orders have none.
    ///@{
    void set_combination(combination order);
    std::optional<combination> get_combination() const { return combination_; }
    ///@}

    /// Chooses the numeric contract. Its scales, or those that multipliers are derived from, are set above.
    void set_requantization(requantization_rule rule);
    /// Fixed-point rules: the multipliers of the destination.
    void set_requantization(requantization_rule rule, int mask,
                            const std::vector<fixed_point_multiplier> &multipliers);
    /// caffe_double_round: positive real scales below 1; f64 for InnerProduct's arithmetic, f32 for
    /// Deconvolution's. f64_scale, f64_half_away, onnx_f64: positive real scales.
    ///@{
    void set_requantization(requantization_rule rule, int mask, const std::vector<double> &scales);
    void set_requantization(requantization_rule rule, int mask, const std::vector<float> &scales);
    ///@}

    /// Fixed-point factor of one input (SRC, SRC_0 or SRC_1) where an integer operator rescales its inputs:
    /// TFLite's ADD and SUB (after a left shift by 20; a negative one, as TFLite's optimised SUB passes it,
    /// is applied as it is) and SOFTMAX.
    void set_input_multiplier(int arg, const fixed_point_multiplier &multiplier);

    /// Quantization of recurrent networks (octet/rnn.hpp), and of reorders that prepare their tensors. States:
    /// code = real * scale + shift. Weights: code = real * scale; mask 0, or of the two last dimensions of
    /// {L, D, I, G, O} (24), of projections the last one of {L, D, I, O} (8). Scales are positive and finite.
    ///@{
    void set_rnn_data_qparams(float scale, float shift);
    void get_rnn_data_qparams(float &scale, float &shift) const;
    void set_rnn_weights_qparams(int mask, const std::vector<float> &scales);
    void get_rnn_weights_qparams(int &mask, std::vector<float> &scales) const;
    void set_rnn_weights_projection_qparams(int mask, const std::vector<float> &scales);
    void get_rnn_weights_projection_qparams(int &mask, std::vector<float> &scales) const;
    ///@}

    /// Bytes that the program reads next, such as the weights of the primitive that it executes behind this one: a
    /// hint that changes no result. 0 or more, by default 0. Their memory comes with the execution, as
    /// OCTET_ARG_ATTR_PREFETCH: of any descriptor with at least so many bytes, or none. Products in tile registers
    /// fetch them for the second-level cache while they multiply; all else ignores them.
    ///@{
    void set_prefetched_bytes(dim_t bytes);
    dim_t get_prefetched_bytes() const { return prefetched_bytes_; }
    ///@}

    /// The chain behind the requantization, copied.
    ///@{
    void set_post_ops(const octet::post_ops &ops) { post_ops_ = ops; }
    const octet::post_ops &get_post_ops() const { return post_ops_; }
    ///@}

    /// The attributes as stored. Maps are keyed by argument and have no entry for an attribute that was not
    /// set.
    ///@{
    const masked_values<float> &output_scales() const { return output_scales_; }
    const std::map<int, masked_values<float>> &scales() const { return scales_; }
    const std::map<int, masked_values<std::int32_t>> &zero_points() const { return zero_points_; }
    requantization_rule rule() const { return rule_; }
    const masked_values<fixed_point_multiplier> &multipliers() const { return multipliers_; }
    const masked_values<double> &real_scales() const { return real_scales_; }
    bool real_scales_are_f32() const { return real_scales_are_f32_; }
    const std::map<int, fixed_point_multiplier> &input_multipliers() const { return input_multipliers_; }
    const std::vector<float> &rnn_data() const { return rnn_data_; } ///< scale and shift, or nothing
    const masked_values<float> &rnn_weights_scales() const { return rnn_weights_scales_; }
    const masked_values<float> &rnn_projection_scales() const { return rnn_projection_scales_; }
    ///@}

private:
    void set_rule(requantization_rule rule);

    octet::scratchpad_mode scratchpad_mode_ = octet::scratchpad_mode::library;
    masked_values<float> output_scales_;
    std::map<int, masked_values<float>> scales_;
    std::map<int, masked_values<std::int32_t>> zero_points_;
    requantization_rule rule_ = requantization_rule::automatic;
    masked_values<fixed_point_multiplier> multipliers_;
    masked_values<double> real_scales_;
    bool real_scales_are_f32_ = false;
    std::map<int, fixed_point_multiplier> input_multipliers_;
    std::optional<source_quantization> source_;
    std::optional<combination> combination_;
    std::vector<float> rnn_data_;
    masked_values<float> rnn_weights_scales_, rnn_projection_scales_;
    dim_t prefetched_bytes_ = 0;
    octet::post_ops post_ops_;
};

} // namespace v0
} // namespace octet
