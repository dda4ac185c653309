// Devices that quantize their source by themselves: libraries' formulas written a second time, Octet's products, and
// roundings that nobody has. The quantizer and the order must be named, and each name must be right on other rows.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "match/dynamic.hpp"
#include "match/finder.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using match::codes;
using match::inputs;
using match::subject;
using device_function = std::function<codes(const inputs &)>;

subject subject_of(const std::string &json) {
    return match::make_subject(match::parse_description(json, "op.json"));
}

match::values values_of_device(const subject &s, const codes &results, dim_t rows) {
    memory::dims dims = s.dst_row;
    dims.insert(dims.begin(), rows);
    if (s.dst != data_type::f32)
        return match::values_of("y", s.dst, dims, results);
    std::vector<float> reals;
    for (const std::int32_t bits : results)
        reals.push_back(match::float_of(bits));
    return match::values_of("y", dims, reals);
}

/// Normal numbers, of which no row was proposed.
inputs other_rows(const subject &s) {
    inputs all = s.pool;
    match::generator random(77);
    std::vector<float> x;
    for (std::size_t i = 0; i < all[0].count(); i++)
        x.push_back(
            static_cast<float>(random.between(-4000000, 4000000) + random.between(-4000000, 4000000)) /
            1048576.f);
    all[0] = match::values_of("x", all[0].dims, x);
    return all;
}

/// "NAME (DETAIL)" of what remains; each has to compute what the device computes on other rows.
std::vector<std::string> names_of_device(const subject &s, const device_function &run) {
    const inputs probes = match::propose(s, 1024);
    const match::verdict v =
        match::judge(s, probes, values_of_device(s, run(probes), static_cast<dim_t>(row_count(probes))));
    const inputs elsewhere = other_rows(s);
    std::vector<std::string> names;
    for (const std::size_t c : v.consistent) {
        EXPECT_EQ(s.contracts[c].compute(elsewhere), run(elsewhere)) << s.contracts[c].text();
        names.push_back(s.contracts[c].text());
    }
    return names;
}

// ---- libraries' formulas

struct stretch_codes {
    std::vector<int> codes; ///< less the zero point
    float scale = 1.f;
    int zero_point = 0;
};
using quantizer_function = stretch_codes (*)(const float *x, std::size_t count);

stretch_codes as_onnxruntime(const float *x, std::size_t count) {
    const float lo = std::min(0.f, *std::min_element(x, x + count)),
                hi = std::max(0.f, *std::max_element(x, x + count));
    stretch_codes r;
    r.scale = lo == hi ? 1.f : (hi - lo) / 255.f;
    r.zero_point = static_cast<int>(std::nearbyint(std::min(std::max(0.f - lo / r.scale, 0.f), 255.f)));
    const auto z = static_cast<float>(r.zero_point);
    for (std::size_t i = 0; i < count; i++)
        r.codes.push_back(
            static_cast<int>(std::nearbyint(std::min(std::max(x[i] / r.scale, -z), 255.f - z))));
    return r;
}

stretch_codes as_litert_symmetric(const float *x, std::size_t count) {
    float a = 0.f;
    for (std::size_t i = 0; i < count; i++)
        a = std::max(a, std::fabs(x[i]));
    stretch_codes r;
    r.scale = a == 0.f ? 1.f : a / 127.f;
    for (std::size_t i = 0; i < count; i++)
        r.codes.push_back(a == 0.f ? 0 : static_cast<int>(std::round(x[i] * (127.f / a))));
    return r;
}

/// Towards zero, as nobody here does.
stretch_codes as_nobody(const float *x, std::size_t count) {
    stretch_codes r = as_litert_symmetric(x, count);
    for (std::size_t i = 0; i < count; i++)
        r.codes[i] = static_cast<int>(x[i] / r.scale);
    return r;
}

device_function device_of_codes(quantizer_function quantize) {
    return [quantize](const inputs &given) {
        const auto count = static_cast<std::size_t>(given[0].dims[1]);
        codes results;
        std::vector<float> row(count);
        for (dim_t r = 0; r < given[0].dims[0]; r++) {
            for (std::size_t i = 0; i < count; i++)
                row[i] = given[0].real(static_cast<std::size_t>(r) * count + i);
            const stretch_codes q = quantize(row.data(), count);
            for (const int code : q.codes)
                results.push_back(code + q.zero_point);
        }
        return results;
    };
}

