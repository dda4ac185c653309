// Requantization check values: accumulators and what each rule makes of them.
//
// Every accumulator goes through two real primitives: a reorder from s32, and a matrix product of zeros whose
// bias is the accumulator. Vectors with equal parameters are executed together.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "check/check.hpp"
#include "common/rounding.hpp"
#include "common/rules.hpp"

namespace octet::vectors {
namespace {

/// The parameters of a rule, as in the file.
struct parameters {
    requantization_rule rule = requantization_rule::automatic;
    double real = 0;
    std::optional<fixed_point_multiplier> fixed; ///< fixed-point rules
    int bitwidth = 0;                            ///< rounded_shift: size of the mantissa
    bool scale_is_f32 = false;                   ///< caffe_double_round
    data_type dst = data_type::s32;
    std::int32_t zero_point = 0;
    std::int32_t low = 0, high = 0; ///< range of the result, zero point included

    friend bool operator==(const parameters &a, const parameters &b) {
        const auto tie = [](const parameters &p) {
            return std::tie(p.rule, p.real, p.fixed, p.bitwidth, p.scale_is_f32, p.dst, p.zero_point, p.low,
                            p.high);
        };
        return tie(a) == tie(b);
    }
};

/// Vectors of one parameter set.
struct batch {
    parameters params;
    std::vector<std::string> names; ///< places in the file
    std::vector<std::int32_t> accumulators, expected;
};

constexpr auto is_s8 = [](std::int32_t low, std::int32_t high) { return low >= -128 && high <= 127; };
constexpr auto is_u8 = [](std::int32_t low, std::int32_t high) { return low >= 0 && high <= 255; };

/// The narrowest type that holds the clamp; where both 8-bit types do, the one whose end it touches.
data_type destination_type(std::int32_t low, std::int32_t high) {
    if (is_u8(low, high) && !(is_s8(low, high) && high == 127))
        return data_type::u8;
    return is_s8(low, high) ? data_type::s8 : data_type::s32;
}

parameters read_parameters(const json_value &v) {
    parameters p;
    const std::string mode = v["mode"].text();
    try {
        p.rule = requantization_rule_from_string(mode.c_str());
    } catch (const error &e) {
        v["mode"].fail(e.what());
    }
    p.real = v[v.has("real_multiplier_hex") ? "real_multiplier_hex" : "real_multiplier"].f64();
    p.zero_point = v["zero_point"].as<std::int32_t>();
    p.low = v["clamp_min"].as<std::int32_t>();
    p.high = v["clamp_max"].as<std::int32_t>();
    p.dst = v.has("dst_type") ? type_from_text(v["dst_type"]) : destination_type(p.low, p.high);
    if (v.has("bitwidth"))
        p.bitwidth = v["bitwidth"].as<std::int32_t>();
    if (v.has("scale_type"))
        p.scale_is_f32 = v["scale_type"].text() == "f32";
    if (!v.has("quantized_multiplier"))
        return p;
    p.fixed = fixed_point_multiplier{v["quantized_multiplier"].as<std::int32_t>(),
                                     v["shift"].as<std::int32_t>(), 0};
    // The file's zero point of this rule is an offset in units of the accumulator.
    if (impl::facts_of(p.rule).fixed_point.has_offset)
        std::swap(p.fixed->offset, p.zero_point);
    return p;
}

std::vector<batch> read_batches(const json_value &root, report &results) {
    std::vector<batch> batches;
    for (const json_value &v : root["vectors"].items()) {
        if (!results.wants(v["mode"].text()))
            continue;
        const parameters params = read_parameters(v);
        auto found =
            std::find_if(batches.begin(), batches.end(), [&](const batch &b) { return b.params == params; });
        if (found == batches.end())
            found = batches.insert(batches.end(), {params, {}, {}, {}});
        found->names.push_back(v.place());
        found->accumulators.push_back(v["acc"].as<std::int32_t>());
        found->expected.push_back(v["expected"].as<std::int32_t>());
    }
    return batches;
}

// ---- Through the primitives.

primitive_attr attributes_of(const parameters &p) {
    primitive_attr attr;
    if (p.zero_point != 0)
        attr.set_zero_points(OCTET_ARG_DST, 0, {p.zero_point});
    if (p.fixed)
        attr.set_requantization(p.rule, 0, std::vector<fixed_point_multiplier>{*p.fixed});
    else if (parameters_of(p.rule) != rule_parameters::real_scales)
        attr.set_requantization(p.rule);
    else if (p.scale_is_f32)
        attr.set_requantization(p.rule, 0, std::vector<float>{static_cast<float>(p.real)});
    else
        attr.set_requantization(p.rule, 0, std::vector<double>{p.real});

    const bool is_whole_range = (p.dst == data_type::s8 && p.low == -128 && p.high == 127) ||
                                (p.dst == data_type::u8 && p.low == 0 && p.high == 255) ||
                                p.dst == data_type::s32;
    if (!is_whole_range) {
        const auto relative = [&](std::int32_t code) {
            return impl::saturate_s32(std::int64_t{code} - p.zero_point);
        };
        post_ops ops;
        ops.append_clip(relative(p.low), relative(p.high));
        attr.set_post_ops(ops);
    }
    return attr;
}

std::vector<std::int32_t> as_integers(const memory &m) {
    std::vector<std::int32_t> values;
    const std::size_t size = memory::data_type_size(m.get_desc().data_type());
    const auto *bytes = static_cast<const std::uint8_t *>(m.get_data_handle());
    for (std::size_t at = 0; at < m.get_desc().get_size(); at += size) {
        std::int32_t s32 = 0;
        if (m.get_desc().data_type() == data_type::s8)
            s32 = static_cast<std::int8_t>(bytes[at]);
        else
            std::memcpy(&s32, bytes + at, size);
        values.push_back(s32);
    }
    return values;
}

/// The result of a primitive for a batch, or why it may not run.
struct execution {
    const char *primitive;
    std::string implementation, complaint;
    std::vector<std::int32_t> results;
};

template <typename Primitive>
execution execute(const char *name, const typename Primitive::primitive_desc &pd, const options &opt,
                  std::unordered_map<int, memory> args, const engine &e) {
    std::string refusals;
    for (const std::string &refusal : pd.refusals())
        refusals += (refusals.empty() ? "" : "; ") + refusal;
    execution x{
        name, pd.impl_info_str(), implementation_complaint(opt.impl, pd.impl_info_str(), refusals), {}};
    if (!x.complaint.empty())
        return x;
    args[OCTET_ARG_DST] = memory(pd.dst_desc(), e);
    stream s(e);
    Primitive(pd).execute(s, args);
    s.wait();
    x.results = as_integers(args[OCTET_ARG_DST]);
    return x;
}

execution through_reorder(const batch &b, const options &opt, const engine &e) {
    primitive_attr attr = attributes_of(b.params);
    const auto scale = static_cast<float>(b.params.real);
    if (impl::facts_of(b.params.rule).f32.takes_argument_scales)
        attr.set_scales(OCTET_ARG_SRC, 0, {scale});
    else if (parameters_of(b.params.rule) == rule_parameters::scales)
        attr.set_output_scales(0, {scale});
    const memory::dims dims{static_cast<dim_t>(b.accumulators.size())};
    const memory::desc src(dims, data_type::s32, format_tag::a), dst(dims, b.params.dst, format_tag::a);
    const memory acc(src, e, const_cast<std::int32_t *>(b.accumulators.data()));
    return execute<reorder>("reorder", reorder::primitive_desc(e, src, e, dst, attr), opt,
                            {{OCTET_ARG_SRC, acc}}, e);
}

/// 0 * 0 + bias.
execution through_matmul(const batch &b, const options &opt, const engine &e) {
    primitive_attr attr = attributes_of(b.params);
    if (impl::facts_of(b.params.rule).f32.takes_output_scales)
        attr.set_output_scales(0, {static_cast<float>(b.params.real)});
    const auto n = static_cast<dim_t>(b.accumulators.size());
    std::vector<std::uint8_t> zeros(b.accumulators.size());
    const memory::desc src({1, 1}, data_type::u8, format_tag::ab),
        weights({1, n}, data_type::s8, format_tag::ab);
    const memory::desc bias({1, n}, data_type::s32, format_tag::ab),
        dst({1, n}, b.params.dst, format_tag::ab);
    const matmul::primitive_desc pd({src, weights, bias, dst}, attr, e);
    return execute<matmul>(
        "matmul", pd, opt,
        {{OCTET_ARG_SRC, memory(src, e, zeros.data())},
         {OCTET_ARG_WEIGHTS, memory(weights, e, zeros.data())},
         {OCTET_ARG_BIAS, memory(bias, e, const_cast<std::int32_t *>(b.accumulators.data()))}},
        e);
}

/// The multiplier that Octet derives from the real one. gemmlowp has no derivation of its own.
std::optional<fixed_point_multiplier> derive(const parameters &p) {
    if (parameters_of(p.rule) != rule_parameters::multipliers ||
        std::string(to_string(p.rule)).rfind("gemmlowp", 0) == 0)
        return std::nullopt;
    return p.rule == requantization_rule::rounded_shift ? rounded_shift_from_double(p.real, p.bitwidth)
                                                        : from_double(p.rule, p.real);
}

std::string derivation_complaint(const parameters &p) {
    const std::optional<fixed_point_multiplier> derived = derive(p);
    if (!derived || !p.fixed || *derived == *p.fixed)
        return {};
    return "multiplier and shift: recorded " + to_text(*p.fixed) + ", derived from the real factor " +
           to_text(*derived);
}

std::string result_complaint(const batch &b, std::size_t i, const execution &x) {
    if (!x.complaint.empty())
        return std::string(x.primitive) + " " + x.complaint;
    if (x.results.at(i) == b.expected[i])
        return {};
    return std::string(x.primitive) + ": accumulator " + std::to_string(b.accumulators[i]) + ": expected " +
           std::to_string(b.expected[i]) + ", got " + std::to_string(x.results[i]);
}

void replay_batch(const batch &b, const options &opt, report &results, const engine &e) {
    const std::string rule = to_string(b.params.rule);
    try {
        const std::string derivation = derivation_complaint(b.params);
        const execution by_reorder = through_reorder(b, opt, e), by_matmul = through_matmul(b, opt, e);
        const std::string how =
            "reorder " + by_reorder.implementation + ", matmul " + by_matmul.implementation;
        for (std::size_t i = 0; i < b.names.size(); i++) {
            std::string complaint = derivation;
            if (complaint.empty())
                complaint = result_complaint(b, i, by_reorder);
            if (complaint.empty())
                complaint = result_complaint(b, i, by_matmul);
            const std::string name = b.names[i] + " (" + rule + ")";
            results.judge(rule, name, complaint, how);
        }
    } catch (const error &x) {
        for (const std::string &name : b.names)
            results.fail(rule, name + " (" + rule + ")", x.what());
    }
}

} // namespace

void replay_requantization(const vector_file &file, const options &opt, report &results) {
    const engine e(engine::kind::cpu, 0);
    for (const batch &b : read_batches(file.root(), results))
        replay_batch(b, opt, results, e);
    replay_scalar_arithmetic(file.root(), results);
}

} // namespace octet::vectors
