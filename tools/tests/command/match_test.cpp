// octet match: inputs are proposed, a device answers, its contracts are named; and what it says to those who
// ask wrongly.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "files/npy.hpp"
#include "octet/requantization.hpp"
#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

using nlohmann::json;

class MatchTest : public CommandTest {
protected:
    static constexpr const char *description =
        R"({"kind": "requantize", "inputs": [{"type": "s8", "scale": 0.5},
        {"type": "s8", "scale": 0.125}], "output": {"type": "s8", "scale": 1, "zero_point": 1}})";

    MatchTest() { write("op.json", description); }

    static json object(std::vector<std::string> arguments, int exit_code = 0) {
        arguments.push_back("--json");
        const outcome got = octet(arguments);
        EXPECT_EQ(got.exit_code, exit_code) << got.err;
        return json::parse(got.out, nullptr, false);
    }
    std::vector<std::int32_t> proposed(const std::string &file) const {
        const std::string bytes = content_of(path(file));
        const tools::array a = tools::parse_npy({bytes.begin(), bytes.end()}, file);
        EXPECT_EQ(a.type.text(), "int32");
        std::vector<std::int32_t> sums(a.bytes.size() / 4);
        std::memcpy(sums.data(), a.bytes.data(), a.bytes.size());
        return sums;
    }
    void write_npy(const std::string &name, const tools::array &a) const { write(name, tools::npy_text(a)); }
    /// (acc + 8) >> 4: one rounding, ties up.
    void write_answer(const std::string &name, int wrong = 0) const {
        tools::array y{{'i', 1}, {}, {}};
        for (const std::int32_t acc : proposed("in/acc.npy")) {
            const std::int64_t code = ((std::int64_t{acc} + 8) >> 4) + 1 + wrong;
            y.bytes.push_back(
                static_cast<std::uint8_t>(std::min<std::int64_t>(std::max<std::int64_t>(code, -128), 127)));
        }
        y.dims = {static_cast<dim_t>(y.bytes.size())};
        write_npy(name, y);
    }
    std::vector<std::string> question(const std::string &outputs) const {
        return {"match", path("op.json"), "--inputs", path("in"), "--outputs", path(outputs)};
    }
    static std::vector<std::string> names(const json &found) {
        std::vector<std::string> contracts;
        for (const json &c : found["consistent"])
            contracts.push_back(c["contract"]);
        return contracts;
    }
};

TEST_F(MatchTest, NamesTheContractOfADevice) {
    const json made = object({"match", path("op.json"), "--propose", "64", "--inputs", path("in")});
    EXPECT_EQ(made["files"], json({path("in/acc.npy")}));
    EXPECT_EQ(made["results"], 64);
    EXPECT_EQ(made["output"], json::parse(R"({"type": "s8", "dims": [64]})"));
    write_answer("y.npy");
    const json found = object(question("y.npy"));
    const std::vector<std::string> contracts = names(found);
    for (const char *right : {"tflite_1step", "tflite_single_rounding"})
        EXPECT_NE(std::find(contracts.begin(), contracts.end(), right), contracts.end()) << right;
    for (const char *wrong : {"tflite_2step", "f32", "ort_f32", "qnnpack_avgpool"})
        EXPECT_EQ(std::find(contracts.begin(), contracts.end(), wrong), contracts.end()) << wrong;
    EXPECT_EQ(found["excluded"].size() + found["consistent"].size() + found["refused"].size(),
              found["refused"].size() + contracts.size() + found["excluded"].size());
    for (const json &e : found["excluded"]) {
        EXPECT_NE(e["expected"], e["got"]);
        EXPECT_EQ(e["inputs"].get<std::string>().rfind("acc = ", 0), 0u) << e["inputs"];
    }
    const outcome text = octet(question("y.npy"));
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_EQ(text.out.rfind("consistent with 64 results:\n", 0), 0u) << text.out;
}