std::vector<std::string> names(std::initializer_list<std::string> all) { return all; }

TEST(DynamicDevices, AreNamedByTheirCodes) {
    const char *form = R"({"kind": "dynamic_quantize", "inputs": [{"type": "f32"}], "count": 16, )";
    const subject u8 = subject_of(form + std::string(R"("output": {"type": "u8"}})")),
                  s8 = subject_of(form + std::string(R"("output": {"type": "s8"}})"));
    EXPECT_EQ(names_of_device(u8, device_of_codes(as_onnxruntime)), names({"onnxruntime (asymmetric)"}));
    EXPECT_EQ(names_of_device(s8, device_of_codes(as_litert_symmetric)), names({"litert (symmetric)"}));
    EXPECT_EQ(names_of_device(s8, device_of_codes(as_nobody)), names({}));
}

/// Every quantizer is told from all others, with scales of rows and of groups. Two are one formula where numbers
/// are not tiny.
TEST(DynamicDevices, NoTwoQuantizersAgree) {
    for (const char *group : {"", R"("group": 8, )"})
        for (const source_quantization &q : match::all_source_quantizations()) {
            const subject s =
                subject_of(R"({"kind": "dynamic_quantize", "inputs": [{"type": "f32"}], "count": 16, )" +
                           std::string(group) + R"("output": {"type": ")" + to_string(q.code) + R"("}})");
            const auto run = [&](const inputs &given) {
                return match::quantized(q, given[0], *group ? 8 : 0);
            };
            const std::string name = std::string(to_string(q.by)) + " (" + to_string(q.mode) + ')';
            const bool has_twin = q.code == data_type::s8 && q.mode == source_mode::symmetric &&
                                  (q.by == source_quantizer::dynamic || q.by == source_quantizer::ggml_avx2);
            EXPECT_EQ(names_of_device(s, run),
                      has_twin ? names({"dynamic (symmetric)", "ggml_avx2 (symmetric)"}) : names({name}));
        }
}

// ---- products

/// Octet's matmul, whose weights lie as {channels, K}.
device_function octet_product(source_quantization q, combination order, dim_t group) {
    return [=](const inputs &given) {
        const engine cpu(engine::kind::cpu, 0);
        stream s(cpu);
        const dim_t rows = given[0].dims[0], k = given[0].dims[1], channels = given[1].dims[0],
                    groups = group > 0 ? k / group : 1;
        const memory x({{rows, k}, data_type::f32, format_tag::ab}, cpu),
            w({{k, channels}, data_type::s8, format_tag::ba}, cpu),
            y({{rows, channels}, data_type::f32, format_tag::ab}, cpu),
            bias({{1, channels}, data_type::f32, format_tag::ab}, cpu);
        std::memcpy(x.get_data_handle(), given[0].bytes.data(), given[0].bytes.size());
        std::memcpy(w.get_data_handle(), given[1].bytes.data(), given[1].bytes.size());
        std::vector<float> scales;
        for (dim_t g = 0; g < groups; g++)
            for (dim_t c = 0; c < channels; c++)
                scales.push_back(given[2].real(static_cast<std::size_t>(c * groups + g)));
        primitive_attr attr;
        attr.set_source_quantization(q);
        attr.set_combination(order);
        const memory scale_memory({{static_cast<dim_t>(scales.size())}, data_type::f32, format_tag::a}, cpu);
        std::memcpy(scale_memory.get_data_handle(), scales.data(), scales.size() * sizeof(float));
        if (group > 0)
            attr.set_scales(OCTET_ARG_WEIGHTS, 1 << 0 | 1 << 1, {group, 1}, data_type::f32);
        else
            attr.set_scales(OCTET_ARG_WEIGHTS, 1 << 1, scales);
        const bool has_bias = given.size() > 3;
        std::unordered_map<int, memory> args = {
            {OCTET_ARG_SRC, x}, {OCTET_ARG_WEIGHTS, w}, {OCTET_ARG_DST, y}};
        if (group > 0)
            args.emplace(OCTET_ARG_ATTR_SCALES | OCTET_ARG_WEIGHTS, scale_memory);
        if (has_bias) {
            std::memcpy(bias.get_data_handle(), given[3].bytes.data(), given[3].bytes.size());
            args.emplace(OCTET_ARG_BIAS, bias);
        }
        const matmul::desc d(x.get_desc(), w.get_desc(), has_bias ? bias.get_desc() : memory::desc(),
                             y.get_desc());
        matmul(matmul::primitive_desc(d, attr, cpu)).execute(s, args);
        codes results;
        for (dim_t i = 0; i < rows * channels; i++)
            results.push_back(match::bits_of(static_cast<const float *>(y.get_data_handle())[i]));
        return results;
    };
}

