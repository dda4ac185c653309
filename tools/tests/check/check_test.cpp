// `octet check`: small files made here, passing, failing, hostile; then the example's goldens.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <CLI/CLI.hpp>

#include "commands/commands.hpp"
#include "support/levels.hpp"
#include "support/paths.hpp"
#include "tools/tests/check/check_fixture.hpp"

namespace octet::vectors {
namespace {

TEST_F(CheckTest, ReplaysTfliteOperator) {
    EXPECT_TRUE(check(write(tflite_file({fully_connected_case()}))));
    EXPECT_EQ(last_line(), "1 passed, 0 failed");
}

TEST_F(CheckTest, WrongByteIsNamedWithBothValues) {
    json one = fully_connected_case(), other = fully_connected_case(6);
    other["name"] = "other";
    EXPECT_FALSE(check(write(tflite_file({one, other}))));
    EXPECT_NE(output.find("FAIL other: output[0] (0,0): expected 6, got 5 (1 of 1 elements differ)"),
              std::string::npos)
        << output;
    EXPECT_EQ(last_line(), "1 passed, 1 failed");
}

TEST_F(CheckTest, RecordedMultiplierIsComparedWithTheDerivedOne) {
    json c = fully_connected_case();
    c["params"]["multiplier"][0] = (1 << 30) + 1;
    EXPECT_FALSE(check(write(tflite_file({c}))));
    EXPECT_NE(output.find("FAIL fc: multiplier[0]: recorded 1073741825 * 2^(0 - 31), derived from the scales "
                          "1073741824 * 2^(0 - 31)"),
              std::string::npos)
        << output;
}

TEST_F(CheckTest, RecordedClampIsComparedWithTheDerivedOne) {
    json c = fully_connected_case();
    c["params"]["activation"] = "RELU";
    EXPECT_FALSE(check(write(tflite_file({c}))));
    EXPECT_NE(output.find("recorded [-128, 127], derived from the scales [0, 127]"), std::string::npos)
        << output;
}

TEST_F(CheckTest, UnknownOperatorIsSkippedByName) {
    json unknown = fully_connected_case();
    unknown["op"] = "FROBNICATE";
    EXPECT_TRUE(check(write(tflite_file({fully_connected_case(), unknown}))));
    EXPECT_NE(output.find("FROBNICATE            0       0        1  Octet does not execute this operator"),
              std::string::npos)
        << output;
    EXPECT_EQ(last_line(), "1 passed, 0 failed, 1 skipped");
}

TEST_F(CheckTest, CaseThatTheLibraryRefusesFails) {
    json c = fully_connected_case();
    c["inputs"][1]["dims"] = {2, 1}; // weights that do not fit
    c["outputs"][0]["name"] = "line\nbreak";
    EXPECT_FALSE(check(write(tflite_file({c}))));
    EXPECT_EQ(last_line(), "0 passed, 1 failed");
}

TEST_F(CheckTest, OnlyTheSelectedOperatorIsReplayed) {
    json wrong = fully_connected_case(6), other = fully_connected_case();
    wrong["op"] = "SVDF";
    options opt;
    opt.op = "FULLY_CONNECTED";
    const std::string path = write(tflite_file({wrong, other}));
    EXPECT_TRUE(check(path, opt));
    EXPECT_EQ(last_line(), "1 passed, 0 failed");
    opt.op = "SUB";
    EXPECT_THROW(check(path, opt), error);
}

json ort_file(const std::vector<json> &cases) { return {{"generator", "by hand"}, {"cases", cases}}; }

TEST_F(CheckTest, ReplaysOrtOperatorsWithTheBlobOfTheSameName) {
    const json c = {{"op", "MatMulInteger"},
                    {"params", {{"a_zero_point", 1}, {"b_zero_point", {0, -1}}}},
                    {"tensors",
                     {{"a", tensor<std::uint8_t>("u8", {1, 2}, {3, 255})},
                      {"b", tensor<std::int8_t>("s8", {2, 2}, {1, 2, -128, 4})},
                      {"y", tensor<std::int32_t>("s32", {1, 2}, {2 * 1 - 254 * 128, 2 * 3 + 254 * 5})}}}};
    const json unknown = {
        {"op", "QLinearFrobnicate"}, {"params", json::object()}, {"tensors", json::object()}};
    EXPECT_TRUE(check(write(ort_file({c, unknown}), "renamed")));
    EXPECT_EQ(last_line(), "1 passed, 0 failed, 1 skipped");
}

TEST_F(CheckTest, ReplaysOrtConvolutionWithOneScalePerChannel) {
    // (3 - 1) * 2 + bias 1 = 5; factors 1/2 and 2
    const json c = {{"op", "QLinearConv"},
                    {"params",
                     {{"x_scale", "0x1p-1"},
                      {"x_zero_point", 1},
                      {"w_scale", {"0x1p+0", "0x1p+2"}},
                      {"w_zero_point", 0},
                      {"y_scale", "0x1p+0"},
                      {"y_zero_point", 10},
                      {"strides", {1}},
                      {"pads", {0, 0}},
                      {"dilations", {1}},
                      {"group", 1},
                      {"kernel_shape", {1}}}},
                    {"tensors",
                     {{"x", tensor<std::uint8_t>("u8", {1, 1, 1}, {3})},
                      {"w", tensor<std::int8_t>("s8", {2, 1, 1}, {2, 2})},
                      {"bias", tensor<std::int32_t>("s32", {2}, {1, 1})},
                      {"y", tensor<std::uint8_t>("u8", {1, 2, 1}, {12, 21})}}}}; // 2.5 rounds to even, 10
    EXPECT_FALSE(check(write(ort_file({c}))));
    EXPECT_NE(output.find("FAIL QLinearConv_0: y[1] (0,1,0): expected 21, got 20 (1 of 2 elements differ)"),
              std::string::npos)
        << output;
}

json requantization_vector(const std::string &mode, std::int32_t acc, std::int32_t expected) {
    return {{"mode", mode},
            {"acc", acc},
            {"real_multiplier_hex", "0x1p-2"},
            {"quantized_multiplier", 1 << 30},
            {"shift", -1},
            {"zero_point", 3},
            {"clamp_min", -128},
            {"clamp_max", 127},
            {"expected", expected}};
}

TEST_F(CheckTest, ReplaysRequantizationVectors) {
    json wrong_multiplier = requantization_vector("tflite_1step", 8, 5);
    wrong_multiplier["shift"] = -2;
    const json derivation = {{"input_scale_hex", "0x1p+0"},
                             {"weight_scale_hex", "0x1p+0"},
                             {"output_scale_hex", "0x1p+2"},
                             {"tflite_f64", nullptr},
                             {"tflite_f32prod", nullptr},
                             {"caffe2_f32", nullptr},
                             {"ort_f32", {{"real_multiplier_hex", "0x1p-2"}}}};
    const json file = {
        {"vectors",
         {requantization_vector("tflite_2step", 1, 4), requantization_vector("tflite_1step", 1, 3),
          requantization_vector("tflite_1step", 1, 4), wrong_multiplier}},
        {"derivations", {derivation}},
        {"primitives", {{{"fn", "rdivpot"}, {"a", -1}, {"b", 1}, {"expected", -1}}, {{"fn", "unknown"}}}}};
    EXPECT_FALSE(check(write(file)));
    EXPECT_NE(output.find("vectors[2] (tflite_1step): reorder: accumulator 1: expected 4, got 3"),
              std::string::npos);
    EXPECT_NE(output.find(
                  "vectors[3] (tflite_1step): multiplier and shift: recorded (1073741824, -2), derived from "
                  "the real factor (1073741824, -1)"),
              std::string::npos)
        << output;
    options opt;
    opt.op = "derivation ort_f32";
    EXPECT_TRUE(check(write(file), opt));
    EXPECT_EQ(last_line(), "1 passed, 0 failed");
}

// ---- Networks: the example's own.

class CheckModelTest : public CheckTest {
protected:
    CheckModelTest() {
        const fs::path digits = fs::path(tests::source_path("examples/digits"));
        for (const char *name : {"digits_golden.bin", "digits_int8.tflite"})
            fs::copy(digits / name, folder);
        std::ifstream(digits / "digits_golden.json") >> goldens;
    }
    std::string write_goldens() { return write_text("goldens.json", goldens.dump()); }

