// Octet itself and roundings that nobody has, as devices.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tests/match/devices.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "octet/contract.hpp"
#include "octet/octet.hpp"
#include "support/effort.hpp"

namespace octet::tests {
namespace {

using match::codes;
using match::inputs;
using match::values;

model::accumulator accumulator_of(const scales &s) {
    model::accumulator acc;
    acc.src_scale = s.src;
    acc.weights_scales = s.weights;
    acc.weights_mask = acc.dst_mask = 2;
    acc.dst_scale = s.dst;
    acc.dst_zero_point = s.dst_zero_point;
    return acc;
}

memory memory_of(const values &v, const memory::dims &dims, const engine &cpu) {
    const memory m({dims, v.type, dims.size() == 2 ? format_tag::ab : format_tag::a}, cpu);
    std::memcpy(m.get_data_handle(), v.bytes.data(), v.bytes.size());
    return m;
}

data_type type_of(const scales &s) { return s.type == "u8" ? data_type::u8 : data_type::s8; }

codes codes_of(const memory &m, data_type type, std::size_t count) {
    codes results(count);
    for (std::size_t i = 0; i < count; i++)
        results[i] = type == data_type::u8 ? int{static_cast<std::uint8_t *>(m.get_data_handle())[i]}
                                           : int{static_cast<std::int8_t *>(m.get_data_handle())[i]};
    return results;
}

/// x * weights as a matrix product with a column per channel.
codes product(const scales &s, requantization_rule rule, cpu_isa level, const inputs &given) {
    set_max_cpu_isa(level);
    const engine cpu(engine::kind::cpu, 0);
    stream st(cpu);
    const dim_t rows = given[0].dims[0], length = given[0].dims[1];
    const memory x = memory_of(given[0], {rows, length}, cpu);
    const auto channels = static_cast<dim_t>(s.weights.size());
    const memory w({{length, channels}, data_type::s8, format_tag::ba}, cpu);
    std::memcpy(w.get_data_handle(), given[1].bytes.data(), given[1].bytes.size());
    const memory y({{rows, channels}, type_of(s), format_tag::ab}, cpu);
    model::accumulator acc = accumulator_of(s);
    std::int64_t magnitude = 0;
    for (dim_t i = 0; i < length; i++)
        magnitude += 255 * std::abs(given[1].integer(static_cast<std::size_t>(i)));
    acc.magnitudes.assign(s.weights.size(), magnitude);
    primitive_attr attr;
    model::set_contract(attr, rule, acc);
    if (s.src_zero_point != 0)
        attr.set_zero_points(OCTET_ARG_SRC, 0, {s.src_zero_point});
    if (s.dst_zero_point != 0)
        attr.set_zero_points(OCTET_ARG_DST, 0, {s.dst_zero_point});
    matmul(matmul::primitive_desc({x.get_desc(), w.get_desc(), y.get_desc()}, attr, cpu))
        .execute(st, {{OCTET_ARG_SRC, x}, {OCTET_ARG_WEIGHTS, w}, {OCTET_ARG_DST, y}});
    set_max_cpu_isa(cpu_isa::all);
    return codes_of(y, type_of(s), static_cast<std::size_t>(rows * channels));
}

std::int32_t saturated(double code, const scales &s) {
    const double low = s.type == "u8" ? 0 : -128;
    return static_cast<std::int32_t>(std::min(std::max(code, low), low + 255));
}

} // namespace

std::string scales::text(const std::string &kind) const {
    std::ostringstream json, list;
    json.precision(9);
    list.precision(9);
    for (std::size_t c = 0; c < weights.size(); c++)
        list << (c == 0 ? weights.size() == 1 ? "" : "[" : ", ") << weights[c];
    list << (weights.size() == 1 ? "" : "]");
    json << R"({"kind": ")" << kind << R"(", "inputs": [{"type": "s8", "scale": )" << src
         << R"(, "zero_point": )" << src_zero_point << R"(}, {"type": "s8", "scale": )" << list.str()
         << R"(}], "output": {"type": ")" << type << R"(", "scale": )" << dst << R"(, "zero_point": )"
         << dst_zero_point << "}}";
    return json.str();
}

/// Factors of many mantissas, and powers of two, where ties are exact.
const std::vector<scales> &many_scales() {
    static const std::vector<scales> every = {
        {0.25f, {0.5f}, 1.f, 0, 1, "s8"},         {0.5f, {0.03125f}, 1.f, -128, -7, "s8"},
        {0.02f, {0.01f}, 0.05f, 3, 10, "s8"},     {0.1f, {0.0375f}, 0.7f, -5, 128, "u8"},
        {0.5f, {0.5f}, 1.f, 0, 3, "s8"},          {0.0123f, {0.2f}, 0.031f, 17, -3, "s8"},
        {0.0078125f, {0.0625f}, 1.f, 0, 0, "s8"}, {0.333f, {0.777f}, 1.f, 0, 101, "u8"},
    };
    static const std::vector<scales> asked(
        every.begin(),
        every.begin() + std::min<std::ptrdiff_t>(test::problem_count(static_cast<std::int64_t>(every.size())),
                                                 static_cast<std::ptrdiff_t>(every.size())));
    return asked;
}

std::vector<scales> scales_of_channels() {
    std::vector<scales> all;
    for (scales s : many_scales()) {
        const float first = s.weights[0];
        s.weights = {first, first * 0.75f, first * 0.3331f, first * 0.5f};
        all.push_back(s);
    }
    return all;
}

namespace {

std::vector<device> under_every_rule(const std::vector<scales> &all, std::initializer_list<cpu_isa> levels) {
    std::vector<device> devices;
    for (const scales &s : all)
        for (const requantization_rule rule : all_requantization_rules())
            for (const cpu_isa level : levels) {
                if (rule == requantization_rule::automatic || rule == requantization_rule::none)
                    continue;
                primitive_attr attr;
                model::accumulator acc = accumulator_of(s);
                acc.magnitudes.assign(s.weights.size(), 1 << 15);
                try {
                    model::set_contract(attr, rule, acc);
                } catch (const error &) {
                    continue; // the rule cannot have this factor
                }
                devices.push_back(
                    {std::string("octet ") + to_string(rule) + " at " + to_string(level) + ", " +
                         s.text("product"),
                     s.text("product"),
                     [s, rule, level](const inputs &given) { return product(s, rule, level, given); },
                     {to_string(rule)}});
            }
    return devices;
}

} // namespace

std::vector<device> octet_devices() {
    const std::vector<cpu_isa> levels = get_available_cpu_isas();
    return under_every_rule(many_scales(), {levels.front(), levels.back()});
}
std::vector<device> octet_devices_of_channels() {
    return under_every_rule(scales_of_channels(), {get_available_cpu_isas().back()});
}

std::vector<device> impostors() {
    struct rounding {
        const char *name;
        std::function<double(double)> round;
    };
    const rounding roundings[] = {
        {"floor", [](double x) { return std::floor(x); }},
        {"ceiling", [](double x) { return std::ceil(x); }},
        {"truncation", [](double x) { return std::trunc(x); }},
        {"ties down", [](double x) { return std::ceil(x - 0.5); }},
        {"ties to zero", [](double x) { return x < 0 ? std::floor(x + 0.5) : std::ceil(x - 0.5); }},
        {"ties to odd", [](double x) { return std::nearbyint(x + 1) - 1; }},
        {"one too many", [](double x) { return std::nearbyint(x) + 1; }},
        {"a factor too large", [](double x) { return std::nearbyint(x * 1.01); }},
        {"-128 left out", [](double x) { return std::max(std::nearbyint(x), -120.); }},
        {"a loss of bits", [](double x) { return std::nearbyint(std::floor(x * 4) / 4); }},
        {"wrapping",
         [](double x) {
             return static_cast<double>(static_cast<std::int8_t>(std::llround(std::fmod(x, 65536.))));
         }},
        {"always nothing", [](double) { return 0.; }},
    };
    std::vector<device> devices;
    for (const scales &s : many_scales())
        for (const rounding &r : roundings)
            devices.push_back({std::string("impostor: ") + r.name + ", " + s.text("requantize"),
                               s.text("requantize"),
                               [s, round = r.round](const inputs &given) {
                                   codes results;
                                   for (std::size_t i = 0; i < given[0].count(); i++)
                                       results.push_back(saturated(
                                           round(given[0].integer(i) * s.factor()) + s.dst_zero_point, s));
                                   return results;
                               },
                               {}});
    return devices;
}

} // namespace octet::tests