std::string product_json(dim_t group, const char *more = "") {
    return R"({"kind": "dynamic_product", "inputs": [{"type": "f32"}, {"type": "s8"}], )"
           R"("output": {"type": "f32"}, "count": 96, "channels": 4, )" +
           (group > 0 ? "\"group\": " + std::to_string(group) : "\"alpha\": 0") + more + '}';
}

/// Orders that are one formula where there is a bias, and two of KleidiAI's that differ in the packing alone.
std::string formula_of(combination order) {
    switch (order) {
    case combination::kleidiai:
    case combination::litert:
    case combination::onnxruntime:
    case combination::qnnpack:
        return "f32(f32(F(acc) * f32(s_w * s_x)) + bias)";
    case combination::kleidiai_groups_of_4:
        return to_string(combination::kleidiai_groups);
    default:
        return to_string(order);
    }
}

/// Octet's products are named by quantizer and order, and no other formula is.
TEST(DynamicDevices, AreNamedByCodesAndOrder) {
    constexpr auto symmetric = source_mode::symmetric, asymmetric = source_mode::asymmetric;
    constexpr auto s8 = data_type::s8, u8 = data_type::u8;
    const struct {
        source_quantization q;
        combination order;
        dim_t group;
    } all[] = {
        {{source_quantizer::dynamic, symmetric, s8}, combination::dynamic_row, 0},
        {{source_quantizer::dynamic, asymmetric, u8}, combination::dynamic_row, 0},
        {{source_quantizer::xnnpack, asymmetric, s8}, combination::xnnpack, 0},
        {{source_quantizer::xnnpack, asymmetric, s8}, combination::xnnpack_unfused, 0},
        {{source_quantizer::kleidiai, asymmetric, s8}, combination::kleidiai, 0},
        {{source_quantizer::litert, symmetric, s8}, combination::litert, 0},
        {{source_quantizer::onnxruntime, asymmetric, u8}, combination::onnxruntime, 0},
        {{source_quantizer::qnnpack, asymmetric, u8}, combination::qnnpack, 0},
        {{source_quantizer::dynamic, symmetric, s8}, combination::dynamic_group, 32},
        {{source_quantizer::dynamic, symmetric, s8, source_span::group}, combination::dynamic_group, 32},
        {{source_quantizer::xnnpack, asymmetric, s8}, combination::xnnpack_groups, 32},
        {{source_quantizer::xnnpack, asymmetric, s8}, combination::xnnpack_groups_avx2, 32},
        {{source_quantizer::kleidiai, asymmetric, s8}, combination::kleidiai_groups, 32},
        {{source_quantizer::ggml, symmetric, s8, source_span::group}, combination::ggml_q8_0, 32},
        {{source_quantizer::ggml, symmetric, s8, source_span::group}, combination::ggml_q4_0, 32},
        {{source_quantizer::ggml_avx2, symmetric, s8, source_span::group}, combination::ggml_avx2, 32},
    };
    for (const auto &c : all) {
        SCOPED_TRACE(to_string(c.order));
        const subject s = subject_of(product_json(c.group));
        const std::string quantizer = std::string(to_string(c.q.by)) + '/',
                          right = quantizer + to_string(c.order) + " (" + to_string(c.q.mode) +
                                  (c.q.span == source_span::group ? ", scales of groups)" : ")");
        const std::vector<std::string> found = names_of_device(s, octet_product(c.q, c.order, c.group));
        EXPECT_EQ(std::count(found.begin(), found.end(), right), 1) << right;
        for (const std::string &name : found) {
            EXPECT_EQ(name.rfind(quantizer, 0), 0u) << name;
            bool is_same_formula = false;
            for (const combination other : match::all_combinations())
                is_same_formula |= formula_of(other) == formula_of(c.order) &&
                                   name.rfind(quantizer + to_string(other) + " (", 0) == 0;
            EXPECT_TRUE(is_same_formula) << name;
        }
    }
}