TEST_F(MatchTest, GivesNoNameToAnArithmeticThatNobodyHas) {
    EXPECT_EQ(octet({"match", path("op.json"), "--propose", "64", "--inputs", path("in")}).exit_code, 0);
    write_answer("y.npy", 1);
    EXPECT_EQ(names(object(question("y.npy"), 1)), std::vector<std::string>());
    const outcome text = octet(question("y.npy"));
    EXPECT_EQ(text.exit_code, 1);
    EXPECT_EQ(text.out.rfind("none of these contracts gives the 64 results\n", 0), 0u) << text.out;
}

TEST_F(MatchTest, PageOfContractsIsWhatTheTablesSay) {
    expect_refusals({
        {{"match", "--registry", "D/op.json"}, "DESCRIPTION excludes --registry (see octet match --help)"},
        {{"match", "--registry", "--json"}, "--registry excludes --json (see octet match --help)"},
    });
    const outcome printed = octet({"match", "--registry"});
    EXPECT_EQ(printed.exit_code, 0);
    const std::string page = content_of(source_path("doc/contracts.md")),
                      mark = "`octet match --registry`. -->\n\n";
    const std::size_t begin = page.find(mark);
    ASSERT_NE(begin, std::string::npos);
    EXPECT_TRUE(page.substr(begin + mark.size()) == printed.out)
        << "print it anew: octet match --registry, behind the mark in doc/contracts.md";
    for (const requantization_rule rule : all_requantization_rules())
        if (rule != requantization_rule::automatic && rule != requantization_rule::none) {
            const std::size_t section = printed.out.find(std::string("### `") + to_string(rule) + "`");
            ASSERT_NE(section, std::string::npos) << to_string(rule);
            EXPECT_NE(printed.out.find("- Used by: ", section), std::string::npos) << to_string(rule);
        }
}

TEST_F(MatchTest, TakesAFileWithOneOperator) {
    expect_refusals({{{"match", "M", "--propose", "64"},
                      model + ": has 12 operators, 1 inputs and 1 outputs, allowed: one operator with inputs "
                              "and one output"}});
}

TEST_F(MatchTest, RefusesWhatItCannotJudge) {
    write("nothing.json", "{}");
    expect_refusals(
        {{{"match", "D/nothing.json", "--propose", "64"}, "D/nothing.json: key 'kind' is missing"}});
    EXPECT_EQ(octet({"match", path("op.json"), "--propose", "64", "--inputs", path("in")}).exit_code, 0);
    std::vector<std::uint8_t> floats(64 * 4);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(floats.data() + 20, &nan, 4);
    write_npy("nan.npy", {{'f', 4}, {64}, floats});
    floats[20] = floats[21] = floats[22] = floats[23] = 0;
    write_npy("float.npy", {{'f', 4}, {64}, floats});
    write_npy("short.npy", {{'i', 1}, {63}, std::vector<std::uint8_t>(63)});
    write_npy("u8.npy", {{'u', 1}, {64}, std::vector<std::uint8_t>(64)});
    fs::create_directories(folder_ / "few");
    write_npy("few/acc.npy", {{'i', 4}, {3}, std::vector<std::uint8_t>(12)});
    write_npy("three.npy", {{'i', 1}, {3}, std::vector<std::uint8_t>(3)});
    write("kind.json", R"({"kind": "nosuch"})");
    write("key.json", R"({"kind": "add", "colour": 1})");
    write("scale.json",
          R"({"kind": "requantize", "inputs": [{"type": "s8", "scale": 0}, {"type": "s8", "scale": 1}],
                            "output": {"type": "s8", "scale": 1}})");
    write("zero.json", R"({"kind": "tanh", "inputs": [{"type": "s8", "scale": 1, "zero_point": 200}],
                           "output": {"type": "s8", "scale": 1}})");
    write("few.json",
          R"({"kind": "add", "inputs": [{"type": "s8", "scale": 1}], "output": {"type": "s8", "scale": 1}})");
    write(
        "count.json",
        R"({"kind": "mean", "inputs": [{"type": "s8", "scale": 1}], "output": {"type": "s8", "scale": 1}})");
    const auto ask = [&](const std::string &outputs) { return question(outputs); };
    expect_refusals({
        {ask("nan.npy"), "outputs: element 5 is NaN, allowed: codes of type s8"},
        {ask("float.npy"), "outputs: type f32, allowed: s8, the type of the description"},
        {ask("u8.npy"), "outputs: type u8, allowed: s8, the type of the description"},
        {ask("short.npy"), "outputs: dimensions 63, allowed: 64, a row for each row of the inputs"},
        {{"match", "D/op.json", "--inputs", "D/few", "--outputs", "D/three.npy"},
         "outputs: 3 results are too few for a verdict, allowed: at least 16"},
        {ask("nosuch.npy"), "D/nosuch.npy: …"},
        {ask("op.json"), "D/op.json: …"},
        {{"match", "D/op.json", "--inputs", "D/nosuch", "--outputs", "D/u8.npy"}, "D/nosuch/acc.npy: …"},
        {{"match", "D/op.json", "--propose", "15"},
         "--propose: '15' given, allowed: 16 to 1024 (see octet match --help)"},
        {{"match", "D/op.json", "--propose", "1025"},
         "--propose: '1025' given, allowed: 16 to 1024 (see octet match --help)"},
        {{"match", "D/op.json"}, "either --propose or --outputs is required (see octet match --help)"},
        {{"match"}, "DESCRIPTION is required (see octet match --help)"},
        {{"match", "D/kind.json", "--propose", "64"},
         "D/kind.json: kind 'nosuch', allowed: requantize, product, …"},
        {{"match", "D/key.json", "--propose", "64"}, "D/key.json: key 'colour', allowed: kind, inputs, …"},
        {{"match", "D/scale.json", "--propose", "64"},
         "D/scale.json: inputs[0]: scale is 0, allowed: a positive finite number"},
        {{"match", "D/zero.json", "--propose", "64"},
         "D/zero.json: inputs[0]: zero_point is 200, allowed: -128 to 127"},
        {{"match", "D/few.json", "--propose", "64"},
         "D/few.json: inputs has 1 entries, allowed for kind add: 2"},
        {{"match", "D/count.json", "--propose", "64"},
         "D/count.json: key 'count' is missing: how many codes a row of kind mean has"},
        {{"match", "D/empty", "--propose", "64"}, "D/empty: is no JSON"},
    });
}