    json goldens;
};

TEST_F(CheckModelTest, ReplaysEveryRun) {
    EXPECT_TRUE(check(write_goldens()));
    EXPECT_EQ(last_line(), std::to_string(goldens["models"][0]["runs"].size()) + " passed, 0 failed");
}

TEST_F(CheckModelTest, FirstFaultyOperatorIsNamed) {
    json &operators = goldens["models"][0]["runs"][1]["op_outputs"];
    operators[2]["crc32"] = "00000000";
    operators[3]["crc32"] = "00000000";
    EXPECT_FALSE(check(write_goldens()));
    EXPECT_NE(output.find("node 2 (CONV_2D)"), std::string::npos) << output;
    EXPECT_NE(output.find("expected CRC-32 00000000, got "), std::string::npos) << output;
    EXPECT_EQ(output.find("node 3"), std::string::npos) << output;
}

TEST_F(CheckModelTest, AbsentModelIsSkipped) {
    fs::remove(folder / "digits_int8.tflite");
    EXPECT_TRUE(check(write_goldens()));
    EXPECT_EQ(last_line(),
              "0 passed, 0 failed, " + std::to_string(goldens["models"][0]["runs"].size()) + " skipped");
}

TEST_F(CheckModelTest, DamagedModelFails) {
    fs::resize_file(folder / "digits_int8.tflite", 5000);
    EXPECT_FALSE(check(write_goldens()));
}

TEST_F(CheckModelTest, GoldensThatDoNotFitTheModelAreRefused) {
    const std::string run = "models[0].runs[0].";
    const std::vector<std::pair<std::string, json>> defects = {
        {"op_outputs/0/op_index", 1000},   {"op_outputs/0/output_tensor", -1},
        {"op_outputs/1/output_tensor", 0}, {"inputs/0/tensor", 1 << 30},
        {"outputs/0/nbytes", 1},           {"op_outputs/0/crc32", 7},
    };
    const json intact = goldens;
    for (const auto &[member, value] : defects) {
        goldens = intact;
        goldens[json::json_pointer("/models/0/runs/0/" + member)] = value;
        EXPECT_NE(complaint(write_goldens()).find(run), std::string::npos)
            << member << ": " << complaint(write_goldens());
    }
}

// ---- Files that are not what they say.

TEST_F(CheckTest, HostileFieldsAreNamed) {
    const std::vector<std::pair<std::string, json>> defects = {
        {"inputs/0/offset", 1000000},
        {"inputs/0/offset", -1},
        {"inputs/0/offset", 1.5},
        {"inputs/0/nbytes", std::numeric_limits<std::uint64_t>::max()},
        {"inputs/0/nbytes", 1},
        {"inputs/0/nbytes", "2"},
        {"inputs/0/dims", json::array({1LL << 62, 1LL << 62, 4})},
        {"inputs/0/dims", json::array({0, 1LL << 62, 1LL << 62})},
        {"inputs/0/dims", json::array({1, -2})},
        {"inputs/0/dims", json::array({1, 1, 1, 1, 1, 1, 2})},
        {"inputs/0/dims", "1x2"},
        {"inputs/0/dtype", "f16"},
        {"inputs/0/dtype", nullptr},
        {"inputs/0/scale", "0x1p-1 "},
        {"inputs/0/scale", json::object()},
        {"inputs/0/scale", "0x0p+0"},
        {"inputs/0/scale", "-inf"},
        {"inputs/0/zero_point", 1LL << 40},
        {"outputs/0/zero_point", json::array()},
        {"outputs/0/zero_point", json::array({0, 0})},
        {"inputs", nullptr},
        {"outputs", 3},
        {"op", json::array()},
        {"params/multiplier", json::array({1, 2, 3})},
        {"params/shift", "none"},
        {"params/activation", 0},
    };
    for (const auto &[member, value] : defects) {
        blob.clear();
        json c = fully_connected_case();
        c[json::json_pointer("/" + member)] = value;
        const std::string text = complaint(write(tflite_file({c})));
        EXPECT_NE(text.find("cases[0]"), std::string::npos) << member << " = " << value << ": " << text;
        EXPECT_EQ(text.find('\n'), std::string::npos);
    }
}

TEST_F(CheckTest, BlobThatIsTooShortIsRefused) {
    const std::string path = write(tflite_file({fully_connected_case()}));
    fs::resize_file(folder / "any name.blob", 3);
    EXPECT_NE(complaint(path).find("cases[0].inputs[1] lies at bytes 2 + 2, but the blob has 3"),
              std::string::npos)
        << complaint(path);
    fs::remove(folder / "any name.blob");
    EXPECT_NE(complaint(path).find("does not exist"), std::string::npos);
    fs::create_directory(folder / "any name.blob");
    EXPECT_NE(complaint(path).find("is a directory"), std::string::npos);
}

TEST_F(CheckTest, FilesOfNoKnownKindAreRefused) {
    EXPECT_NE(complaint((folder / "absent.json").string()).find("does not exist"), std::string::npos);
    EXPECT_NE(complaint(folder.string()).find("is a directory"), std::string::npos);
    for (const char *text :
         {"", "{", "[]", "7", "{\"format\":\"int8-op-vectors/1\"", "\xff\xfe", "{\"a\": 1}",
          "{\"format\": 7}", "{\"format\": \"other/1\"}", "{\"generator\": 1}", "{\"vectors\": 1}",
          "{\"vectors\": [{\"mode\": \"unknown\"}]}", "{\"generator\": 1, \"cases\": [], \"blob\": 3}"}) {
        const std::string said = complaint(write_text("file.json", text));
        EXPECT_EQ(said.rfind((folder / "file.json").string() + ": ", 0), 0u) << text << ": " << said;
        EXPECT_EQ(said.find('\n'), std::string::npos);
        EXPECT_EQ(said.find("json.exception"), std::string::npos);
    }
    EXPECT_NE(complaint(write_text("lines.json", "{\"a\": 1,\n \"b\": }")).find("line 2, column 7"),
              std::string::npos);
    EXPECT_NE(complaint(write_text("number.json", "{\"a\": 1e999}")).find("out of range"), std::string::npos);
    EXPECT_NE(complaint(write_text("deep.json", std::string(100000, '['))).find("is not JSON"),
              std::string::npos);
}

// ---- Options.

TEST_F(CheckTest, ImplementationIsCheckedAgainstTheRequest) {
    EXPECT_EQ(implementation_complaint(implementation::any, "ref", ""), "");
    EXPECT_EQ(implementation_complaint(implementation::ref, "ref", ""), "");
    EXPECT_EQ(implementation_complaint(implementation::jit, "jit:dot/avx2", ""), "");
    EXPECT_EQ(implementation_complaint(implementation::jit, "view", ""), "");
    EXPECT_EQ(implementation_complaint(implementation::jit, "ref", "jit:dot: no AVX2"),
              "runs on ref, not on jit; jit:dot: no AVX2");
    EXPECT_NE(implementation_complaint(implementation::ref, "jit:dot/avx2", ""), "");
    options opt;
    opt.impl = implementation::ref;
    EXPECT_TRUE(check(write(tflite_file({fully_connected_case()})), opt));
}

TEST_F(CheckTest, IsaLevelHoldsForTheReplayOnly) {
    const std::string path = write(tflite_file({fully_connected_case()}));
    const cpu_isa before = get_effective_cpu_isa();
    options opt;
    opt.isa = "ref";
    EXPECT_TRUE(check(path, opt));
    opt.isa = "avx9";
    EXPECT_THROW(check(path, opt), error);
    EXPECT_EQ(get_effective_cpu_isa(), before);
}

TEST_F(CheckTest, CommandEndsWithOneIfACaseFailsAndTwoIfTheFileIsMalformed) {
    const auto run = [](const std::string &path) {
        CLI::App app;
        tools::add_check_command(app);
        testing::internal::CaptureStdout();
        int code = 0;
        try {
            app.parse("check '" + path + "' --impl ref --verbose");
        } catch (const CLI::RuntimeError &verdict) {
            code = verdict.get_exit_code();
        } catch (const error &) {
            code = 2; // as main does
        }
        testing::internal::GetCapturedStdout();
        return code;
    };
    EXPECT_EQ(run(write(tflite_file({fully_connected_case()}), "right")), 0);
    EXPECT_EQ(run(write(tflite_file({fully_connected_case(), fully_connected_case(6)}), "wrong")), 1);
    EXPECT_EQ(run(write(tflite_file({3}), "malformed")), 2);
}

} // namespace
} // namespace octet::vectors
