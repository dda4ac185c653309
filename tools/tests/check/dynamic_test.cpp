// `octet check` on products with a dynamic source: a case by hand, and cases whose parts do not fit each other.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tests/check/check_fixture.hpp"

namespace octet::vectors {
namespace {

class CheckDynamicTest : public CheckTest {
protected:
    /// Scale 1 in the source, 2 in the weights: (127 * 1 - 2 * 3) * 2 + 0.5.
    json row_case(float expected = 242.5f) {
        return {{"name", "row"},
                {"contract", "dynamic_row"},
                {"params", {{"mode", "sym"}, {"code", "s8"}, {"dst", "f32"}, {"clamp", {"-inf", "inf"}}}},
                {"inputs",
                 {{"x", tensor<float>("f32", {1, 2}, {127.f, -2.f})},
                  {"w", tensor<std::int8_t>("s8", {1, 2}, {1, 3})},
                  {"w_scale", tensor<float>("f32", {1}, {2.f})},
                  {"bias", tensor<float>("f32", {1}, {0.5f})}}},
                {"intermediate", {{"x_codes", tensor<std::int8_t>("s8", {1, 2}, {127, -2})}}},
                {"outputs", {{"y", tensor<float>("f32", {1, 1}, {expected})}}}};
    }
    /// Two codes per byte in groups of 2: (127 * 7 - 2 * -8) * 0.5 + (0 * 1 + 4 * 2) * 2
    json group_case() {
        json c = row_case();
        c["name"] = "group";
        c["contract"] = "dynamic_group";
        c["params"]["group"] = 2;
        c["params"]["source_scale"] = "row";
        c["params"]["weight"] = "s4";
        c["inputs"] = {{"x", tensor<float>("f32", {1, 4}, {127.f, -2.f, 0.f, 4.f})},
                       {"w", tensor<std::uint8_t>("u8", {1, 2}, {0x87, 0x21})},
                       {"w_scale", tensor<float>("f32", {1, 2}, {0.5f, 2.f})}};
        c["intermediate"] = json::object();
        c["outputs"] = {{"y", tensor<float>("f32", {1, 1}, {468.5f})}};
        return c;
    }
    static json file(const std::vector<json> &cases) {
        return {{"format", "octet-dynamic-vectors 1"}, {"cases", cases}};
    }
};

TEST_F(CheckDynamicTest, ReplaysCases) {
    EXPECT_TRUE(check(write(file({row_case(), group_case()})))) << output;
    EXPECT_EQ(last_line(), "2 passed, 0 failed") << output;
}

TEST_F(CheckDynamicTest, NamesTheFirstDifference) {
    json wrong_codes = row_case();
    wrong_codes["intermediate"]["x_codes"] = tensor<std::int8_t>("s8", {1, 2}, {127, -3});
    EXPECT_FALSE(check(write(file({row_case(242.f), wrong_codes}))));
    EXPECT_NE(output.find("FAIL row: y[0] (0,0): expected 242, got 242.5"), std::string::npos) << output;
    EXPECT_NE(output.find("FAIL row: x_codes[1] (0,1): expected -3, got -2"), std::string::npos) << output;
}

TEST_F(CheckDynamicTest, UnknownContractsAndPartsThatDoNotFitAreNamed) {
    const std::vector<std::pair<std::string, json>> defects = {
        {"contract", "dynamic_column"},
        {"inputs/w/dims", json::array({2, 1})},
        {"inputs/w/dims", json::array({2})},
        {"inputs/x/dims", json::array({2})},
        {"inputs/bias/dims", json::array({1, 1})},
        {"inputs/w_scale/dims", json::array({1, 1})},
        {"inputs/w_scale", nullptr},
        {"params/group", 3},
        {"params/group", 0},
        {"params/clamp", json::array({0})},
        {"params/code", "s7"},
        {"outputs/y", nullptr},
    };
    for (const auto &[member, value] : defects) {
        blob.clear();
        json c = row_case();
        c[json::json_pointer("/" + member)] = value;
        const std::string text = complaint(write(file({c})));
        EXPECT_NE(text.find("cases[0]"), std::string::npos) << member << " = " << value << ": " << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
    json c = group_case();
    c["inputs"]["w"]["dims"] = json::array({2, 1});
    EXPECT_NE(complaint(write(file({c})))
                  .find("cases[0].inputs.w.dims is 2x1, which does not fit the other inputs and parameters"),
              std::string::npos);
    c = group_case();
    c["contract"] = "xnn_qd8_qb4w";
    c["params"] = {{"block", 2}};
    EXPECT_NE(complaint(write(file({c}))).find("is 2, allowed: multiples of 32 that divide 4"),
              std::string::npos);
    c = group_case();
    c["params"]["weight"] = "s3";
    EXPECT_NE(complaint(write(file({c}))).find("is 's3', allowed: s8, s4, u4"), std::string::npos);
}

} // namespace
} // namespace octet::vectors