class MatchNetworkTest : public MatchTest {
protected:
    /// Writes the inputs and results of a device with rule ort_f32.
    void write_device(const std::string &folder) const {
        fs::create_directories(folder_ / folder);
        std::vector<std::uint8_t> pixels;
        for (int i = 0; i < 64 * 8; i++)
            pixels.push_back(static_cast<std::uint8_t>(i * 37 % 251));
        write_npy(folder + "/input_0.npy", {{'i', 1}, {8, 8, 8, 1}, pixels});
        const outcome ran = octet({"run", model, "--batch", "8", "--rule", "ort_f32", "--input",
                                   path(folder + "/input_0.npy"), "--output-dir", path(folder), "--format",
                                   "npy", "--repeat", "1"});
        EXPECT_EQ(ran.exit_code, 0) << ran.err;
    }
    std::vector<std::string> question(const std::string &folder) const {
        return {"match-network", model, "--batch", "8", "--outputs", path(folder)};
    }
};

TEST_F(MatchNetworkTest, NamesWhatGivesTheOutputs) {
    write_device("device");
    const json found = object(question("device"));
    const std::vector<std::string> equal = found["equal"];
    EXPECT_NE(std::find(equal.begin(), equal.end(), "ort_f32"), equal.end());
    EXPECT_GE(found["profiles"].size(), 15u);
    std::map<std::string, json> by_name;
    for (const json &profile : found["profiles"])
        by_name[profile["profile"]] = profile;
    for (const char *name : {"litert-2026.08-x86", "litert-2026.08-arm64", "litert-2026.08-arm64-gcc"}) {
        EXPECT_TRUE(by_name[name]["refusal"].is_null()) << name;
        EXPECT_EQ(by_name[name]["compared"], 80) << name;
    }
    EXPECT_EQ(by_name.count("litert-2026.08-arm64+litert-2026.08-x86"), 0u) << "nothing needs a substitute";
    EXPECT_EQ(found["profiles"][0]["compared"], 80);

    std::string output = content_of(path("device/output_0.npy"));
    output.back() = static_cast<char>(output.back() ^ 64);
    write("device/output_0.npy", output);
    const json none = object(question("device"), 1);
    EXPECT_EQ(none["equal"], json::array());
    for (const json &profile : none["profiles"])
        EXPECT_TRUE(!profile["refusal"].is_null() ||
                    profile["first"].get<std::string>().find("the first at [") != std::string::npos)
            << profile;
    EXPECT_EQ(octet(question("device")).out.rfind("none is equal; the nearest are first\n", 0), 0u);
}

