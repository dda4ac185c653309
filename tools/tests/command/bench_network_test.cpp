// octet bench --network: what it makes of given times, its rows and keys, and how it talks to a baseline,
// whose package is a stub here.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include <nlohmann/json.hpp>

#include "bench/difference_reason.hpp"
#include "bench/measured_network.hpp"
#include "network/tests/one_node.hpp"
#include "support/paths.hpp"
#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

using namespace octet::tools;
using strings = std::vector<std::string>;
using nlohmann::json;

const std::string onnx_model = source_path("examples/digits/digits_int8.onnx");

TEST(BenchNetwork, ProblemsAreFoundInExplanations) {
    EXPECT_EQ(problems_of("matmul src:u8:4x32:ab\n  runs on jit:dot\n  plan: tiles\n  refused by ref: slow\n"
                          "reorder src:f32:4:a\n  runs on ref"),
              (strings{"matmul src:u8:4x32:ab", "reorder src:f32:4:a"}));
    EXPECT_EQ(problems_of("a plain loop over the elements"), strings{});
    EXPECT_EQ(problems_of(""), strings{});
}

/// 100 operations in 4 s, bound by 1 s of products; 300 in 6 s, bound by 4 s of reading. The peak is 100 per second.
TEST(BenchNetwork, SumsOfLayersAddTimesAndBounds) {
    measurement first, second;
    first.what.operations = 100;
    first.time = summarize({4});
    first.peak = second.peak = 100;
    first.best = {1, 0.5, 0.25};
    second.what.operations = 300;
    second.time = summarize({5, 6, 7});
    second.best = {3, 4, 2};
    const measurement sum = sum_of({first, second}, "both");
    EXPECT_EQ(sum.what.name, "both");
    EXPECT_EQ(sum.time.median, 10);
    EXPECT_EQ(sum.time.minimum, 9);
    EXPECT_EQ(sum.peak, 100);
    EXPECT_EQ(sum.share_of_peak(), 0.4);
    EXPECT_EQ(sum.best.bound(), 5);
    EXPECT_STREQ(sum.best.binding(), "layers");
    EXPECT_EQ(sum.share_of_bound(), 0.5);
    const measurement alone = sum_of({second}, "one");
    EXPECT_STREQ(alone.best.binding(), "read");
    EXPECT_EQ(alone.time.median, 6);
}

// ---- Why outputs differ

std::vector<std::string> bytes_of(const std::vector<float> &values) {
    return {std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float))};
}

/// One row times a matrix that is computed, which has run.
network single_row(bool rows_alike) {
    one_node n("MatMul");
    n.input({1, 67}, numbers(67, 1.f)).input({67, 33}, numbers(67 * 33, 1.f, 7)).output();
    infer_shapes(n.graph);
    network_options options;
    options.rows_alike = rows_alike;
    network net(n.graph, options);
    for (const auto &fill : n.fill)
        fill(net);
    net.run();
    return net;
}

TEST(DifferenceReason, IsAnOptionThatWasTried) {
    const network net = single_row(true);
    const auto without = [] { return single_row(false); };
    EXPECT_EQ(difference_reason(bytes_of(without().output().as<float>()), net, without),
              "--rows-alike: without it the bytes are equal");
    EXPECT_EQ(difference_reason(bytes_of(numbers(33, 1.f)), net, without).find("--rows-alike"),
              std::string::npos);
}

TEST(DifferenceReason, IsTheBitsOfANanAlone) {
    one_node n("Sqrt");
    n.input({2}, std::vector<float>{-1.f, 4.f}).output();
    infer_shapes(n.graph);
    network net(n.graph);
    n.fill[0](net);
    net.run();
    std::vector<float> theirs = net.output().as<float>();
    ASSERT_TRUE(std::isnan(theirs[0]));
    theirs[0] = -theirs[0];
    const auto none = [&] { return network(n.graph); };
    EXPECT_EQ(difference_reason(bytes_of(theirs), net, none), "the bits of a NaN");
    theirs[1] = 3.f;
    EXPECT_NE(difference_reason(bytes_of(theirs), net, none), "the bits of a NaN");
}

