// A function for each operator repeats the framework's expression; one comparison serves all.
// SPDX-License-Identifier: Apache-2.0
#include "check/tflite_derivations.hpp"

#include <algorithm>
#include <cmath>

#include "octet/octet.hpp"

namespace octet::vectors {
namespace {

/// A multiplier as recorded under two names (lists: one entry per channel), and as Octet derives it.
struct derived {
    std::string multiplier_name, shift_name;
    std::vector<fixed_point_multiplier> values;
};

constexpr auto rule = tflite_rule;

const tensor_record &at(const std::vector<tensor_record> &tensors, std::size_t i) {
    if (i >= tensors.size())
        throw malformed_file("a case has no input or output " + std::to_string(i));
    return tensors[i];
}

float scale_of(const tensor_record &t, std::size_t channel = 0) {
    const std::vector<float> &scales = t.quant.scales;
    if (scales.empty())
        throw malformed_file("a case's tensor '" + t.name + "' has no scale");
    return scales.size() == 1 ? scales.front() : scales.at(channel);
}
double scale_of_input(const operator_record &r, std::size_t i) { return double{scale_of(at(r.inputs, i))}; }
double scale_of_output(const operator_record &r) { return double{scale_of(at(r.outputs, 0))}; }

derived accumulating(const operator_record &r, std::size_t input, std::size_t weights, scale_derivation how,
                     const char *multiplier_name, const char *shift_name) {
    const tensor_record &w = at(r.inputs, weights);
    const float s_in = scale_of(at(r.inputs, input)), s_out = scale_of(at(r.outputs, 0));
    derived d{multiplier_name, shift_name, {}};
    const std::size_t channels = r.params[multiplier_name].list<std::int32_t>().size();
    if (w.quant.scales.size() != 1 && w.quant.scales.size() != channels)
        r.params[multiplier_name].fail("has " + std::to_string(channels) + " entries, but the weights have " +
                                       std::to_string(w.quant.scales.size()) + " scales");
    for (std::size_t c = 0; c < channels; c++)
        d.values.push_back(from_double(rule, real_multiplier(how, s_in, scale_of(w, c), s_out)));
    return d;
}

std::vector<derived> convolution(const operator_record &r) {
    return {accumulating(r, 0, 1, scale_derivation::tflite_f64, "multiplier", "shift")};
}

std::vector<derived> transpose_convolution(const operator_record &r) {
    return {accumulating(r, 2, 1, scale_derivation::tflite_f64, "multiplier", "shift")};
}

std::vector<derived> fully_connected(const operator_record &r) {
    const auto how =
        r.params["per_channel"].boolean() ? scale_derivation::tflite_f64 : scale_derivation::tflite_f32prod;
    return {accumulating(r, 0, 1, how, "multiplier", "shift")};
}

std::vector<derived> batch_matmul(const operator_record &r) {
    return {accumulating(r, 0, 1, scale_derivation::tflite_f32prod, "output_multiplier", "output_shift")};
}

std::vector<derived> multiplication(const operator_record &r) {
    return {accumulating(r, 0, 1, scale_derivation::tflite_f64, "output_multiplier", "output_shift")};
}

/// ADD in double, SUB in float: t = 2 max(s1, s2); s_i / t; t / (2^20 s_out).
template <typename Real> std::vector<derived> sum(const operator_record &r) {
    const Real s1 = scale_of(at(r.inputs, 0)), s2 = scale_of(at(r.inputs, 1)),
               s_out = scale_of(at(r.outputs, 0));
    const Real t = 2 * std::max(s1, s2);
    const auto fixed = [](Real real) { return from_double(rule, static_cast<double>(real)); };
    return {{"input1_multiplier", "input1_shift", {fixed(s1 / t)}},
            {"input2_multiplier", "input2_shift", {fixed(s2 / t)}},
            {"output_multiplier", "output_shift", {fixed(t / (Real{1 << 20} * s_out))}}};
}

std::vector<derived> relu(const operator_record &r) {
    const float real = scale_of(at(r.inputs, 0)) / scale_of(at(r.outputs, 0));
    return {{"output_multiplier", "output_shift", {from_double(rule, double{real})}}};
}

std::vector<derived> leaky_relu(const operator_record &r) {
    const float s_in = scale_of(at(r.inputs, 0)), s_out = scale_of(at(r.outputs, 0));
    const float identity = s_in / s_out, alpha = s_in * r.params["alpha"].f32() / s_out;
    fixed_point_multiplier m = from_double(rule, std::abs(double{alpha}));
    if (alpha < 0)
        m.multiplier = -m.multiplier;
    return {{"identity_multiplier", "identity_shift", {from_double(rule, double{identity})}},
            {"alpha_multiplier", "alpha_shift", {m}}};
}

/// LOGISTIC and TANH: the input in Q4.27.
std::vector<derived> sigmoid(const operator_record &r) {
    return {{"input_multiplier", "input_left_shift", {from_double(rule, scale_of_input(r, 0) * 0x1p27)}}};
}

/// The input in Q5.26, beta folded in.
std::vector<derived> softmax(const operator_record &r) {
    const double real = std::min(r.params["beta"].f64() * scale_of_input(r, 0) * 0x1p26, 0x1p31 - 1);
    return {{"input_multiplier", "input_left_shift", {from_double(rule, real)}}};
}

std::vector<derived> requantize(const operator_record &r) {
    if (!r.params.has("multiplier"))
        return {}; // from f32: a division
    return {{"multiplier", "shift", {from_double(rule, scale_of_input(r, 0) / scale_of_output(r))}}};
}

std::vector<derived> mean(const operator_record &r) {
    const fixed_point_multiplier factor = from_double(rule, scale_of_input(r, 0) / scale_of_output(r));
    const std::int64_t count = r.params["count"].integer(1, std::numeric_limits<std::int32_t>::max());
    return {{"multiplier", "shift", {factor}},
            {"mean_multiplier", "mean_shift", {divide_by_count(factor, count)}}};
}

const struct {
    const char *op;
    std::vector<derived> (*derive)(const operator_record &);
} derivations[] = {
    {"ADD", sum<double>},
    {"BATCH_MATMUL", batch_matmul},
    {"CONV_2D", convolution},
    {"DEPTHWISE_CONV_2D", convolution},
    {"FULLY_CONNECTED", fully_connected},
    {"LEAKY_RELU", leaky_relu},
    {"LOGISTIC", sigmoid},
    {"MEAN", mean},
    {"MUL", multiplication},
    {"QUANTIZE", requantize},
    {"RELU", relu},
    {"SOFTMAX", softmax},
    {"SUB", sum<float>},
    {"TANH", sigmoid},
    {"TRANSPOSE_CONV", transpose_convolution},
};

std::string complaint_about(const derived &d, const json_value &params) {
    const auto multipliers = params[d.multiplier_name.c_str()].list<std::int32_t>();
    const auto shifts = params[d.shift_name.c_str()].list<std::int32_t>();
    const auto text = [](std::int32_t multiplier, std::int32_t shift) {
        return std::to_string(multiplier) + " * 2^(" + std::to_string(shift) + " - 31)";
    };
    if (multipliers.size() != d.values.size() || shifts.size() != d.values.size())
        params[d.multiplier_name.c_str()].fail("and its shift must have " + std::to_string(d.values.size()) +
                                               " entries");
    for (std::size_t i = 0; i < d.values.size(); i++) {
        const fixed_point_multiplier m = d.values[i];
        if (m.multiplier == multipliers[i] && m.shift == shifts[i])
            continue;
        return d.multiplier_name + "[" + std::to_string(i) + "]: recorded " +
               text(multipliers[i], shifts[i]) + ", derived from the scales " + text(m.multiplier, m.shift);
    }
    return {};
}

/// A bound of a fused activation as a code: zero point + round(real / scale) in f32, half away from zero.
std::int32_t code_of(float real, const tensor_record &t) {
    constexpr float outside_all_codes = 1e6f;
    return t.quant.zero_points.at(0) +
           static_cast<std::int32_t>(
               std::clamp(std::round(real / scale_of(t)), -outside_all_codes, outside_all_codes));
}

/// Lowest and highest code that an activation leaves.
std::pair<std::int32_t, std::int32_t> activation_range(const std::string &activation,
                                                       const tensor_record &t) {
    std::int32_t low = t.type == data_type::u8 ? 0 : -128, high = low + 255;
    if (activation == "NONE")
        return {low, high};
    low = std::max(low, code_of(activation == "RELU_N1_TO_1" ? -1.f : 0.f, t));
    if (activation != "RELU")
        high = std::min(high, code_of(activation == "RELU6" ? 6.f : 1.f, t));
    return {low, high};
}

/// The codes that the fused activation leaves, where the case has one.
std::string activation_complaint(const operator_record &r) {
    if (!r.params.has("activation") || !r.params.has("clamp_min"))
        return {};
    const auto [lowest, highest] = activation_range(r.params["activation"].text(), at(r.outputs, 0));
    const auto low = r.params["clamp_min"].as<std::int32_t>(),
               high = r.params["clamp_max"].as<std::int32_t>();
    if (lowest == low && highest == high)
        return {};
    return "clamp: recorded [" + std::to_string(low) + ", " + std::to_string(high) +
           "], derived from the scales [" + std::to_string(lowest) + ", " + std::to_string(highest) + "]";
}

} // namespace

namespace {

std::string multiplier_complaint(const operator_record &r) {
    for (const auto &entry : derivations) {
        if (r.op != entry.op)
            continue;
        for (const derived &d : entry.derive(r)) {
            std::string complaint = complaint_about(d, r.params);
            if (!complaint.empty())
                return complaint;
        }
    }
    return {};
}

/// XNNPACK's effective scale of a sum of products, f32(f32(s_x * s_w) / s_y), per channel where the filter has several.
std::string scale_complaint(const operator_record &r) {
    if (!r.params.has("scale") || r.params.has("count"))
        return {};
    const std::size_t input = r.op == "TRANSPOSE_CONV" ? 2 : 0;
    const auto recorded = r.params["scale"].list<float>();
    for (std::size_t c = 0; c < recorded.size(); c++) {
        const float scale =
            scale_of(at(r.inputs, input)) * scale_of(at(r.inputs, 1), c) / scale_of(at(r.outputs, 0));
        if (recorded[c] != scale)
            return "scale[" + std::to_string(c) + "]: recorded " + std::to_string(recorded[c]) +
                   ", derived from the scales " + std::to_string(scale);
    }
    return {};
}

} // namespace

std::string derivation_complaint(const operator_record &r) {
    const std::string complaint = multiplier_complaint(r);
    return complaint.empty() ? activation_complaint(r) : complaint;
}

std::string litert_derivation_complaint(const operator_record &r, const std::string &path) {
    if (path == "builtin") // SOFTMAX has a table of floats there
        return r.op == "SOFTMAX" ? "" : multiplier_complaint(r);
    return scale_complaint(r);
}

} // namespace octet::vectors
