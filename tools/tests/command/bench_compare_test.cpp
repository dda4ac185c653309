// octet bench --compare: files written by hand, p-values as scipy.stats.binomtest gives them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "bench/compare.hpp"
#include "octet/error.hpp"
#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

using namespace octet::tools;
using strings = std::vector<std::string>;

/// name,microseconds,microseconds_low,microseconds_high, each 10 % wide.
std::string results(const std::vector<double> &times) {
    std::string text = "table,name,microseconds,microseconds_low,microseconds_high\n";
    for (std::size_t i = 0; i < times.size(); i++)
        text += "t,row" + std::to_string(i) + ',' + std::to_string(times[i]) + ',' +
                std::to_string(0.95 * times[i]) + ',' + std::to_string(1.05 * times[i]) + '\n';
    return text;
}

comparison compared(const std::string &before, const std::string &after, double tolerance = 0,
                    const std::string &by = "") {
    return compare(csv_table("old", before), csv_table("new", after), tolerance, by);
}

std::string refusal_of(const std::string &before, const std::string &after) {
    try {
        compared(before, after);
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

TEST(BenchCompare, RatiosMeanAndSignTest) {
    // Seven rows twice as fast, one half as fast, two as before.
    const comparison c =
        compared(results({2, 2, 2, 2, 2, 2, 2, 1, 3, 3}), results({1, 1, 1, 1, 1, 1, 1, 2, 3, 3}));
    ASSERT_EQ(c.rows.size(), 10u);
    EXPECT_EQ(c.rows[0].ratio(), 2);
    EXPECT_EQ(c.rows[7].ratio(), 0.5);
    EXPECT_NEAR(c.geomean(), std::pow(2, 0.6), 1e-12);
    EXPECT_EQ(c.faster(), 7);
    EXPECT_EQ(c.slower(), 1);
    EXPECT_NEAR(c.p(), 0.0703125, 1e-12) << "binomtest(7, 8)";
    EXPECT_EQ(c.count(1), 7);
    EXPECT_EQ(c.count(-1), 1);
    EXPECT_TRUE(c.is_slower()) << "one row is";
}

TEST(BenchCompare, WithinNoiseOrToleranceNoRowIsSlower) {
    const comparison noise = compared(results({10, 10}), results({10.9, 9.2}));
    EXPECT_EQ(noise.count(0), 2) << "the intervals overlap";
    EXPECT_EQ(noise.count(-1), 0);
    EXPECT_FALSE(noise.is_slower());
    EXPECT_EQ(compared(results({10}), results({12})).count(-1), 1);
    EXPECT_EQ(compared(results({10}), results({12}), 0.25).count(-1), 0);
    EXPECT_EQ(compared(results({10}), results({8})).count(1), 1);
}

/// Each row within its noise, but all to one side.
TEST(BenchCompare, ManySmallDifferencesAreSlower) {
    const comparison c =
        compared(results(std::vector<double>(10, 10)), results(std::vector<double>(10, 10.4)));
    EXPECT_EQ(c.count(-1), 0);
    EXPECT_NEAR(c.p(), 0.001953125, 1e-12) << "binomtest(0, 10)";
    EXPECT_TRUE(c.is_slower());
    EXPECT_FALSE(compared(results(std::vector<double>(10, 10)), results(std::vector<double>(10, 10.4)), 0.05)
                     .is_slower());
    EXPECT_FALSE(
        compared(results(std::vector<double>(5, 10)), results(std::vector<double>(5, 10.4))).is_slower())
        << "binomtest(0, 5) is 0.0625";
    EXPECT_FALSE(
        compared(results(std::vector<double>(10, 10.4)), results(std::vector<double>(10, 10))).is_slower());
}

TEST(BenchCompare, RowsOfSeveralRunsCountWithTheirMedian) {
    const std::string head = "name,threads,microseconds\n";
    std::string before = head, after = head;
    for (const char *time : {"5", "1", "9", "2", "3"})
        before += std::string("a,1,") + time + '\n';
    before += "a,2,7\n";
    after += "a,2,7\na,1,6\n";
    const comparison c = compared(before, after);
    ASSERT_EQ(c.rows.size(), 2u);
    EXPECT_EQ(c.rows[0].before, 3);
    EXPECT_EQ(c.rows[0].ratio(), 0.5);
    EXPECT_EQ(c.rows[0].verdict, 0) << "6 lies between 1 and 9";
    EXPECT_EQ(c.rows[1].threads, "2");
    EXPECT_EQ(c.rows[1].ratio(), 1);
}

TEST(BenchCompare, RowsOfOneFileAreListed) {
    const comparison c =
        compared("table,name,microseconds\nt,a,1\nt,b,1\n", "table,name,microseconds\nt,b,1\nu,a,1\n");
    EXPECT_EQ(c.rows.size(), 1u);
    EXPECT_EQ(c.only_old, strings{"t a"});
    EXPECT_EQ(c.only_new, strings{"u a"});
}

/// Another library's file may hold shares alone, and other columns.
TEST(BenchCompare, SharesOfThePeakCompareWhereAFileHasNoTimes) {
    const std::string theirs = "table,name,impl,share_of_peak\nt,a,brg,0.5\nt,pool,jit,\n";
    const std::string ours = "table,name,microseconds,share_of_peak,threads\nt,a,3,0.75,1\nt,pool,3,,1\n";
    const comparison c = compared(theirs, ours);
    EXPECT_EQ(c.by, "share_of_peak");
    ASSERT_EQ(c.rows.size(), 1u);
    EXPECT_NEAR(c.rows[0].ratio(), 1.5, 1e-12);
    EXPECT_EQ(compared(ours, ours).by, "microseconds");
    EXPECT_EQ(compared(ours, ours, 0, "share_of_peak").rows.size(), 1u);
}

TEST(BenchCompare, FilesThatCannotBeComparedAreRefused) {
    const std::string good = "name,microseconds\na,1\n";
    EXPECT_EQ(refusal_of("a,b\n1,2\n", good),
              "old:1: the first line names the columns, and one of them is 'name'");
    EXPECT_EQ(refusal_of("name,microseconds\n", good), "old:1: no rows follow the header");
    EXPECT_EQ(refusal_of(good, "name,microseconds\na,1\nb\n"), "new:3: 1 fields, the header has 2");
    EXPECT_EQ(refusal_of(good, "name,microseconds\na,fast\n"),
              "new: row 'a': microseconds is 'fast', allowed: numbers above 0");
    EXPECT_EQ(refusal_of(good, "name,microseconds\na,0\n"),
              "new: row 'a': microseconds is '0', allowed: numbers above 0");
    EXPECT_EQ(refusal_of(good, "name,gops\na,1\n"), "old: has no column 'share_of_peak'");
    EXPECT_EQ(refusal_of(good, "name,microseconds\nb,1\n"), "old and new: no row of the one is in the other");
    EXPECT_EQ(refusal_of(good, "name,microseconds,threads\na,1,1\na,1,2\n"),
              "new: its rows differ in 'threads', which old does not tell: keep one of them");
}

TEST(BenchCompare, FieldsInQuotesAreOne) {
    const csv_table t("file", "name,microseconds\r\n\"a,\"\"b\"\"\",2\r\n");
    EXPECT_EQ(t.text(0, "name"), "a,\"b\"");
    EXPECT_EQ(t.number(0, "microseconds"), 2);
}

// ---- The command

using BenchCompareTest = CommandTest;

TEST_F(BenchCompareTest, ExitCodeSaysWhetherTheSecondIsSlower) {
    write("old.csv", results({10, 10, 10}));
    write("new.csv", results({10, 5, 12}));
    const outcome slower = octet({"bench", "--compare", path("old.csv"), path("new.csv")});
    EXPECT_EQ(slower.exit_code, 1) << slower.err;
    EXPECT_EQ(slower.err, "");
    EXPECT_NE(slower.out.find("t row2      10.00     12.00  0.833  slower"), std::string::npos) << slower.out;
    EXPECT_NE(
        slower.out.find("geomean 1.186 (above 1: faster than before) of 3 rows; faster 1, slower 1, sign "
                        "test p 1; beyond noise and 5.0 %: faster 1, slower 1"),
        std::string::npos)
        << slower.out;
    EXPECT_EQ(octet({"bench", "--compare", path("old.csv"), path("new.csv"), "--tolerance", "30"}).exit_code,
              0);
    EXPECT_EQ(octet({"bench", "--compare", path("old.csv"), path("old.csv")}).exit_code, 0);

    const outcome as_json = octet({"bench", "--compare", path("old.csv"), path("new.csv"), "--json"});
    EXPECT_EQ(as_json.exit_code, 1);
    const auto object = nlohmann::json::parse(as_json.out);
    EXPECT_EQ(object["rows"][1]["beyond_noise"], "faster");
    EXPECT_EQ(object["rows"][1]["caches"], nullptr);
    EXPECT_EQ(object["is_slower"], true);
}

TEST_F(BenchCompareTest, WrongRequestsAreRefused) {
    write("good.csv", results({1}));
    expect_refusals({
        {{"bench", "--compare", "D/good.csv"}, "--compare needs a value (see octet bench --help)"},
        {{"bench", "--compare", "D/good.csv", "D/absent"}, "D/absent: does not exist"},
        {{"bench", "--compare", "D/good.csv", "D/empty"},
         "D/empty:1: the first line names the columns, and one of them is 'name'"},
        {{"bench", "--compare", "D/good.csv", "D/good.csv", "--shapes", "D/empty"},
         "--shapes excludes --compare (see octet bench --help)"},
        {{"bench", "--compare", "D/good.csv", "D/good.csv", "--tolerance", "-1"},
         "--tolerance: '-1' given, allowed: numbers from 0 (see octet bench --help)"},
        {{"bench", "--shapes", "D/empty", "--by", "microseconds"},
         "--by requires --compare (see octet bench --help)"},
    });
}

TEST_F(BenchCompareTest, HistoriesOfBenchAreCompared) {
    const strings request = {"bench", "--shapes",  shapes + "products.csv", "--samples", "1", "--threads",
                             "1",     "--history", path("history.csv")};
    for (int run = 0; run < 2; run++)
        EXPECT_EQ(octet(request).exit_code, 0);
    const outcome got = octet({"bench", "--compare", path("history.csv"), path("history.csv")});
    EXPECT_EQ(got.exit_code, 0);
    EXPECT_NE(got.out.find("of 2 rows; faster 0, slower 0, sign test p 1;"), std::string::npos) << got.out;
}

} // namespace
} // namespace octet::tests
