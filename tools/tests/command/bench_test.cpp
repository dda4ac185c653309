// octet bench without its clock: what it makes of times, bytes and peaks that are given, and what its files hold.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "base/files.hpp"
#include "base/statistics.hpp"
#include "bench/layer.hpp"
#include "bench/measure.hpp"
#include "bench/problem.hpp"
#include "bench/results.hpp"
#include "support/paths.hpp"
#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

using namespace octet::tools;
using strings = std::vector<std::string>;
using BenchTest = CommandTest;

strings lines_of(const std::string &text) {
    strings lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

strings cells_of(const std::string &line) {
    strings cells;
    std::istringstream in(line + ',');
    for (std::string cell; std::getline(in, cell, ',');)
        cells.push_back(cell);
    return cells;
}

/// The cells of a CSV line by their columns.
std::map<std::string, std::string> named(const std::string &line) {
    const strings names = cells_of(lines_of(csv_header())[0]), cells = cells_of(line);
    EXPECT_EQ(names.size(), cells.size()) << line;
    std::map<std::string, std::string> result;
    for (std::size_t i = 0; i < std::min(names.size(), cells.size()); i++)
        result[names[i]] = cells[i];
    return result;
}

// ---- Products with a dynamic source

TEST_F(BenchTest, DynamicProductsAreMeasuredBesideStaticOnes) {
    for (const char *kind : {"--ip", "--matmul"}) {
        const outcome got =
            octet({"bench", "--shapes", shapes + "products.csv", "--dynamic", "s4:32", "--baseline", "static",
                   kind, "--samples", "1", "--threads", "1", "--csv", path("dynamic.csv")});
        EXPECT_EQ(got.exit_code, 0) << got.err;
        EXPECT_NE(got.out.find("source quantized per row, weights s4:32"), std::string::npos) << got.out;
        const std::vector<std::uint8_t> file = read_file(path("dynamic.csv"));
        const strings rows = lines_of({file.begin(), file.end()});
        ASSERT_EQ(rows.size(), 3u);
        for (std::size_t i = 1; i < rows.size(); i++) {
            std::map<std::string, std::string> cells = named(rows[i]);
            EXPECT_NE(cells["implementation"].find("group"), std::string::npos) << rows[i];
            EXPECT_NE(cells["baseline_implementation"], "") << rows[i];
            EXPECT_EQ(cells["share_of_read"].empty(), cells["name"] != "one_row") << rows[i];
        }
    }
}

// The plan of `explain` has quantizer, order and kernel; `bench` packs weights with the scales of the problem.
TEST_F(BenchTest, ProblemsWithADynamicSourceAreExplainedAndMeasured) {
    const std::string problem = "inner_product src:f32:4x64:ab weights:s4:32x64:any dst:f32:4x32:ab "
                                "scales:weights:3:*:1x32:f32 source:dynamic:symmetric:s8:row";
    const outcome explained = octet({"explain", "--problem", problem});
    EXPECT_EQ(explained.exit_code, 0) << explained.err;
    for (const char *part : {"quantized by dynamic (symmetric, s8, per row)", "combined as dynamic_group",
                             "groups of 32", "runs on"})
        EXPECT_NE(explained.out.find(part), std::string::npos) << explained.out;
    EXPECT_EQ(octet({"bench", "--problem", problem, "--samples", "1"}).exit_code, 0);
    const outcome defined = octet({"explain", "--problem", problem + " combination:kleidiai_groups"});
    EXPECT_EQ(defined.exit_code, 0) << defined.err;
    EXPECT_NE(defined.out.find("combined as kleidiai_groups"), std::string::npos) << defined.out;
}

// ---- Statistics

/// p-values as scipy.stats.binomtest gives them.
TEST(Statistics, SignTestIsTheExactBinomialTest) {
    const struct {
        int wins, losses;
        double p;
    } cases[] = {{0, 0, 1},
                 {1, 0, 1},
                 {0, 5, 0.0625},
                 {5, 5, 1},
                 {2, 8, 0.109375},
                 {8, 2, 0.109375},
                 {1, 9, 0.021484375},
                 {3, 12, 0.03515625},
                 {10, 0, 0.001953125},
                 {40, 60, 0.05688793364098078}};
    for (const auto &c : cases)
        EXPECT_NEAR(sign_test(c.wins, c.losses), c.p, 1e-12) << c.wins << ' ' << c.losses;
    EXPECT_NEAR(sign_test(4900, 5100), 0.0466, 1e-4) << "beyond the doubles' binomial coefficients";
}

/// Ranks from the tables of the sign test: 6 to 8 values leave none out, 9 to 11 one, 12 to 14 two, 15 and 16 three.
TEST(Statistics, MedianLiesBetweenTwoOfTheValues) {
    const std::map<int, int> left_out = {{1, 0},  {5, 0},  {6, 0},  {8, 0},  {9, 1},  {11, 1},
                                         {12, 2}, {14, 2}, {15, 3}, {16, 3}, {25, 7}, {20000, 9860}};
    for (const auto &[n, out] : left_out) {
        std::vector<double> values;
        for (int i = 0; i < n; i++)
            values.push_back((i * 7 + 3) % n); // not in order
        std::sort(values.begin(), values.end());
        const interval got = median_interval(values);
        EXPECT_EQ(got.low, values[static_cast<std::size_t>(out)]) << n;
        EXPECT_EQ(got.high, values[static_cast<std::size_t>(n - 1 - out)]) << n;
    }
}

// ---- Bytes and bounds

TEST(Roofline, TheLongestTimeBinds) {
    EXPECT_STREQ((roofline{3, 2, 1}.binding()), "compute");
    EXPECT_STREQ((roofline{1, 2, 1}.binding()), "read");
    EXPECT_STREQ((roofline{1, 2, 3}.binding()), "write");
    EXPECT_STREQ((roofline{}.binding()), "");
    EXPECT_EQ((roofline{1, 2, 1}.bound()), 2);
}

TEST(Roofline, BytesOfLayers) {
    const bench_contract contract; // u8, s8, u8
    layer product;
    product.kind = layer_kind::matmul;
    product.m = 4;
    product.n = 16;
    product.k = 32;
    EXPECT_EQ(subject_of(product, contract).bytes.read, 4 * 32 + 32 * 16);
    EXPECT_EQ(subject_of(product, contract).bytes.written, 4 * 16);

    layer projection; // 1x1, stride 2: of 56 x 56 positions 28 x 28 are read
    projection.ic = 256;
    projection.ih = projection.iw = 56;
    projection.oc = 512;
    projection.oh = projection.ow = 28;
    projection.sh = projection.sw = 2;
    EXPECT_EQ(subject_of(projection, contract).bytes.read, 256 * 28 * 28 + 512 * 256);
    EXPECT_EQ(subject_of(projection, contract).bytes.written, 512 * 28 * 28);

    layer depthwise; // 3x3, stride 2: all are
    depthwise.g = depthwise.ic = depthwise.oc = 32;
    depthwise.ih = depthwise.iw = 56;
    depthwise.oh = depthwise.ow = 28;
    depthwise.kh = depthwise.kw = 3;
    const bench_contract to_s32{requantization_rule::none, data_type::u8, data_type::s8, data_type::s32};
    EXPECT_EQ(subject_of(depthwise, to_s32).bytes.read, 32 * 56 * 56 + 32 * 9);
    EXPECT_EQ(subject_of(depthwise, to_s32).bytes.written, 4 * 32 * 28 * 28);
}

TEST(Roofline, BytesOfProblems) {
    const engine cpu(engine::kind::cpu, 0);
    const auto bytes = [&](const char *text) {
        return subject_of(primitive_desc_from_string(text, cpu)).bytes;
    };
    const traffic product = bytes("matmul src:u8:4x32:ab weights:s8:32x16:ab dst:s32:4x16:ab rule:none");
    EXPECT_EQ(product.read, 4 * 32 + 32 * 16);
    EXPECT_EQ(product.written, 4 * 4 * 16);
    const traffic strided = bytes("convolution src:u8:1x16x8x8:nhwc weights:s8:32x16x1x1:oihw "
                                  "dst:s32:1x32x4x4:nhwc strides:2x2 rule:none");
    EXPECT_EQ(strided.read, 16 * 4 * 4 + 32 * 16);
    EXPECT_EQ(strided.written, 4 * 32 * 4 * 4);
    const traffic stream = bytes("eltwise src:u8:1x16x8x8:nhwc dst:u8:1x16x8x8:nhwc algorithm:eltwise_relu");
    EXPECT_EQ(stream.read, 16 * 8 * 8);
    EXPECT_EQ(stream.written, 16 * 8 * 8);
}

// ---- What is shown

/// 2 million operations at a peak of 10^12 per second: 2 us; 1.5 us to read, 0.5 us to write.
measurement example() {
    measurement m;
    m.what.name = "layer";
    m.what.operations = 2e6;
    m.implementation = "jit:dot/avx2";
    m.time = summarize({4e-6});
    m.peak = 1e12;
    m.best = {m.what.operations / m.peak, 1.5e-6, 0.5e-6};
    return m;
}

TEST(BenchResults, CsvHasSharesOfPeakAndBound) {
    auto cells = named(csv_row("table", example()));
    const std::map<std::string, std::string> expected = {{"table", "table"},
                                                         {"name", "layer"},
                                                         {"microseconds", "4"},
                                                         {"gops", "500"},
                                                         {"share_of_peak", "0.5"},
                                                         {"bound", "compute"},
                                                         {"share_of_bound", "0.5"},
                                                         {"compute_microseconds", "2"},
                                                         {"read_microseconds", "1.5"},
                                                         {"write_microseconds", "0.5"},
                                                         {"threads", "1"},
                                                         {"caches", "warm"},
                                                         {"scaling", ""},
                                                         {"cores", ""},
                                                         {"ratio", ""},
                                                         {"baseline_share_of_bound", ""},
                                                         {"microseconds_low", "4"},
                                                         {"peak_gops", "1000"}};
    for (const auto &[name, value] : expected)
        EXPECT_EQ(cells[name], value) << name;

    measurement few_rows = example();
    few_rows.best.read = 3.2e-6;
    few_rows.baseline_implementation = "brgemm";
    few_rows.baseline_time = summarize({6.4e-6});
    cells = named(csv_row("table", few_rows));
    EXPECT_EQ(cells["bound"], "read");
    EXPECT_EQ(cells["share_of_bound"], "0.8");
    EXPECT_EQ(cells["baseline_share_of_bound"], "0.5");
    EXPECT_EQ(cells["ratio"], "1.6");

    measurement pooling = example();
    pooling.what.operations = 0;
    pooling.best = {0, 1e-6, 1.6e-6};
    cells = named(csv_row("table", pooling));
    EXPECT_EQ(cells["bound"], "write");
    EXPECT_EQ(cells["share_of_peak"], "");
    EXPECT_EQ(cells["share_of_bound"], "0.4");
}

TEST(BenchResults, OldColumnsKeepNamesAndPlaces) {
    EXPECT_EQ(
        csv_header().rfind("table,name,count,implementation,microseconds,microseconds_min,microseconds_p90,"
                           "microseconds_p99,gops,share_of_peak,share_of_read,baseline_implementation,"
                           "baseline_microseconds,baseline_share_of_peak,ratio,threads,",
                           0),
        0u);
}

TEST_F(BenchTest, SampleInTheSourcesHasTheColumns) {
    const strings sample = lines_of(content_of(source_path("bench/samples/results.csv")));
    EXPECT_EQ(sample[0] + '\n', csv_header());
    for (const std::string &line : sample)
        EXPECT_EQ(cells_of(line).size(), cells_of(sample[0]).size()) << line;
}

TEST(BenchResults, TextThatWouldEndAFieldIsQuoted) {
    measurement m = example();
    m.what.name = "a,\"b\"";
    EXPECT_EQ(csv_row("t,u", m).rfind("\"t,u\",\"a,\"\"b\"\"\",1,", 0), 0u) << csv_row("t,u", m);
}

TEST(BenchResults, ScalingIsToTheFirstCountWithTheSameCaches) {
    std::vector<measurement> all;
    for (const auto &[threads, state, seconds] : {std::tuple(1, caches::warm, 6e-6),
                                                  {1, caches::cold, 9e-6},
                                                  {2, caches::warm, 4e-6},
                                                  {2, caches::cold, 9e-6}}) {
        all.push_back(example());
        all.back().threads = threads;
        all.back().state = state;
        all.back().time = summarize({seconds});
    }
    set_scaling(all);
    EXPECT_EQ(all[0].scaling, 0);
    EXPECT_EQ(all[1].scaling, 0);
    EXPECT_NEAR(all[2].scaling, 1.5, 1e-9);
    EXPECT_NEAR(all[3].scaling, 1, 1e-9);
    const strings text = lines_of(results_text(all));
    for (const char *title : {"1T us", "1T cold us", "2T us", "2T cold us", "scaling", "cores"})
        EXPECT_NE(text[0].find(title), std::string::npos) << title << '\n' << text[0];
    EXPECT_NE(
        text[4].find("2 threads, warm caches: share of peak, weighted by count: 50.0 %; share of bound: "
                     "50.0 %; scaling 1.50"),
        std::string::npos)
        << text[4];
}

// ---- The command

TEST_F(BenchTest, CountsOfThreadsAndColdCachesAreRowsOfTheirOwn) {
    const outcome got = octet({"bench", "--shapes", shapes + "products.csv", "--only", "batch", "--samples",
                               "1", "--threads", "1,2", "--cold", "--csv", path("rows.csv")});
    ASSERT_EQ(got.exit_code, 0) << got.err;
    const strings rows = lines_of(content_of(path("rows.csv")));
    ASSERT_EQ(rows.size(), 5u);
    strings which;
    for (std::size_t i = 1; i < rows.size(); i++) {
        auto cells = named(rows[i]);
        which.push_back(cells["threads"] + ' ' + cells["caches"]);
        EXPECT_EQ(cells["cores"].empty(), cells["threads"] == "1") << rows[i];
    }
    EXPECT_EQ(which, (strings{"1 warm", "1 cold", "2 warm", "2 cold"}));
}

TEST_F(BenchTest, HistoryKeepsEarlierRuns) {
    const strings request = {"bench", "--shapes",  shapes + "products.csv", "--samples", "1", "--threads",
                             "1",     "--history", path("history.csv")};
    for (const std::size_t rows : {2u, 4u}) {
        EXPECT_EQ(octet(request).exit_code, 0);
        EXPECT_EQ(lines_of(content_of(path("history.csv"))).size(), 1 + rows);
    }
    expect_refusals(
        {{{"bench", "--shapes", shapes + "products.csv", "--history", "D/no_header.csv"},
          "D/no_header.csv:1: has other columns than this version of Octet writes; name another file"},
         {{"bench", "--shapes", shapes + "products.csv", "--history", "D/folder"},
          "D/folder: is a directory"}});
    EXPECT_EQ(content_of(path("no_header.csv")), "conv,1,2\n");
}

TEST_F(BenchTest, CountsOfThreadsAreChecked) {
    expect_refusals(
        {{{"bench", "--shapes", shapes + "products.csv", "--threads", "1,2,1"}, "--threads: 1 given twice"},
         {{"bench", "--shapes", shapes + "products.csv", "--threads", "1,many"},
          "--threads: 'many' given, allowed: 0 to 4096 (see octet bench --help)"}});
}

} // namespace
} // namespace octet::tests