// ---- The command

class BenchNetworkTest : public CommandTest {
protected:
    static bool has_node() { return std::system("node --version > /dev/null 2>&1") == 0; }

    /// A package that answers as onnxruntime-node does, with these bytes as every network's output.
    void write_package(const std::string &bytes_file) const {
        const fs::path folder = folder_ / "node_modules" / "onnxruntime-node";
        fs::create_directories(folder);
        std::ofstream(folder / "index.js") << R"(
const fs = require('fs');
class Tensor { constructor(type, data, dims) { this.type = type; this.data = data; this.dims = dims; } }
class Session {
  constructor(options) { this.options = options; this.outputNames = ['y']; }
  async run(feeds) {
    const input = Object.values(feeds)[0];
    if (input.type !== 'float32' || input.data.length !== 64 || input.dims.join() !== '1,1,8,8')
      throw new Error('unexpected input ' + input.type + ' ' + input.dims);
    const bytes = fs.readFileSync(')" + bytes_file +
                                                  R"(');
    return new Proxy({}, { get: () => ({ data: new Uint8Array(bytes) }) });
  }
}
exports.Tensor = Tensor;
exports.env = { versions: { node: '9.8.7' } };
exports.InferenceSession = { create: async (model, options) => {
  if (options.intraOpNumThreads !== 1) throw new Error('unexpected threads');
  return new Session(options);
} };
)";
    }
    strings with_baseline() const {
        return {"bench",      "--network",   onnx_model,       "--samples",         "1", "--threads", "1",
                "--baseline", "onnxruntime", "--node-modules", path("node_modules")};
    }
};

TEST_F(BenchNetworkTest, RowsAreTheNetworkItsLayersAndEachNode) {
    const outcome got = octet({"bench", "--network", model, "--samples", "1", "--threads", "1,2", "--json",
                               "--csv", path("rows.csv")});
    ASSERT_EQ(got.exit_code, 0) << got.err;
    const json object = json::parse(got.out);
    EXPECT_EQ(object["threads"], json({1, 2}));
    ASSERT_EQ(object["networks"].size(), 1u);
    EXPECT_EQ(object["networks"][0]["model"], model);
    EXPECT_FALSE(object["networks"][0].contains("equal"));
    std::size_t rows = 0;
    for (const json &run : object["networks"][0]["runs"]) {
        EXPECT_GT(run["network_over_layers"], 0);
        EXPECT_EQ(run["rows"][0]["name"], "network");
        EXPECT_EQ(run["rows"][0]["caches"], "network");
        EXPECT_EQ(run["rows"][0]["bound"], "layers");
        EXPECT_EQ(run["rows"][1]["name"], "layers");
        EXPECT_EQ(run["rows"][1]["caches"], "warm");
        EXPECT_EQ(run["rows"][2]["caches"], "cold");
        std::set<std::string> of_first;
        for (const json &row : run["rows"]) {
            EXPECT_EQ(row["threads"], run["threads"]);
            EXPECT_EQ(row["scaling"].is_null(), run["threads"] == 1) << row;
            if (row["name"] == "0 CONV_2D")
                of_first.insert(row["caches"].get<std::string>());
        }
        EXPECT_EQ(of_first, (std::set<std::string>{"warm", "cold", "network"}));
        rows += run["rows"].size();
    }
    const std::string csv = content_of(path("rows.csv"));
    EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + rows);
    EXPECT_NE(csv.find("\ndigits_int8,network,1,,"), std::string::npos) << csv;

    const outcome text = octet({"bench", "--network", model, "--samples", "1", "--threads", "1"});
    for (const char *part : {"network/layers", "1T in net us", "0 CONV_2D", "% of bound"})
        EXPECT_NE(text.out.find(part), std::string::npos) << part << '\n' << text.out;
}

