// Requantization check values: accumulators and what each rule makes of them, multipliers derived from scales, and the
// fixed-point primitives below them.
//
// Every accumulator goes through two real primitives: a reorder from s32, and a matrix product of zeros whose bias is
// the accumulator. Vectors with equal parameters are executed together.

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "check/check.hpp"
#include "common/fixed_point.hpp"

namespace octet::check {
namespace {

/// What a rule needs to know, as in the file.
struct parameters {
    requantization_rule rule = requantization_rule::automatic;
    double real = 0;
    std::optional<fixed_point_multiplier> fixed; ///< fixed-point rules
    int bitwidth = 0;                            ///< rounded_shift: size of the mantissa
    bool scale_is_f32 = false;                   ///< caffe_double_round
    data_type dst = data_type::s32;
    std::int32_t zero_point = 0;
    std::int32_t low = 0, high = 0; ///< of the result, zero point included

    friend bool operator==(const parameters &a, const parameters &b) {
        const auto tie = [](const parameters &p) {
            return std::tie(p.rule, p.real, p.fixed, p.bitwidth, p.scale_is_f32, p.dst, p.zero_point, p.low, p.high);
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
    if (is_u8(low, high) && !(is_s8(low, high) && high == 127)) return data_type::u8;
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
    if (v.has("bitwidth")) p.bitwidth = v["bitwidth"].as<std::int32_t>();
    if (v.has("scale_type")) p.scale_is_f32 = v["scale_type"].text() == "f32";
    if (!v.has("quantized_multiplier")) return p;
    p.fixed = fixed_point_multiplier{v["quantized_multiplier"].as<std::int32_t>(), v["shift"].as<std::int32_t>(), 0};
    // The file's zero point of this rule is an offset in units of the accumulator.
    if (p.rule == requantization_rule::gemmlowp_legacy_scale) std::swap(p.fixed->offset, p.zero_point);
    return p;
}

std::vector<batch> read_batches(const json_value &root, report &results) {
    std::vector<batch> batches;
    for (const json_value &v : root["vectors"].items()) {
        if (!results.wants(v["mode"].text())) continue;
        const parameters params = read_parameters(v);
        auto found = std::find_if(batches.begin(), batches.end(), [&](const batch &b) { return b.params == params; });
        if (found == batches.end()) found = batches.insert(batches.end(), {params, {}, {}, {}});
        found->names.push_back(v.place());
        found->accumulators.push_back(v["acc"].as<std::int32_t>());
        found->expected.push_back(v["expected"].as<std::int32_t>());
    }
    return batches;
}

// ---- Through the primitives.

primitive_attr attributes_of(const parameters &p) {
    primitive_attr attr;
    if (p.zero_point != 0) attr.set_zero_points(OCTET_ARG_DST, 0, {p.zero_point});
    if (p.fixed) attr.set_requantization(p.rule, 0, std::vector<fixed_point_multiplier>{*p.fixed});
    else if (p.rule != requantization_rule::caffe_double_round) attr.set_requantization(p.rule);
    else if (p.scale_is_f32) attr.set_requantization(p.rule, 0, std::vector<float>{static_cast<float>(p.real)});
    else attr.set_requantization(p.rule, 0, std::vector<double>{p.real});

    const bool is_whole_range = (p.dst == data_type::s8 && p.low == -128 && p.high == 127) ||
                                (p.dst == data_type::u8 && p.low == 0 && p.high == 255) || p.dst == data_type::s32;
    if (!is_whole_range) {
        post_ops ops;
        ops.append_clip(p.low - p.zero_point, p.high - p.zero_point);
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
        if (m.get_desc().data_type() == data_type::s8) s32 = static_cast<std::int8_t>(bytes[at]);
        else std::memcpy(&s32, bytes + at, size);
        values.push_back(s32);
    }
    return values;
}

/// What a primitive made of a batch, or why it may not run.
struct execution {
    const char *primitive;
    std::string implementation, complaint;
    std::vector<std::int32_t> results;
};

template <typename Primitive>
execution execute(const char *name, const typename Primitive::primitive_desc &pd, const options &opt,
                  std::unordered_map<int, memory> args, const engine &e) {
    std::string refusals;
    for (const std::string &refusal : pd.refusals()) refusals += (refusals.empty() ? "" : "; ") + refusal;
    execution x{name, pd.impl_info_str(), implementation_complaint(opt.impl, pd.impl_info_str(), refusals), {}};
    if (!x.complaint.empty()) return x;
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
    if (b.params.rule == requantization_rule::f32) attr.set_output_scales(0, {scale});
    if (b.params.rule == requantization_rule::ort_f32) attr.set_scales(OCTET_ARG_SRC, 0, {scale});
    const memory::dims dims{static_cast<dim_t>(b.accumulators.size())};
    const memory::desc src(dims, data_type::s32, format_tag::a), dst(dims, b.params.dst, format_tag::a);
    const memory acc(src, e, const_cast<std::int32_t *>(b.accumulators.data()));
    return execute<reorder>("reorder", reorder::primitive_desc(e, src, e, dst, attr), opt, {{OCTET_ARG_SRC, acc}}, e);
}

/// 0 * 0 + bias.
execution through_matmul(const batch &b, const options &opt, const engine &e) {
    primitive_attr attr = attributes_of(b.params);
    const bool takes_scale = b.params.rule == requantization_rule::f32 || b.params.rule == requantization_rule::ort_f32;
    if (takes_scale) attr.set_output_scales(0, {static_cast<float>(b.params.real)});
    const auto n = static_cast<dim_t>(b.accumulators.size());
    std::vector<std::uint8_t> zeros(b.accumulators.size());
    const memory::desc src({1, 1}, data_type::u8, format_tag::ab), weights({1, n}, data_type::s8, format_tag::ab);
    const memory::desc bias({1, n}, data_type::s32, format_tag::ab), dst({1, n}, b.params.dst, format_tag::ab);
    const matmul::primitive_desc pd({src, weights, bias, dst}, attr, e);
    return execute<matmul>("matmul", pd, opt,
                           {{OCTET_ARG_SRC, memory(src, e, zeros.data())},
                            {OCTET_ARG_WEIGHTS, memory(weights, e, zeros.data())},
                            {OCTET_ARG_BIAS, memory(bias, e, const_cast<std::int32_t *>(b.accumulators.data()))}},
                           e);
}

std::string to_text(const fixed_point_multiplier &m) {
    return "(" + std::to_string(m.multiplier) + ", " + std::to_string(m.shift) + ")";
}

/// The multiplier that Octet derives from the real one. gemmlowp has no derivation of its own.
std::optional<fixed_point_multiplier> derive(const parameters &p) {
    switch (p.rule) {
    case requantization_rule::tflite_2step:
    case requantization_rule::tflite_single_rounding:
    case requantization_rule::tflite_1step:
    case requantization_rule::caffe2_2step:
    case requantization_rule::qnnpack_avgpool:
    case requantization_rule::ev_rte15: return from_double(p.rule, p.real);
    case requantization_rule::rounded_shift: return rounded_shift_from_double(p.real, p.bitwidth);
    default: return std::nullopt;
    }
}

std::string derivation_complaint(const parameters &p) {
    const std::optional<fixed_point_multiplier> derived = derive(p);
    if (!derived || !p.fixed || *derived == *p.fixed) return {};
    return "multiplier and shift: recorded " + to_text(*p.fixed) + ", derived from the real factor " + to_text(*derived);
}

std::string result_complaint(const batch &b, std::size_t i, const execution &x) {
    if (!x.complaint.empty()) return std::string(x.primitive) + " " + x.complaint;
    if (x.results.at(i) == b.expected[i]) return {};
    return std::string(x.primitive) + ": accumulator " + std::to_string(b.accumulators[i]) + ": expected " +
           std::to_string(b.expected[i]) + ", got " + std::to_string(x.results[i]);
}

void replay_batch(const batch &b, const options &opt, report &results, const engine &e) {
    const std::string rule = to_string(b.params.rule);
    try {
        const std::string derivation = derivation_complaint(b.params);
        const execution by_reorder = through_reorder(b, opt, e), by_matmul = through_matmul(b, opt, e);
        for (std::size_t i = 0; i < b.names.size(); i++) {
            std::string complaint = derivation;
            if (complaint.empty()) complaint = result_complaint(b, i, by_reorder);
            if (complaint.empty()) complaint = result_complaint(b, i, by_matmul);
            const std::string name = b.names[i] + " (" + rule + ")";
            if (!complaint.empty()) results.fail(rule, name, complaint);
            else results.pass(rule, name, "reorder " + by_reorder.implementation + ", matmul " + by_matmul.implementation);
        }
    } catch (const error &x) {
        for (const std::string &name : b.names) results.fail(rule, name + " (" + rule + ")", x.what());
    }
}

// ---- Derivations from three scales.

const struct derivation_rule {
    const char *name;
    scale_derivation how;
    requantization_rule fixed; ///< `automatic`: the real factor is used as it is
    const char *shift;
} derivation_rules[] = {
    {"tflite_f64", scale_derivation::tflite_f64, requantization_rule::tflite_2step, "shift_left"},
    {"tflite_f32prod", scale_derivation::tflite_f32prod, requantization_rule::tflite_2step, "shift_left"},
    {"caffe2_f32", scale_derivation::caffe2_f32, requantization_rule::caffe2_2step, "shift_right"},
    {"ort_f32", scale_derivation::ort_f32, requantization_rule::automatic, nullptr},
    {"snps_onnx_per_channel", scale_derivation::snps_onnx_per_channel, requantization_rule::automatic, nullptr},
};

bool is_refused(requantization_rule rule, double real) {
    try {
        from_double(rule, real);
        return false;
    } catch (const error &) {
        return true;
    }
}

/// Empty, or how Octet's derivation differs from the recorded one. A rule that is null in the file has no multiplier
/// for these scales, and Octet must refuse it.
std::string derivation_complaint(const json_value &d, const derivation_rule &r) {
    const double real = real_multiplier(r.how, d["input_scale_hex"].f32(), d["weight_scale_hex"].f32(),
                                        d["output_scale_hex"].f32());
    if (!d.has(r.name)) return is_refused(r.fixed, real) ? "" : "a factor outside the rule's domain is accepted";
    const json_value recorded = d[r.name];
    if (recorded["real_multiplier_hex"].f64() != real)
        return "real factor: recorded " + recorded["real_multiplier_hex"].text() + ", derived " + std::to_string(real);
    if (!r.shift) return {};
    const fixed_point_multiplier fixed{recorded["quantized_multiplier"].as<std::int32_t>(),
                                       recorded[r.shift].as<std::int32_t>(), 0};
    const fixed_point_multiplier derived = from_double(r.fixed, real);
    return fixed == derived ? "" : "recorded " + to_text(fixed) + ", derived " + to_text(derived);
}

void replay_derivations(const json_value &root, report &results) {
    if (!root.has("derivations")) return;
    for (const json_value &d : root["derivations"].items())
        for (const derivation_rule &r : derivation_rules) {
            const std::string row = std::string("derivation ") + r.name, name = d.place() + "." + r.name;
            if (!results.wants(row)) continue;
            const std::string complaint = derivation_complaint(d, r);
            complaint.empty() ? results.pass(row, name, "derived") : results.fail(row, name, complaint);
        }
}

// ---- Fixed-point primitives.

const struct fixed_point_function {
    const char *name;
    std::int32_t lowest, highest;            ///< domain of a
    std::int32_t (*compute)(std::int32_t a, std::int32_t b);
} fixed_point_functions[] = {
    {"srdhm", impl::int32_min, impl::int32_max, [](auto a, auto b) { return impl::saturating_rounding_doubling_high_mul(a, b); }},
    {"rdivpot", impl::int32_min, impl::int32_max, [](auto a, auto b) { return impl::rounding_divide_by_pot(a, b); }},
    {"exp_neg_q5_26", impl::int32_min, 0, [](auto a, auto) { return impl::exp_on_negative_values(a, 5); }},
    {"logistic_q4_27", -impl::int32_max, impl::int32_max, [](auto a, auto) { return impl::logistic(a, 4); }},
    {"tanh_q4_27", -impl::int32_max, impl::int32_max, [](auto a, auto) { return impl::tanh(a, 4); }},
    {"one_over_one_plus_x", 0, impl::int32_max, [](auto a, auto) { return impl::one_over_one_plus_x(a); }},
    {"one_minus_x_over_one_plus_x", 0, impl::int32_max, [](auto a, auto) { return impl::one_minus_x_over_one_plus_x(a); }},
    {"get_reciprocal_12", 1, impl::int32_max, [](auto a, auto) { return impl::reciprocal_of(a, 12).value; }},
};

std::string primitive_complaint(const json_value &p, const fixed_point_function &f) {
    const auto a = static_cast<std::int32_t>(p["a"].integer(f.lowest, f.highest));
    const bool b_is_shift = std::strcmp(f.name, "rdivpot") == 0;
    std::int32_t b = 0;
    if (p.has("b")) b = b_is_shift ? static_cast<std::int32_t>(p["b"].integer(0, 31)) : p["b"].as<std::int32_t>();
    const std::int32_t expected = p["expected"].as<std::int32_t>(), got = f.compute(a, b);
    if (got != expected) return "expected " + std::to_string(expected) + ", got " + std::to_string(got);
    if (!p.has("num_bits_over_unit")) return {};
    const std::int32_t bits = p["num_bits_over_unit"].as<std::int32_t>(), got_bits = impl::reciprocal_of(a, 12).bits_over_unit;
    if (got_bits == bits) return {};
    return "bits over unit: expected " + std::to_string(bits) + ", got " + std::to_string(got_bits);
}

void replay_primitives(const json_value &root, report &results) {
    if (!root.has("primitives")) return;
    for (const json_value &p : root["primitives"].items()) {
        const std::string fn = p["fn"].text(), name = p.place() + " (" + fn + ")";
        if (!results.wants(fn)) continue;
        const auto *f = std::find_if(std::begin(fixed_point_functions), std::end(fixed_point_functions),
                                     [&](const fixed_point_function &candidate) { return fn == candidate.name; });
        if (f == std::end(fixed_point_functions)) {
            results.skip(fn, name, "no such primitive in Octet");
            continue;
        }
        const std::string complaint = primitive_complaint(p, *f);
        complaint.empty() ? results.pass(fn, name, "computed") : results.fail(fn, name, complaint);
    }
}

} // namespace

void replay_requantization(const vector_file &file, const options &opt, report &results) {
    const engine e(engine::kind::cpu, 0);
    for (const batch &b : read_batches(file.root(), results)) replay_batch(b, opt, results, e);
    replay_derivations(file.root(), results);
    replay_primitives(file.root(), results);
}

} // namespace octet::check
