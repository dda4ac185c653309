// Profiles of runs: tables and the Chrome trace.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "commands/run_profile.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

class RunProfileTest : public testing::Test {
protected:
    RunProfileTest() : profile(net) {
        for (const double seconds : {0.003, 0.001, 0.002}) { // medians count
            profile.begin_run();
            for (std::size_t i = 0; i < nodes(); i++)
                profile.add(i, i == 0 ? seconds : 0.002);
        }
    }
    std::size_t nodes() const { return net.get_graph().nodes.size(); }

    network net{model::read_tflite(source_path("examples/digits/digits_int8.tflite"))};
    tools::run_profile profile;
};

TEST_F(RunProfileTest, ListsNodesWithMediansAndShares) {
    const std::string text = profile.nodes_text();
    EXPECT_NE(text.find("CONV_2D"), std::string::npos) << text;
    EXPECT_NE(text.find("  2.0000  "), std::string::npos) << text;
    char share[16];
    std::snprintf(share, sizeof share, "%.1f %%", 100.0 / static_cast<double>(nodes()));
    EXPECT_NE(text.find(share), std::string::npos) << text;
}

TEST_F(RunProfileTest, SumsOperatorsLongestFirst) {
    const std::string text = profile.operators_text();
    EXPECT_LT(text.find("CONV_2D"), text.find("SOFTMAX")) << text; // several nodes and one
}

TEST_F(RunProfileTest, WritesATraceWithOneEventPerRunAndNode) {
    const auto events = nlohmann::json::parse(profile.trace())["traceEvents"];
    double of_runs = 0, of_nodes = 0;
    std::size_t count = 0;
    for (const auto &e : events) {
        EXPECT_EQ(e["ph"], "X");
        (e["cat"] == "run" ? of_runs : of_nodes) += e["dur"].get<double>();
        count += e["cat"] == "node";
    }
    EXPECT_EQ(count, 3 * nodes());
    EXPECT_NEAR(of_runs, of_nodes, 1e-6);
    EXPECT_NEAR(of_nodes, (3 * nodes() * 0.002 - 0.002 * 3 + 0.006) * 1e6, 1);
}

TEST_F(RunProfileTest, SumsRunsUpInFourNumbers) {
    char minimum[32];
    std::snprintf(minimum, sizeof minimum, "minimum %.4f ms", 2. * static_cast<double>(nodes()) - 1);
    EXPECT_EQ(profile.runs_text().rfind("3 runs: " + std::string(minimum), 0), 0u) << profile.runs_text();
}

} // namespace
} // namespace octet::tests
