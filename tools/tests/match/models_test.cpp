// A file with one operator as the subject: the contracts are what networks can be made of it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <unistd.h>

#include "match/finder.hpp"
#include "match/networks.hpp"
#include "network/tflite/tests/tflite_builder.hpp"
#include "octet/network.hpp"

namespace octet::tests {
namespace {

class ModelSubject : public testing::Test {
protected:
    ModelSubject() : path_(testing::TempDir() + "match_" + std::to_string(getpid()) + ".tflite") {
        tflite_builder b;
        const int in = b.s8({1, 4}, 0.5f, 3), out = b.s8({1, 8}, 1.f, 1);
        std::vector<std::int8_t> weights;
        for (int i = 0; i < 32; i++)
            weights.push_back(static_cast<std::int8_t>(i % 7 - 3));
        const int w = b.constant_s8({8, 4}, weights, {{0.25f}, {0}, 0});
        const int bias = b.constant_s32({8}, {1, -1, 2, -2, 3, -3, 5, -5});
        b.node(format::BuiltinOperator_FULLY_CONNECTED, {in, w, bias}, {out},
               format::CreateFullyConnectedOptions(b.fbb));
        const std::vector<std::uint8_t> bytes = b.finish({in}, {out});
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    ~ModelSubject() override { std::remove(path_.c_str()); }

    std::string path_;
};

TEST_F(ModelSubject, IsNamedByTheRuleThatItRunsUnder) {
    const match::subject s = match::make_subject(path_);
    const match::inputs probes = match::propose(s, 1024);
    EXPECT_EQ(match::row_count(probes), 128u) << "eight results each";
    for (const requantization_rule rule :
         {requantization_rule::tflite_2step, requantization_rule::ort_f32, requantization_rule::f32}) {
        network_options options;
        options.rule = rule;
        network net(path_, options);
        match::codes results;
        for (std::size_t row = 0; row < 128; row++) {
            net.input(0).copy_bytes_from(probes[0].bytes.data() + row * 4, 4);
            net.run();
            for (const std::int8_t code : net.output(0).as<std::int8_t>())
                results.push_back(code);
        }
        const match::verdict v =
            match::judge(s, probes, match::values_of("y", data_type::s8, {128, 8}, results));
        std::vector<std::string> names;
        for (const std::size_t c : v.consistent)
            names.push_back(s.contracts[c].name);
        const auto has = [&](const char *name) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        EXPECT_TRUE(has(to_string(rule)));
        for (const char *other : {"tflite_2step", "ort_f32", "f32"})
            EXPECT_EQ(has(other), std::string(other) == to_string(rule)) << other;
    }
}

/// Little cores of AArch64 have no contract for products of u8 codes: each profile that has one stands in.
TEST(MatchNetwork, TriesEachSubstituteForWhatHasNoContract) {
    model::graph g;
    g.framework = "tflite";
    for (const char *name : {"x", "w", "y"}) {
        model::tensor t;
        t.name = name;
        t.type = data_type::u8;
        t.dims = {1, 1};
        t.quant = {{1.f}, {0}, 0};
        g.tensors.push_back(t);
    }
    g.tensors[1].is_constant = true;
    g.tensors[1].data = std::vector<std::uint8_t>{1};
    g.inputs = {0};
    g.outputs = {2};
    g.nodes.push_back({"FULLY_CONNECTED", {0, 1}, {2}, {{"activation", std::string("NONE")}}});
    const match::values seven = match::values_of("x", data_type::u8, {1, 1}, match::codes{7});
    const auto all = match::match_network(g, {seven}, {{2, seven}});
    const auto of = [&](const std::string &name) {
        return std::find_if(all.begin(), all.end(), [&](const auto &m) { return m.name == name; });
    };
    const auto alone = of("litert-2026.08-arm64-a53"),
               with = of("litert-2026.08-arm64-a53+litert-2026.08-x86");
    ASSERT_NE(alone, all.end());
    EXPECT_NE(alone->refused.find("has no contract for FULLY_CONNECTED"), std::string::npos)
        << alone->refused;
    ASSERT_NE(with, all.end());
    EXPECT_EQ(with->substituted, alone->refused);
    EXPECT_EQ(with->compared, 1u);
    EXPECT_EQ(with->different, 0u);
    EXPECT_EQ(of("litert-2026.08-arm64-a53+exact-f32"), all.end()) << "it has no products of codes";
}

} // namespace
} // namespace octet::tests
