// Descriptions of operators: what they say, what is wrong with one, and that no text does harm. The contracts
// that a bias tells apart.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "match/finder.hpp"
#include "octet/error.hpp"

namespace octet::tests {
namespace {

using match::codes;
using match::inputs;

const std::string product = R"({"kind": "product", "inputs": [{"type": "s8", "scale": 0.5, "zero_point": -3},
    {"type": "s8", "scale": 0.125}], "output": {"type": "s8", "scale": 1.0, "zero_point": 1}, "activation": "RELU",
    "count": 24, "limit": 100000, "bias": -17})",
                  resize = R"({"kind": "resize_bilinear", "inputs": [{"type": "u8", "scale": 0.5}],
    "output": {"type": "u8", "scale": 0.5}, "size": [4, 5], "to": [7, 9],
    "align_corners": false, "half_pixel_centers": true})",
                  slope = R"({"kind": "leaky_relu", "alpha": 0.25, "inputs": [{"type": "s8", "scale": 0.5}],
    "output": {"type": "s8", "scale": 0.5}})";

std::string refusal_of(const std::string &text) {
    try {
        match::parse_description(text, "op.json");
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

TEST(Description, WrongValuesAreNamed) {
    const auto with = [](std::string text, const std::string &from, const std::string &to) {
        return text.replace(text.find(from), from.size(), to);
    };
    EXPECT_EQ(refusal_of(product), "");
    EXPECT_EQ(refusal_of(with(with(product, "0.125", "[0.125, 0.25]"), "-17", "[1, -2]")), "");
    for (const auto &[text, message] : std::vector<std::pair<std::string, std::string>>{
             {with(product, "-17", "1.5"), "bias is 1.5, allowed: -2147483648 to 2147483647"},
             {with(product, "-17", "4294967296"), "bias is 4294967296"},
             {with(slope, "0.25,", "0.25, \"bias\": 1,"), "bias is 1, allowed: none for kind leaky_relu"},
             {with(product, "0.125", "-1"), "inputs[1]: scale is -1"},
             {with(product, "0.125", "[]"),
              "inputs[1]: scale has 0 entries, allowed: 1 to 64, one per output channel"},
             {with(product, "0.125", "[0.5, 0]"),
              "inputs[1]: scale is [0.5,0], allowed: a positive finite number"},
             {with(product, "0.5, \"zero", "[0.5], \"zero"),
              "inputs[0]: scale is [0.5], allowed: a positive"},
             {with(slope, "0.5}]", "[0.5]}]"), "inputs[0]: scale is [0.5], allowed: a positive"},
             {with(with(product, "0.125", "[0.125, 0.25, 0.5]"), "-17", "[1, 2]"),
              "bias is [1,2], allowed: one, or 3, as many as the weights have scales"},
             {with(product, "0.125", "1e999"), "op.json"},
             {with(product, "-3", "-129"), "zero_point is -129, allowed: -128 to 127"},
             {with(product, "24", "18446744073709551615"), "count is 18446744073709551615"},
             {with(resize, "[4, 5]", "[4, 33]"), "size is [4,33], allowed: [height, width], each 1 to 32"},
             {with(slope, "\"kind\"", "\"kinds\""), "key 'kinds', allowed: kind, inputs"}})
        EXPECT_NE(refusal_of(text).find(message), std::string::npos) << text << '\n' << refusal_of(text);
}

/// Any text is a description or is refused by an error that begins with its name.
TEST(Description, MutatedTextsAreReadOrRefused) {
    match::generator random(7);
    const std::string parts[] = {"\"", "{",   "}",    "[",       "]",    ",",         ":",
                                 "-",  "1e9", "null", "\\u0000", "\xff", "9999999999"};
    std::size_t read = 0;
    for (int i = 0; i < 20000; i++) {
        std::string text = i % 3 == 0 ? product : i % 3 == 1 ? resize : slope;
        for (std::int64_t changes = random.between(1, 4); changes > 0; changes--) {
            const auto at =
                static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1));
            const auto length = static_cast<std::size_t>(random.between(0, 5));
            switch (random.between(0, 3)) {
            case 0:
                text[at] = static_cast<char>(random.between(1, 255));
                break;
            case 1:
                text.erase(at, length);
                break;
            case 2:
                text.insert(at, text.substr(static_cast<std::size_t>(
                                                random.between(0, static_cast<std::int64_t>(at))),
                                            length));
                break;
            default:
                text.insert(at, parts[random.between(0, static_cast<std::int64_t>(std::size(parts)) - 1)]);
            }
            if (text.empty())
                text = " ";
        }
        const std::string message = refusal_of(text);
        read += message.empty();
        EXPECT_TRUE(message.empty() || message.rfind("op.json: ", 0) == 0) << text << '\n' << message;
    }
    EXPECT_GT(read, 100u);
}

/// If the sum has more than 24 bits, it matters whether the bias is added in s32 or in f32.
TEST(Description, ABiasIsAddedWhereTheRuleAddsIt) {
    constexpr std::int32_t bias = 3;
    const auto s = match::make_subject(match::parse_description(
        R"({"kind": "requantize", "inputs": [{"type": "s8", "scale": 0.001}, {"type": "s8", "scale": 0.001}],
            "output": {"type": "s8", "scale": 1.0, "zero_point": 1}, "bias": 3})",
        "op.json"));
    const float factor = 0.001f * 0.001f / 1.0f;
    const auto named = [&](bool in_f32, bool before_zero_point) {
        const inputs probes = match::propose(s, 1024);
        codes results;
        for (std::size_t i = 0; i < match::row_count(probes); i++) {
            const std::int32_t acc = probes[0].integer(i);
            const float sum = in_f32
                                  ? static_cast<float>(acc) + static_cast<float>(bias)
                                  : static_cast<float>(static_cast<std::int32_t>(std::int64_t{acc} + bias));
            const float x = sum * factor,
                        code = before_zero_point ? std::nearbyint(x) + 1 : std::nearbyint(x + 1);
            results.push_back(static_cast<std::int32_t>(std::min(std::max(code, -128.f), 127.f)));
        }
        const auto v = match::judge(
            s, probes, match::values_of("y", s.dst, {static_cast<dim_t>(results.size())}, results));
        std::string names;
        for (const std::size_t c : v.consistent)
            names += s.contracts[c].name + ' ';
        return names;
    };
    EXPECT_NE(named(false, true).find("ort_f32 "), std::string::npos) << named(false, true);
    EXPECT_NE(named(true, true).find("fbgemm_f32 "), std::string::npos) << named(true, true);
    EXPECT_NE((' ' + named(true, false)).find(" f32 "), std::string::npos) << named(true, false);
}

} // namespace
} // namespace octet::tests
