// Attributes and post-ops: values that know nothing of the operation they will be used with. So only what is
// wrong for every operation is refused here (a mask that is none, a scale of 0, a multiplier outside its
// rule's domain); what an operation does not support is refused where it is lowered (api/lowering.cpp).
// SPDX-License-Identifier: Apache-2.0
#include "octet/primitive_attr.hpp"

#include <algorithm>
#include <cmath>

#include "api/tensors/format_tag.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "common/names.hpp"
#include "common/post_ops.hpp"
#include "common/requantize.hpp"
#include "common/source_quantizer.hpp"
#include "common/text.hpp"

namespace octet {
inline namespace v0 {

using impl::throw_invalid;
using impl::throw_unimplemented;

namespace {

void check_mask(const char *call, int mask) {
    if (mask < 0 || mask >= 1 << max_ndims)
        throw_invalid(call, ": mask is ", mask, ", allowed: 0 to ", (1 << max_ndims) - 1,
                      " (one bit per dimension)");
}

template <typename T> void check_not_empty(const char *call, int mask, const std::vector<T> &values) {
    check_mask(call, mask);
    if (values.empty())
        throw_invalid(call, ": no values, allowed: at least one");
    if (mask == 0 && values.size() != 1)
        throw_invalid(call, ": ", values.size(), " values for mask 0, allowed: 1");
}

masked_values<float> checked_scales(const char *call, int mask, const std::vector<float> &scales) {
    check_mask(call, mask);
    if (scales.size() == 1 && is_runtime_value(scales[0]))
        return {mask, {}, true};
    check_not_empty(call, mask, scales);
    for (std::size_t i = 0; i < scales.size(); i++)
        if (!std::isfinite(scales[i]))
            throw_invalid(call, ": scale ", i, " is ", scales[i], ", allowed: finite");
    return {mask, scales, false};
}

/// Most sources of sum and concat; keeps OCTET_ARG_MULTIPLE_SRC + i apart from other arguments.
constexpr int max_sources = 1024;

void check_argument(const char *call, int arg) {
    const bool is_source = arg >= OCTET_ARG_MULTIPLE_SRC && arg < OCTET_ARG_MULTIPLE_SRC + max_sources;
    if (!is_source && arg != OCTET_ARG_SRC_0 && arg != OCTET_ARG_SRC_1 && arg != OCTET_ARG_WEIGHTS &&
        arg != OCTET_ARG_DST)
        throw_invalid(call, ": ", argument_to_string(arg),
                      ", allowed: OCTET_ARG_SRC (SRC_0), SRC_1, WEIGHTS, DST, MULTIPLE_SRC + index");
}

/// Values that come with the execution, neighbours of the last two dimensions sharing one.
template <typename T>
masked_values<T> values_of_groups(const char *call, int arg, int mask, const memory::dims &groups,
                                  octet::data_type type, std::initializer_list<octet::data_type> allowed) {
    check_argument(call, arg);
    check_mask(call, mask);
    if (!groups.empty() && (groups.size() != 2 || groups[0] < 1 || groups[1] < 1))
        throw_invalid(call, ": groups of ", argument_to_string(arg), " are ",
                      impl::joined(groups.data(), groups.size()),
                      ", allowed: none, or two numbers from 1 up, for the last two dimensions");
    std::string names;
    for (const octet::data_type t : allowed)
        names += impl::text(names.empty() ? "" : ", ", to_string(t));
    if (std::find(allowed.begin(), allowed.end(), type) == allowed.end())
        throw_invalid(call, ": type of ", argument_to_string(arg), " is ", impl::name_or_number(type),
                      ", allowed: ", names);
    return {mask, {}, true, groups, type};
}

template <typename T>
masked_values<T> values_of(const std::map<int, masked_values<T>> &by_argument, int arg) {
    const auto found = by_argument.find(arg);
    return found == by_argument.end() ? masked_values<T>() : found->second;
}

/// Fills the results of a getter: the values; `runtime` if they come at execution; `otherwise` if none are
/// set.
template <typename T>
void report(const masked_values<T> &set, T runtime, T otherwise, int &mask, std::vector<T> &values) {
    mask = set.mask;
    values = set.runtime ? std::vector<T>{runtime} : set.is_set() ? set.values : std::vector<T>{otherwise};
}

/// `what` names the call and the value. A sign is allowed where TFLite's LeakyRelu has one.
void check_multiplier(const std::string &what, requantization_rule rule, fixed_point_multiplier m,
                      bool negative_allowed = false) {
    const impl::fixed_point_facts &facts = impl::facts_of(rule).fixed_point;
    const std::int32_t lowest = negative_allowed ? std::min(facts.lowest, -facts.highest) : facts.lowest;
    if (m.multiplier < lowest || m.multiplier > facts.highest)
        throw_invalid(what, ": multiplier is ", m.multiplier, " for rule ", to_string(rule),
                      ", allowed: ", lowest, " to ", facts.highest);
    if (m.shift < facts.lowest_shift || m.shift > facts.highest_shift)
        throw_invalid(what, ": shift is ", m.shift, " for rule ", to_string(rule),
                      ", allowed: ", facts.lowest_shift, " to ", facts.highest_shift);
    if (m.offset != 0 && !facts.has_offset)
        throw_invalid(what, ": offset is ", m.offset, " for rule ", to_string(rule), ", allowed: 0 (only ",
                      impl::names_of_rules([](const auto &row) { return row.fixed_point.has_offset; }),
                      " has an offset)");
}

void check_fixed_point(const char *call, requantization_rule rule) {
    if (!impl::is_fixed_point(rule))
        throw_invalid(call, ": rule ", to_string(rule), " takes no fixed-point multipliers; allowed: ",
                      impl::names_of_rules([](const auto &row) { return impl::is_fixed_point(row.rule); }));
}

} // namespace

// ---- post_ops

namespace {

/// Refuses a post-op that is wrong for every operation.
struct post_op_check {
    void operator()(const post_op::sum &op) const {
        if (!std::isfinite(op.scale))
            throw_invalid("append_sum: scale is ", op.scale, ", allowed: finite");
    }
    void operator()(const post_op::eltwise &op) const {
        if (!impl::is_of_family(op.algorithm, "eltwise_"))
            throw_invalid("append_eltwise: algorithm is ", impl::name_or_number(op.algorithm),
                          ", allowed: eltwise_*");
        if (!std::isfinite(op.scale))
            throw_invalid("append_eltwise: scale is ", op.scale, ", allowed: finite");
    }
    void operator()(const post_op::binary &op) const {
        if (!impl::is_of_family(op.algorithm, "binary_"))
            throw_invalid("append_binary: algorithm is ", impl::name_or_number(op.algorithm),
                          ", allowed: binary_*");
        impl::check_description("append_binary", "src1", op.src1.data);
        if (op.src1.is_zero() || op.src1.get_format_kind() != format_kind::plain)
            throw_invalid("append_binary: src1 is ", op.src1.to_string(),
                          ", allowed: a tensor in a plain layout");
        if (elements_per_byte(op.src1.data_type()) > 1)
            throw_invalid("append_binary: src1 has type ", to_string(op.src1.data_type()),
                          ", allowed: f32, bf16, f16, s32, s16, s8, u8");
    }
    void operator()(const post_op::prelu &op) const { check_mask("append_prelu", op.mask); }
    void operator()(const post_op::clip &op) const {
        if (op.low > op.high)
            throw_invalid("append_clip: low is ", op.low, ", high is ", op.high, ", allowed: low <= high");
    }
    void operator()(const post_op::add &) const {}
    void operator()(const post_op::rescaled_sum &op) const {
        check_fixed_point("append_rescaled_sum", op.rule);
        check_multiplier("append_rescaled_sum", op.rule, op.multiplier, true);
        if (op.type == data_type::f32 || op.type == data_type::f16 || op.type == data_type::bf16)
            throw_invalid("append_rescaled_sum: type ", to_string(op.type), ", allowed: integers");
    }
    void operator()(const post_op::leaky_relu &op) const {
        check_fixed_point("append_leaky_relu", op.rule);
        check_multiplier("append_leaky_relu: identity", op.rule, op.identity);
        check_multiplier("append_leaky_relu: alpha", op.rule, op.alpha, true);
    }
    void operator()(const post_op::table &op) const {
        if (op.type != data_type::s8 && op.type != data_type::u8)
            throw_invalid("append_table: type is ", impl::name_or_number(op.type), ", allowed: s8, u8");
    }
    void operator()(const post_op::qlinear_add &op) const {
        for (const float value : {op.scale, op.dst_scale, op.shift})
            if (!std::isfinite(value))
                throw_invalid("append_qlinear_add: scale, dst_scale, shift are ", op.scale, ", ",
                              op.dst_scale, ", ", op.shift, ", allowed: finite");
        check_zero_point("append_qlinear_add: zero_point", op.zero_point);
    }
    void operator()(const post_op::scaled_add &op) const {
        if (impl::is_xnnpack(op.rule) && impl::is_float(op.rule)) {
            check_weights(op.multipliers);
        } else {
            if (!impl::is_tflite(op.rule))
                throw_invalid("append_scaled_add: rule ", to_string(op.rule),
                              ", allowed: tflite_*, xnnpack_f32");
            check_multiplier("append_scaled_add: a", op.rule, op.multipliers.a);
            check_multiplier("append_scaled_add: b", op.rule, op.multipliers.b);
            check_multiplier("append_scaled_add: dst", op.rule, op.multipliers.dst);
        }
        check_zero_point("append_scaled_add: zero_point", op.zero_point);
        check_zero_point("append_scaled_add: dst_zero_point", op.dst_zero_point);
    }
    void operator()(const post_op::depthwise &op) const {
        if (op.weights == data_type::undef || op.dst == data_type::undef)
            throw_invalid("append_dw: weights have type ", to_string(op.weights), ", dst ", to_string(op.dst),
                          ", allowed: any type but undef");
        if (op.kernel < 1 || op.stride < 1)
            throw_invalid("append_dw: kernel is ", op.kernel, ", stride ", op.stride,
                          ", allowed: 1 and above");
        if (op.padding < 0 || op.padding >= op.kernel)
            throw_invalid("append_dw: padding_l is ", op.padding, ", allowed: 0 to ", op.kernel - 1);
        if (op.scales.mask != 0 && op.scales.mask != 1 << 1)
            throw_invalid("append_dw: mask is ", op.scales.mask, ", allowed: 0 or 2 (channels)");
        if (op.scales.runtime)
            throw_unimplemented("append_dw: scales given at execution, implemented: numbers");
    }

    /// XNNPACK's: products of codes and weights, and a shift.
    static void check_weights(const add_multipliers &m) {
        constexpr std::int32_t largest = 1 << 21;
        for (const std::int32_t weight : {m.a.multiplier, m.b.multiplier})
            if (weight < -largest || weight > largest)
                throw_invalid("append_scaled_add: weight ", weight,
                              " with rule xnnpack_f32, allowed: -2^21 to 2^21");
        if (m.a.shift != 0 || m.b.shift != 0 || m.dst.multiplier != 1)
            throw_invalid("append_scaled_add: shifts ", m.a.shift, " and ", m.b.shift,
                          " of a and b, multiplier ", m.dst.multiplier,
                          " of dst with rule xnnpack_f32, allowed: 0, 0 and 1");
        if (m.dst.shift < 12 || m.dst.shift > 30)
            throw_invalid("append_scaled_add: shift ", m.dst.shift,
                          " of dst with rule xnnpack_f32, allowed: 12 to 30");
    }

    /// One that codes are added with.
    static void check_zero_point(const char *what, std::int32_t zero_point) {
        if (std::abs(std::int64_t{zero_point}) > 255)
            throw_invalid(what, " is ", zero_point, ", allowed: -255 to 255");
    }
};

} // namespace

void post_ops::append(post_op_entry entry) {
    std::visit(post_op_check(), entry);
    if (len() == max_post_ops)
        throw_invalid("post_ops: more than ", max_post_ops, " entries");
    entries_.push_back(std::move(entry));
}

void post_ops::append_sum(float scale, octet::data_type type) { append_sum(scale, 0, type); }
void post_ops::append_sum(float scale, std::int32_t zero_point, octet::data_type type) {
    append(post_op::sum{scale, zero_point, type});
}
void post_ops::append_eltwise(float scale, octet::algorithm alg, float alpha, float beta) {
    append(post_op::eltwise{alg, alpha, beta, scale});
}
void post_ops::append_eltwise(octet::algorithm alg, float alpha, float beta) {
    append_eltwise(1.f, alg, alpha, beta);
}
void post_ops::append_binary(octet::algorithm alg, const memory::desc &src1) {
    append(post_op::binary{alg, src1});
}
void post_ops::append_prelu(int mask) { append(post_op::prelu{mask}); }
void post_ops::append_clip(std::int32_t low, std::int32_t high) { append(post_op::clip{low, high}); }
void post_ops::append_add(std::int32_t value) { append(post_op::add{value}); }
void post_ops::append_rescaled_sum(const post_op::rescaled_sum &stage) { append(stage); }
void post_ops::append_leaky_relu(const post_op::leaky_relu &stage) { append(stage); }
void post_ops::append_table(const post_op::table &stage) { append(stage); }
void post_ops::append_qlinear_add(const post_op::qlinear_add &stage) { append(stage); }
void post_ops::append_scaled_add(const post_op::scaled_add &stage) { append(stage); }
void post_ops::append_dw(octet::data_type weights, octet::data_type bias, octet::data_type dst, dim_t kernel,
                         dim_t stride, dim_t padding_l, int mask, const std::vector<float> &scales) {
    const auto values =
        scales.empty() ? masked_values<float>{0, {1.f}, false} : checked_scales("append_dw", mask, scales);
    append(post_op::depthwise{weights, bias, dst, kernel, stride, padding_l, values});
}

primitive_kind post_ops::kind(int index) const {
    if (index < 0 || index >= len())
        throw_invalid("post_ops::kind: index ", index, ", allowed: 0 to ", len() - 1);
    return impl::facts_of(entries_[index]).kind;
}

template <typename Stage> const Stage &post_ops::stage_at(const char *call, int index) const {
    if (index < 0 || index >= len() || !std::holds_alternative<Stage>(entries_[index]))
        throw_invalid(call, ": index ", index, ", allowed: an entry of this kind, 0 to ", len() - 1);
    return std::get<Stage>(entries_[index]);
}

void post_ops::get_params_sum(int index, float &scale, std::int32_t &zero_point,
                              octet::data_type &type) const {
    const post_op::sum &stage = stage_at<post_op::sum>("get_params_sum", index);
    scale = stage.scale;
    zero_point = stage.zero_point;
    type = stage.type;
}
void post_ops::get_params_sum(int index, float &scale, octet::data_type &type) const {
    std::int32_t zero_point = 0;
    get_params_sum(index, scale, zero_point, type);
}
void post_ops::get_params_sum(int index, float &scale) const {
    octet::data_type type = octet::data_type::undef;
    get_params_sum(index, scale, type);
}
void post_ops::get_params_eltwise(int index, float &scale, octet::algorithm &alg, float &alpha,
                                  float &beta) const {
    const post_op::eltwise &stage = stage_at<post_op::eltwise>("get_params_eltwise", index);
    scale = stage.scale;
    alg = stage.algorithm;
    alpha = stage.alpha;
    beta = stage.beta;
}
void post_ops::get_params_binary(int index, octet::algorithm &alg, memory::desc &src1) const {
    const post_op::binary &stage = stage_at<post_op::binary>("get_params_binary", index);
    alg = stage.algorithm;
    src1 = stage.src1;
}
void post_ops::get_params_prelu(int index, int &mask) const {
    mask = stage_at<post_op::prelu>("get_params_prelu", index).mask;
}

void post_ops::get_params_dw(int index, octet::data_type &weights, octet::data_type &bias,
                             octet::data_type &dst, dim_t &kernel, dim_t &stride, dim_t &padding_l, int &mask,
                             std::vector<float> &scales) const {
    const post_op::depthwise &stage = stage_at<post_op::depthwise>("get_params_dw", index);
    weights = stage.weights;
    bias = stage.bias;
    dst = stage.dst;
    kernel = stage.kernel;
    stride = stage.stride;
    padding_l = stage.padding;
    mask = stage.scales.mask;
    scales = stage.scales.values;
}

// ---- primitive_attr

void primitive_attr::set_output_scales(int mask, const std::vector<float> &scales) {
    output_scales_ = checked_scales("set_output_scales", mask, scales);
}
void primitive_attr::get_output_scales(int &mask, std::vector<float> &scales) const {
    report(output_scales_, runtime_f32_value(), 1.f, mask, scales);
}

void primitive_attr::set_scales(int arg, int mask, const std::vector<float> &scales) {
    check_argument("set_scales", arg);
    masked_values<float> values = checked_scales("set_scales", mask, scales);
    const bool is_divisor = arg == OCTET_ARG_DST;
    for (const float s : values.values)
        if (s < 0 || (is_divisor && s == 0))
            throw_invalid("set_scales: ", argument_to_string(arg), " scale is ", s,
                          is_divisor ? ", allowed: positive" : ", allowed: positive or zero");
    scales_[arg] = std::move(values);
}
void primitive_attr::set_scales_mask(int arg, int mask) { set_scales(arg, mask, {runtime_f32_value()}); }
void primitive_attr::set_scales(int arg, int mask, const memory::dims &groups, octet::data_type type) {
    scales_[arg] = values_of_groups<float>("set_scales", arg, mask, groups, type,
                                           {data_type::f32, data_type::f16, data_type::bf16});
}
void primitive_attr::get_scales(int arg, int &mask, std::vector<float> &scales) const {
    check_argument("get_scales", arg);
    report(values_of(scales_, arg), runtime_f32_value(), 1.f, mask, scales);
}

void primitive_attr::set_zero_points(int arg, int mask, const std::vector<std::int32_t> &zero_points) {
    check_argument("set_zero_points", arg);
    check_mask("set_zero_points", mask);
    if (zero_points.size() == 1 && zero_points[0] == OCTET_RUNTIME_S32_VAL) {
        zero_points_[arg] = {mask, {}, true};
        return;
    }
    check_not_empty("set_zero_points", mask, zero_points);
    zero_points_[arg] = {mask, zero_points, false};
}
void primitive_attr::set_zero_points_mask(int arg, int mask) {
    set_zero_points(arg, mask, {OCTET_RUNTIME_S32_VAL});
}
void primitive_attr::set_zero_points(int arg, int mask, const memory::dims &groups, octet::data_type type) {
    zero_points_[arg] = values_of_groups<std::int32_t>(
        "set_zero_points", arg, mask, groups, type,
        {data_type::s32, data_type::s8, data_type::u8, data_type::s4, data_type::u4});
}
void primitive_attr::get_zero_points(int arg, int &mask, std::vector<std::int32_t> &zero_points) const {
    check_argument("get_zero_points", arg);
    report(values_of(zero_points_, arg), OCTET_RUNTIME_S32_VAL, 0, mask, zero_points);
}

void primitive_attr::set_source_quantization(const source_quantization &quantization) {
    impl::check(quantization);
    source_ = quantization;
}

void primitive_attr::set_combination(combination order) {
    if (std::string("unknown") == to_string(order))
        throw_invalid("set_combination: ", impl::name_or_number(order),
                      ", allowed: the values of combination");
    combination_ = order;
}

void primitive_attr::set_prefetched_bytes(dim_t bytes) {
    if (bytes < 0)
        throw_invalid("set_prefetched_bytes: ", bytes, ", allowed: 0 or more");
    prefetched_bytes_ = bytes;
}

void primitive_attr::set_rule(requantization_rule rule) {
    if (!impl::is_rule(rule))
        throw_invalid("set_requantization: rule is ", impl::name_or_number(rule),
                      ", allowed: the values of requantization_rule");
    rule_ = rule;
    multipliers_ = {};
    real_scales_ = {};
}

void primitive_attr::set_requantization(requantization_rule rule) { set_rule(rule); }

void primitive_attr::set_requantization(requantization_rule rule, int mask,
                                        const std::vector<fixed_point_multiplier> &multipliers) {
    check_fixed_point("set_requantization", rule);
    check_not_empty("set_requantization", mask, multipliers);
    for (std::size_t i = 0; i < multipliers.size(); i++)
        check_multiplier(impl::text("set_requantization: value ", i), rule, multipliers[i]);
    set_rule(rule);
    multipliers_ = {mask, multipliers, false};
}

void primitive_attr::set_requantization(requantization_rule rule, int mask,
                                        const std::vector<double> &scales) {
    if (!impl::takes_real_scales(rule))
        throw_invalid("set_requantization: rule ", to_string(rule),
                      " with real scales, allowed: ", impl::names_of_rules([](const auto &row) {
                          return impl::takes_real_scales(row.rule);
                      }));
    check_not_empty("set_requantization", mask, scales);
    const impl::real_facts &facts = impl::facts_of(rule).real;
    for (std::size_t i = 0; i < scales.size(); i++)
        if (!(scales[i] >= facts.lowest && scales[i] < facts.end))
            throw_invalid("set_requantization: scale ", i, " is ", scales[i], ", allowed: ", facts.allowed);
    set_rule(rule);
    real_scales_ = {mask, scales, false};
    real_scales_are_f32_ = false;
}

void primitive_attr::set_requantization(requantization_rule rule, int mask,
                                        const std::vector<float> &scales) {
    set_requantization(rule, mask, std::vector<double>(scales.begin(), scales.end()));
    real_scales_are_f32_ = true;
}

void primitive_attr::set_input_multiplier(int arg, const fixed_point_multiplier &multiplier) {
    check_argument("set_input_multiplier", arg);
    check_multiplier("set_input_multiplier: " + argument_to_string(arg), tflite_rule, multiplier, true);
    input_multipliers_[arg] = multiplier;
}

void primitive_attr::set_rnn_data_qparams(float scale, float shift) {
    if (!(scale > 0) || !std::isfinite(scale))
        throw_invalid("set_rnn_data_qparams: scale is ", scale, ", allowed: positive and finite");
    if (!std::isfinite(shift))
        throw_invalid("set_rnn_data_qparams: shift is ", shift, ", allowed: finite");
    rnn_data_ = {scale, shift};
}
void primitive_attr::get_rnn_data_qparams(float &scale, float &shift) const {
    scale = rnn_data_.empty() ? 1.f : rnn_data_[0];
    shift = rnn_data_.empty() ? 0.f : rnn_data_[1];
}

namespace {

masked_values<float> checked_rnn_scales(const char *call, int mask, const std::vector<float> &scales) {
    check_not_empty(call, mask, scales);
    for (std::size_t i = 0; i < scales.size(); i++)
        if (!(scales[i] > 0) || !std::isfinite(scales[i]))
            throw_invalid(call, ": scale ", i, " is ", scales[i], ", allowed: positive and finite");
    return {mask, scales, false};
}

} // namespace

void primitive_attr::set_rnn_weights_qparams(int mask, const std::vector<float> &scales) {
    rnn_weights_scales_ = checked_rnn_scales("set_rnn_weights_qparams", mask, scales);
}
void primitive_attr::get_rnn_weights_qparams(int &mask, std::vector<float> &scales) const {
    report(rnn_weights_scales_, runtime_f32_value(), 1.f, mask, scales);
}
void primitive_attr::set_rnn_weights_projection_qparams(int mask, const std::vector<float> &scales) {
    rnn_projection_scales_ = checked_rnn_scales("set_rnn_weights_projection_qparams", mask, scales);
}
void primitive_attr::get_rnn_weights_projection_qparams(int &mask, std::vector<float> &scales) const {
    report(rnn_projection_scales_, runtime_f32_value(), 1.f, mask, scales);
}

} // namespace v0
} // namespace octet