TEST_F(BenchNetworkTest, BaselineTakesTurnsAndIsCompared) {
    if (!has_node())
        GTEST_SKIP() << "Node.js is not installed";
    ASSERT_EQ(octet({"run", onnx_model, "--repeat", "1", "--output-dir", path("out")}).exit_code, 0);
    write_package(path("out/output_0.bin"));
    const outcome same = octet(with_baseline());
    EXPECT_EQ(same.exit_code, 0) << same.err;
    EXPECT_NE(same.out.find("outputs of ONNX Runtime and Octet: equal bytes"), std::string::npos) << same.out;
    EXPECT_NE(same.out.find("ONNX Runtime 9.8.7"), std::string::npos) << same.out;

    write_package(path("right.bin"));
    strings as_json = with_baseline();
    as_json.push_back("--json");
    const outcome other = octet(as_json);
    ASSERT_EQ(other.exit_code, 0) << other.err;
    const json object = json::parse(other.out)["networks"][0];
    EXPECT_EQ(object["equal"], false);
    if (get_machine_cpu_isa() < cpu_isa::avx512_vnni)
        EXPECT_NE(object["reason"].get<std::string>().find("possibly this CPU"), std::string::npos);
    else
        EXPECT_TRUE(object["reason"].is_null()) << object["reason"];
    EXPECT_EQ(object["runs"][0]["rows"][0]["baseline_implementation"], "ONNX Runtime 9.8.7");
    EXPECT_GT(object["runs"][0]["rows"][0]["ratio"], 0);
    EXPECT_EQ(object["runs"][0]["rows"][1]["ratio"], nullptr);
}

TEST_F(BenchNetworkTest, WhatThePeerLacksIsSaid) {
    const strings request = {"bench", "--network", onnx_model, "--baseline", "onnxruntime"};
    unsetenv("NODE_PATH"); // where whoever runs the tests may have it
    if (has_node())
        expect_refusals(
            {{request,
              "--baseline onnxruntime: the package onnxruntime-node is not installed where node looks …"}});
    const std::string path_before = std::getenv("PATH") ? std::getenv("PATH") : "";
    setenv("PATH", path("folder").c_str(), 1);
    expect_refusals({{request, "node cannot be started: No such file or directory"}});
    setenv("PATH", path_before.c_str(), 1);
    if (!has_node())
        return;
    const fs::path folder = folder_ / "node_modules" / "onnxruntime-node";
    fs::create_directories(folder);
    std::ofstream(folder / "index.js")
        << "exports.InferenceSession = { create: async () => { throw new Error('no such "
           "operator'); } };";
    expect_refusals({{with_baseline(), "--baseline onnxruntime: no such operator"}});
    std::ofstream(folder / "index.js") << "process.exit(7);";
    expect_refusals({{with_baseline(), "node ended; what it printed stands above"}});
}

TEST_F(BenchNetworkTest, WrongRequestsAreRefused) {
    expect_refusals({
        {{"bench", "--network", "D/absent"}, "D/absent: does not exist"},
        {{"bench", "--network", "D/short.onnx"}, "D/short.onnx…"},
        {{"bench", "--network", "M", "--baseline", "onnxruntime"},
         model + ": --baseline onnxruntime runs .onnx files"},
        {{"bench", "--network", "M", "--baseline", "onednn"},
         "--baseline onednn: runs layers of --shapes; networks have onnxruntime (see octet bench --help)"},
        {{"bench", "--shapes", "D/empty", "--baseline", "onnxruntime"},
         "--baseline onnxruntime: needs --network (see octet bench --help)"},
        {{"bench", "--shapes", "D/empty", "--no-fusion"},
         "--no-fusion requires --network (see octet bench --help)"},
        {{"bench", "--network", "M", "--shapes", "D/empty"},
         "--shapes excludes --network (see octet bench --help)"},
        {{"bench", "--network", "M", "--csv", "D/folder"}, "D/folder: is a directory"},
    });
}

} // namespace
} // namespace octet::tests