TEST_F(MatchNetworkTest, RefusesTensorsOfAnotherKind) {
    write_device("device");
    write_npy("device/tensor_1.npy", {{'i', 1}, {3}, std::vector<std::uint8_t>(3)});
    expect_refusals({{question("device"), "D/device/tensor_1.npy: holds s8 3, allowed: …"},
                     {question("nosuch"), "--outputs: 'D/nosuch' given, allowed: …"},
                     {{"match-network", "M"}, "--outputs is required (see octet match-network --help)"}});
}

TEST_F(MatchNetworkTest, ComparesTwoProfilesOnAPage) {
    write_device("device");
    write_npy("labels.npy", {{'i', 4}, {8}, std::vector<std::uint8_t>(32)});
    const std::vector<std::string> request = {"compare-profiles",
                                              model,
                                              "tflite_2step",
                                              "ort_f32",
                                              "-o",
                                              path("page.html"),
                                              "--batch",
                                              "8",
                                              "--input",
                                              path("device/input_0.npy"),
                                              "--labels",
                                              path("labels.npy")};
    const json compared = object(request);
    EXPECT_EQ(compared["operators"].size(), 12u);
    EXPECT_EQ(compared["rows"], 8);
    EXPECT_EQ(compared["right"].size(), 2u);
    std::size_t different = 0;
    for (const json &o : compared["operators"])
        different += o["different"].get<std::size_t>();
    EXPECT_GT(different, 0u);
    const std::string page = content_of(path("page.html"));
    EXPECT_NE(page.find("node 0 (CONV_2D)"), std::string::npos);
    EXPECT_NE(page.find("<rect "), std::string::npos) << "a map of where codes differ";
    for (const char *remote : {"http", "src=", "href=", "url(", "@import"})
        EXPECT_EQ(page.find(remote), std::string::npos) << remote;
    const json same = object({"compare-profiles", model, "ort_f32", "ort_f32", "-o", path("page.html")});
    for (const json &o : same["operators"])
        EXPECT_EQ(o["different"], 0);
    for (const char *arm :
         {"litert-2026.08-arm64", "litert-2026.08-arm64-gcc", "litert-2026.08-arm64+exact-f32"}) {
        const json machines =
            object({"compare-profiles", model, arm, "litert-2026.08-x86", "-o", path("page.html")});
        EXPECT_EQ(machines["operators"].size(), 12u) << arm;
    }
    const outcome table = octet({"compare-profiles", model, "tflite_2step", "ort_f32"});
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_NE(table.out.find("node 0 (CONV_2D)"), std::string::npos) << table.out;
    EXPECT_EQ(table.out.find("wrote"), std::string::npos) << table.out;
    expect_refusals(
        {{{"compare-profiles", "M", "litert-2026.08-arm64+nosuch", "ort_f32", "-o", "D/p.html"},
          "there is no profile 'nosuch'; the closest are …"},
         {{"compare-profiles", "M", "nosuch", "ort_f32", "-o", "D/p.html"},
          "profile 'nosuch', allowed for networks of tflite: …"},
         {{"compare-profiles", "M", "ort_f32", "ort_f32", "-o", "D/folder"}, "D/folder: …"},
         {{"compare-profiles", "M", "ort_f32", "ort_f32", "-o", "D/p.html", "--labels", "D/labels.npy"},
          "labels: 8 given, allowed: 1, one for each row of the output"}});
}

} // namespace
} // namespace octet::tests
