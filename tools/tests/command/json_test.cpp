// --json: one object on standard output and nothing else, whatever verbose mode says, and its keys as
// doc/command.md has them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

using nlohmann::json;

class JsonTest : public CommandTest {
protected:
    static json object(std::vector<std::string> arguments, int exit_code = 0) {
        arguments.push_back("--json");
        const outcome got = octet(arguments);
        EXPECT_EQ(got.exit_code, exit_code) << command_line(arguments) << '\n' << got.err;
        return json::parse(got.out, nullptr, false);
    }
    static std::vector<std::string> keys(const json &o) {
        std::vector<std::string> names; // sorted
        for (const auto &[key, value] : o.items())
            names.push_back(key);
        return names;
    }
    using names = std::vector<std::string>;
};

TEST_F(JsonTest, EveryCommandHasItsKeys) {
    const json info = object({"info", "--isa", "ref", "--threads", "3"});
    EXPECT_EQ(keys(info),
              (names{"absent_isa", "cache_bytes", "implementations", "isa", "isas", "machine_isa",
                     "numerics_version", "primitive_cache_bytes", "rules", "threads", "verbose", "version"}));
    EXPECT_EQ(info["absent_isa"], "") << "the cap does not allow it";
    EXPECT_EQ(info["isa"], "ref");
    EXPECT_EQ(info["threads"], 3);
    EXPECT_EQ(info["implementations"][0]["implementation"], "ref");
    const json reference = object({"info", "--reference"});
    EXPECT_EQ(keys(reference), (names{"problems", "reference"}));
    EXPECT_LE(reference["reference"].size(), reference["problems"].get<std::size_t>());
    for (const json &left : reference["reference"])
        for (const json &refusal : left["refusals"]) // reasons of the problem, not of the machine
            EXPECT_EQ(refusal.get<std::string>().find(": needs "), std::string::npos) << refusal;

    const json run =
        object({"run", model, "--repeat", "3", "--output-dir", path("out"), "--trace", path("t.json")});
    EXPECT_EQ(keys(run), (names{"files", "inputs", "isa", "model", "nodes", "outputs", "profile", "rule",
                                "runs", "threads", "times"}));
    EXPECT_EQ(run["runs"], 3);
    EXPECT_EQ(run["files"], json({path("out/output_0.bin")}));
    EXPECT_EQ(run["inputs"][0]["source"], nullptr);
    EXPECT_EQ(keys(run["times"]), (names{"median_ms", "minimum_ms", "p90_ms", "p99_ms"}));
    EXPECT_EQ(keys(run["nodes"][0]),
              (names{"implementation", "node", "operator", "output", "share", "times"}));

    const json check = object({"check", goldens});
    EXPECT_EQ(keys(check), (names{"cases", "failed", "notes", "passed", "rows", "skipped"}));
    EXPECT_EQ(check["failed"], 0);
    EXPECT_GT(check["passed"], 0);
    EXPECT_EQ(check["cases"], json::array());
    EXPECT_EQ(object({"check", goldens, "--verbose"})["cases"].size(), check["passed"].get<std::size_t>());
    EXPECT_GT(object({"check", goldens, "--impl", "ref", "--isa", "ref"})["passed"], 0);

    const json explain = object({"explain", model, "--node", "0"});
    EXPECT_EQ(keys(explain), (names{"model", "nodes"}));
    EXPECT_EQ(keys(explain["nodes"][0]),
              (names{"explanation", "implementation", "node", "operator", "outputs"}));
    const std::string problem = explain["nodes"][0]["explanation"][0];
    EXPECT_EQ(keys(object({"explain", "--problem", problem})),
              (names{"implementation", "plan", "problem", "refusals"}));

    for (const names &what : {names{"--problem", problem}, {"--shapes", shapes + "products.csv"}}) {
        names arguments = {"bench", "--samples", "1"};
        arguments.insert(arguments.end(), what.begin(), what.end());
        const json bench = object(arguments);
        EXPECT_EQ(keys(bench), (names{"isa", "tables", "threads"}));
        EXPECT_EQ(keys(bench["tables"][0]), (names{"layers", "peak_gops", "table"}));
        EXPECT_GT(bench["tables"][0]["layers"][0]["microseconds"], 0);
    }
}

TEST_F(JsonTest, RowsOfVerboseModeGoElsewhere) {
    setenv("OCTET_VERBOSE", "2", 1);
    for (const names &arguments : {names{"info"},
                                   {"inspect", model},
                                   {"run", model, "--repeat", "1"},
                                   {"check", goldens},
                                   {"explain", model},
                                   {"bench", "--samples", "1", "--shapes", shapes + "products.csv"}})
        EXPECT_TRUE(object(arguments).is_object()) << command_line(arguments);
    unsetenv("OCTET_VERBOSE");
}

TEST_F(JsonTest, ErrorsAreALineOnStderr) {
    expect_refusals({{{"run", "D/absent", "--json"}, "D/absent: does not exist"},
                     {{"check", "D/empty", "--json"}, "D/empty: is empty"}});
    EXPECT_EQ(octet({"run", path("absent"), "--json"}).out, "");
}

} // namespace
} // namespace octet::tests
