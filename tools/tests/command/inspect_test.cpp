// octet inspect: what it says of a network that runs, and of one that does not.
// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

using nlohmann::json;

class InspectTest : public CommandTest {
protected:
    /// The ONNX network with an operator that nobody has.
    std::string unknown_operator() const {
        std::string bytes = content_of(source_path("examples/digits/digits_int8.onnx"));
        const std::string name = "QLinearSoftmax", other = "QLinearSoftmux";
        for (std::size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name, at))
            bytes.replace(at, name.size(), other);
        write("unknown.onnx", bytes);
        return path("unknown.onnx");
    }
    static json inspected(const std::vector<std::string> &arguments) {
        std::vector<std::string> all = {"inspect", "--json"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const outcome got = octet(all);
        EXPECT_EQ(got.exit_code, 0) << got.err;
        EXPECT_EQ(got.err, "");
        return json::parse(got.out);
    }
};

TEST_F(InspectTest, TellsWhatIsInANetwork) {
    const json i = inspected({model, "--threads", "1", "--isa", "ref"});
    EXPECT_EQ(i["framework"], "tflite");
    EXPECT_EQ(i["threads"], 1);
    EXPECT_EQ(i["isa"], "ref");
    EXPECT_EQ(i["runs"], true);
    EXPECT_EQ(i["refusal"], nullptr);
    EXPECT_EQ(i["inputs"], json::parse(R"([{"index": 0, "name": "image", "type": "s8", "dims": [1, 8, 8, 1],
                                            "axes": [null, null, null, null],
                                            "scale": 0.0078125, "zero_point": -128}])"));
    EXPECT_EQ(i["outputs"][0]["dims"], json({1, 10}));
    int nodes = 0;
    for (const json &o : i["operators"])
        nodes += o["nodes"].get<int>();
    EXPECT_EQ(nodes, 12);
    EXPECT_EQ(i["operators"][0], json::parse(R"({"operator": "CONV_2D", "nodes": 4})"));
    EXPECT_GT(i["weights"]["bytes"], 3000);
    EXPECT_LE(i["activations"]["arena_bytes"], i["activations"]["separate_bytes"]);
    EXPECT_EQ(i["nodes"].size(), 11u) << "ADD is part of a convolution";
    EXPECT_EQ(i["nodes"][0]["implementation"], "ref");
    EXPECT_EQ(i["nodes"][2]["fused"], json({"ADD"}));
    EXPECT_EQ(i["nodes"][0]["outputs"][0]["zero_point"], -128);
    EXPECT_EQ(inspected({model, "--no-fusion"})["nodes"].size(), 12u);
    EXPECT_EQ(inspected({model, "--batch", "4"})["inputs"][0]["dims"], json({4, 8, 8, 1}));
}

