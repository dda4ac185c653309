// A file with one operator as the subject: the contracts are what networks can be made of it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <unistd.h>

#include "match/finder.hpp"
#include "model/tflite_builder.hpp"
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

} // namespace
} // namespace octet::tests