TEST(DynamicDevices, GetNoNameForAnOrderThatNobodyHas) {
    const subject s = subject_of(product_json(0));
    const auto fused_late = [](const inputs &given) { // fma over scales of the weights first
        const auto k = static_cast<std::size_t>(given[0].dims[1]);
        codes results;
        std::vector<float> row(k);
        for (dim_t r = 0; r < given[0].dims[0]; r++) {
            for (std::size_t i = 0; i < k; i++)
                row[i] = given[0].real(static_cast<std::size_t>(r) * k + i);
            const stretch_codes q = as_litert_symmetric(row.data(), k);
            for (std::size_t c = 0; c < given[2].count(); c++) {
                int sum = 0;
                for (std::size_t i = 0; i < k; i++)
                    sum += q.codes[i] * given[1].integer(c * k + i);
                const float scaled = static_cast<float>(sum) * given[2].real(c);
                results.push_back(match::bits_of(std::fma(scaled, q.scale, given[3].real(c))));
            }
        }
        return results;
    };
    EXPECT_EQ(names_of_device(s, fused_late), names({}));
}

TEST(DynamicDevices, DescriptionsSayWhatIsWrong) {
    const auto refusal = [](const std::string &json) {
        try {
            subject_of(json);
        } catch (const error &e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const auto with = [](std::string text, const std::string &from, const std::string &to) {
        return text.replace(text.find(from), from.size(), to);
    };
    const std::string good = product_json(32);
    EXPECT_EQ(refusal(good), "");
    for (const auto &[json, message] : std::vector<std::pair<std::string, std::string>>{
             {with(good, "\"group\": 32", "\"group\": 33"),
              "op.json: group is 33, allowed: a divisor of count, which is 96"},
             {with(good, "\"group\": 32", "\"group\": 97"), "op.json: group is 97, allowed: 1 to 96"},
             {with(good, "{\"type\": \"s8\"}", "{\"type\": \"u8\"}"),
              "op.json: inputs[1]: type is \"u8\", allowed: s8, s4"},
             {with(good, "{\"type\": \"s8\"}", "{\"type\": \"s8\", \"scale\": 1}"),
              "op.json: inputs[1]: key 'scale', allowed: type"},
             {with(good, "\"channels\": 4", "\"channels\": 65"), "op.json: channels is 65, allowed: 1 to 64"},
             {with(good, "\"count\": 96, ", ""), "op.json: key 'count' is missing"},
             {with(good, "\"output\": {\"type\": \"f32\"}", "\"output\": {\"type\": \"s8\"}"),
              "op.json: output: type is \"s8\", allowed: f32"}})
        EXPECT_EQ(refusal(json), message);
    // Orders of 32 elements have no groups of 16.
    const subject s = subject_of(product_json(16));
    const auto found = std::find_if(s.refused.begin(), s.refused.end(),
                                    [](const auto &r) { return r.name == "kleidiai_groups"; });
    ASSERT_NE(found, s.refused.end());
    EXPECT_EQ(found->why, "groups of 16, allowed: multiples of 32");
}

TEST(DynamicDevices, ResultsThatAreNoNumbersAreRefused) {
    const subject s = subject_of(product_json(0, ", \"has_bias\": false"));
    ASSERT_EQ(s.pool.size(), 3u) << "no bias";
    const inputs probes = match::propose(s, 64);
    codes results(64, match::bits_of(1.f));
    results[5] = match::bits_of(std::nanf(""));
    try {
        match::judge(s, probes, values_of_device(s, results, 16));
        ADD_FAILURE() << "NaN was judged";
    } catch (const error &e) {
        EXPECT_STREQ(e.what(), "outputs: element 5 is NaN, allowed: numbers");
    }
}

} // namespace
} // namespace octet::tests