/// A field of Protocol Buffers with these bytes.
std::string field(int number, const std::string &bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string field(int number, char value) { return std::string{static_cast<char>(number << 3), value}; }

/// y = Relu(x) of {n, s}, both open; the name of x has a newline.
TEST_F(InspectTest, TellsWhatIsOpen) {
    const std::string shape = field(1, field(2, "n")) + field(1, field(2, "s")),
                      type = field(2, field(1, field(1, 1) + field(2, shape)));
    const std::string graph = field(1, field(1, "a\nb") + field(2, "y") + field(4, "Relu")) + field(2, "g") +
                              field(11, field(1, "a\nb") + type) + field(12, field(1, "y") + type);
    write("open.onnx", field(1, 7) + field(7, graph) + field(8, field(2, 13)));
    const std::string file = (folder_ / "open.onnx").string();
    const json tensor = inspected({file, "--dimension", "s=3"})["inputs"][0];
    EXPECT_EQ(tensor["dims"], json({1, 3})) << "what it runs at";
    EXPECT_EQ(tensor["axes"], json({"n", "s"}));
    const outcome text = octet({"inspect", file, "--dimension", "s=3"});
    EXPECT_NE(text.out.find("('a?b') f32 1x3, open: n, s\n"), std::string::npos) << text.out;
    for (const char *given : {"a\nb=2x3", "a?b=2x3", "2x3"})
        EXPECT_EQ(inspected({file, "--shape", given})["inputs"][0]["dims"], json({2, 3})) << given;
}

TEST_F(InspectTest, TellsWhatIsRefused) {
    const std::string file = unknown_operator();
    const json i = inspected({file});
    EXPECT_EQ(i["runs"], false);
    EXPECT_NE(i["refusal"].get<std::string>().find("QLinearSoftmux"), std::string::npos) << i["refusal"];
    EXPECT_EQ(i["activations"], nullptr);
    EXPECT_EQ(i["outputs"][0]["dims"], json({1, 10})) << "as the file declares";
    EXPECT_EQ(i["nodes"].size(), 14u);
    for (const json &node : i["nodes"]) {
        const bool is_unknown = node["operator"] == "QLinearSoftmux";
        EXPECT_EQ(node["refused"], is_unknown) << node["operator"];
        EXPECT_EQ(node["reason"].is_null(), !is_unknown) << node["reason"];
        if (is_unknown) {
            EXPECT_EQ(node["reason"].get<std::string>().rfind("unsupported operators: node ", 0), 0u);
        }
        EXPECT_EQ(node["implementation"], nullptr);
    }
    const outcome text = octet({"inspect", file});
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_NE(text.out.find("it does not run: "), std::string::npos) << text.out;
    EXPECT_NE(text.out.find(" refused\n"), std::string::npos) << text.out;
}

TEST_F(InspectTest, TellsTheProfileInForceAndWhatAnotherChanges) {
    const auto text = [](const std::vector<std::string> &words) {
        std::vector<std::string> all = {"inspect", model};
        all.insert(all.end(), words.begin(), words.end());
        return octet(all).out;
    };
    const auto has = [](const std::string &out, const std::string &line) {
        EXPECT_NE(out.find(line), std::string::npos) << out;
    };
    has(text({}), "\n  tflm-90b983c  in force\n");
    has(text({}), "\n  litert-2026.08-x86  other arithmetic for ");
    const std::string out = text({});
    std::istringstream lines(out.substr(out.find("\nprofiles\n"))); // above it stands the file's name
    for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), 110u) << line;
    const std::string both = "litert-2026.08-arm64+litert-2026.08-x86";
    has(text({"--profile", both}), "\n  " + both + "  in force\n");
    has(text({"--profile", both}), "\n  tflm-90b983c  other arithmetic for ");

    const json object = json::parse(octet({"inspect", model, "--json"}).out);
    EXPECT_EQ(object["profile"], "tflm-90b983c");
    EXPECT_GE(object["profiles"].size(), 5u);
    for (const json &other : object["profiles"]) {
        const auto &changes = other["changes"];
        EXPECT_EQ(std::find(changes.begin(), changes.end(), "CONV_2D") == changes.end(),
                  other["profile"] == "litert-builtin-ref")
            << other;
    }
}

TEST_F(InspectTest, RowsAreAlikeWhereThatWasAskedFor) {
    const std::string onnx = source_path("examples/digits/digits_int8.onnx");
    const auto said = [](const std::vector<std::string> &arguments) {
        const outcome text = octet(arguments);
        std::vector<std::string> as_json = arguments;
        as_json.push_back("--json");
        const bool are_alike = json::parse(octet(as_json).out)["rows_alike"].get<bool>();
        EXPECT_EQ(text.out.find(", rows alike, ") != std::string::npos, are_alike) << text.out;
        EXPECT_EQ(text.out.find(", single rows as in ONNX Runtime, ") != std::string::npos, !are_alike)
            << text.out;
        return are_alike;
    };
    EXPECT_FALSE(said({"inspect", onnx}));
    EXPECT_TRUE(said({"inspect", onnx, "--rows-alike"}));
    ASSERT_EQ(octet({"save", onnx, path("plan.octet"), "--rows-alike"}).exit_code, 0);
    EXPECT_TRUE(said({"inspect", path("plan.octet")}));
    EXPECT_TRUE(json::parse(octet({"inspect", model, "--json"}).out)["rows_alike"].get<bool>());
}

TEST_F(InspectTest, PassesAreOfOnnxFiles) {
    ASSERT_EQ(octet({"save", model, filled_in("D/plan.octet")}).exit_code, 0);
    expect_refusals(
        {{{"inspect", "M", "--passes"},
          "--passes: " + model + " is of tflite, the passes are ONNX Runtime's; allowed: an .onnx file"},
         {{"inspect", "D/plan.octet", "--passes"},
          "--passes: D/plan.octet is a plan of octet save, which keeps no list of them; allowed: an "
          ".onnx file"},
         {{"inspect", "M", "--passes", "--json"}, "--json excludes --passes (see octet inspect --help)"}});
    const outcome onnx = octet({"inspect", source_path("examples/digits/digits_int8.onnx"), "--passes"});
    EXPECT_EQ(onnx.exit_code, 0);
    EXPECT_NE(onnx.out, "");
}

TEST_F(InspectTest, RefusesWhatItCannotRead) {
    expect_refusals({{{"inspect"}, "MODEL is required (see octet inspect --help)"},
                     {{"inspect", "D/absent"}, "D/absent: does not exist"},
                     {{"inspect", "D/short.onnx", "--json"}, "D/short.onnx: …"}});
}

} // namespace
} // namespace octet::tests
