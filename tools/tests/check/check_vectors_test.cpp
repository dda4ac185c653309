// `octet check` on the full vector files, where their folder exists.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <set>

#include "support/levels.hpp"
#include "support/paths.hpp"
#include "tools/tests/check/check_fixture.hpp"

namespace octet::vectors {
namespace {

class CheckSharedTest : public CheckTest {
protected:
    /// Replays a file of the shared folder; true if nothing failed.
    bool check_shared(const std::string &name, const options &opt = {}) {
        return check((fs::path(tests::shared_path()) / name).string(), opt);
    }
    void expect_all_pass(const options &opt, std::initializer_list<const char *> files) {
        for (const char *file : files)
            EXPECT_TRUE(check_shared(file, opt)) << opt.isa << ' ' << file << '\n' << output;
    }
    void SetUp() override {
        if (!fs::is_directory(tests::shared_path()))
            GTEST_SKIP() << tests::shared_path() << " does not exist";
    }
};

TEST_F(CheckSharedTest, TfliteOperators) {
    EXPECT_TRUE(check_shared("vectors/tflite_ops.json")) << output;
    EXPECT_EQ(last_line(), "296 passed, 0 failed"); // nothing skipped
}

/// XNNPACK's on x86 and on Arm, and LiteRT's own kernels, at every level.
TEST_F(CheckSharedTest, LitertOperators) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        options opt;
        opt.isa = to_string(level);
        EXPECT_TRUE(check_shared("vectors/litert_ops.json", opt)) << opt.isa << '\n' << output;
        EXPECT_EQ(last_line(), "481 passed, 0 failed") << opt.isa;
    }
}

/// LiteRT of AArch64 as Clang and GCC compile it, at every level. Little cores have another product of u8
/// codes, which is refused.
TEST_F(CheckSharedTest, LitertOperatorsOfArm) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        options opt;
        opt.isa = to_string(level);
        for (const char *profile : {"litert-2026.08-arm64", "litert-2026.08-arm64-gcc"}) {
            opt.profile = profile;
            EXPECT_TRUE(check_shared("vectors/litert_arm64_ops.json", opt)) << opt.isa << '\n' << output;
            EXPECT_EQ(last_line(), "255 passed, 0 failed") << opt.isa << ' ' << profile;
        }
        opt.profile = "litert-2026.08-arm64-a53";
        EXPECT_TRUE(check_shared("vectors/litert_arm64_ops.json", opt)) << opt.isa << '\n' << output;
    }
}

TEST_F(CheckSharedTest, OrtOperators) {
    EXPECT_TRUE(check_shared("vectors/ort_ops.json")) << output;
    EXPECT_EQ(last_line(), "214 passed, 0 failed");
}

/// Products with a dynamic source: every contract by its definition, ONNX Runtime's also as networks.
TEST_F(CheckSharedTest, DynamicProducts) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        options opt;
        opt.isa = to_string(level);
        EXPECT_TRUE(check_shared("vectors/dynamic_ops.json", opt)) << opt.isa << '\n' << output;
        EXPECT_EQ(last_line(), "326 passed, 0 failed") << opt.isa;
    }
}

/// Operators of decoders, at every level and for one and two threads.
TEST_F(CheckSharedTest, AttentionOperators) {
    const int threads = get_num_threads();
    for (const cpu_isa level : get_available_cpu_isas())
        for (const int count : {1, 2}) {
            set_num_threads(count);
            options opt;
            opt.isa = to_string(level);
            EXPECT_TRUE(check_shared("vectors/attention_ops.json", opt)) << opt.isa << '\n' << output;
            EXPECT_EQ(last_line(), "126 passed, 0 failed") << opt.isa << ", " << count;
        }
    set_num_threads(threads);
}

/// Recurrent operators and oneDNN's primitives at every level and for one and two threads.
TEST_F(CheckSharedTest, RecurrentOperators) {
    const int threads = get_num_threads();
    for (const cpu_isa level : get_available_cpu_isas())
        for (const int count : {1, 2}) {
            options opt;
            opt.isa = to_string(level);
            set_num_threads(count);
            EXPECT_TRUE(check_shared("vectors/recurrent_ops.json", opt)) << opt.isa << '\n' << output;
            EXPECT_EQ(last_line(), "185 passed, 0 failed") << opt.isa << ", " << count << " threads";
        }
    set_num_threads(threads);
}

/// Weights in blocks, at every level. What ONNX Runtime computes wrongly passes by its refusal.
TEST_F(CheckSharedTest, OperatorsWithWeightsInBlocks) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        options opt;
        opt.isa = to_string(level);
        EXPECT_TRUE(check_shared("vectors/nbits_ops.json", opt)) << opt.isa << '\n' << output;
        EXPECT_EQ(last_line(), "300 passed, 0 failed") << opt.isa;
    }
}

/// Levels of this machine, the reference only where it is all that there is.
std::vector<cpu_isa> fast_levels() {
    std::vector<cpu_isa> levels = get_available_cpu_isas();
    if (levels.size() > 1)
        levels.erase(std::remove(levels.begin(), levels.end(), cpu_isa::ref), levels.end());
    return levels;
}

/// Names behind FAIL.
std::set<std::string> failures_in(const std::string &output) {
    std::set<std::string> names;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);)
        if (line.rfind("FAIL ", 0) == 0)
            names.insert(line.substr(5, line.find(':') - 5));
    return names;
}

/// Graphs that probe ONNX Runtime's transformers: bytes, and which transformers changed the graph.
TEST_F(CheckSharedTest, OrtGraphs) {
    const int threads = get_num_threads();
    for (const int count : {1, 2}) {
        set_num_threads(count);
        for (const cpu_isa level : fast_levels()) {
            options opt;
            opt.isa = to_string(level);
            check_shared("vectors/ort_graphs/graphs.json", opt);
            EXPECT_EQ(failures_in(output), std::set<std::string>{})
                << opt.isa << ", " << count << " threads\n"
                << output;
        }
    }
    set_num_threads(threads);
}

/// Decoders with weights in blocks.
TEST_F(CheckSharedTest, DecoderGraphs) {
    EXPECT_TRUE(check_shared("vectors/nbits_graphs/graphs.json")) << output;
    EXPECT_EQ(last_line(), "5 passed, 0 failed");
}

TEST_F(CheckSharedTest, RequantizationVectors) {
    EXPECT_TRUE(check_shared("spec/requantization_vectors.json")) << output;
    EXPECT_EQ(last_line(), "1558 passed, 0 failed"); // 1295 vectors, 32 x 5 derivations, 103 primitives
}

/// Again on the reference alone and on generated code alone, at each level of this machine.
TEST_F(CheckSharedTest, EveryImplementationAtEveryLevel) {
    if (get_available_cpu_isas().size() == 1)
        GTEST_SKIP() << "no generated code here: the other tests are those of the reference";
    options opt;
    opt.impl = implementation::ref;
    expect_all_pass(opt, {"vectors/tflite_ops.json", "vectors/ort_ops.json"});
#ifdef NDEBUG // with sanitizers the reference takes minutes for the networks
    expect_all_pass(opt, {"models/models.json"});
#endif
    opt.impl = implementation::jit;
    for (const cpu_isa level : octet::impl::generated_levels()) {
        opt.isa = to_string(level);
        if (octet::impl::isa_is_usable(level))
            expect_all_pass(opt, {"vectors/tflite_ops.json", "vectors/ort_ops.json", "models/models.json"});
        else
            std::cout << "skipped: " << opt.isa << " is not usable here\n";
    }
}

struct network_runs {
    const char *network;
    int count;
};

/// Networks one by one, so that a filter can leave out those that take minutes in an emulation.
class CheckSharedModels : public CheckSharedTest, public testing::WithParamInterface<network_runs> {};

TEST_P(CheckSharedModels, GiveTheirGoldens) {
    options opt;
    opt.op = GetParam().network;
    EXPECT_TRUE(check_shared("models/models.json", opt)) << output;
    EXPECT_EQ(last_line(), std::to_string(GetParam().count) + " passed, 0 failed");
}

INSTANTIATE_TEST_SUITE_P(
    Each, CheckSharedModels,
    testing::Values(network_runs{"hello_world_int8", 8}, network_runs{"person_detect", 3},
                    network_runs{"micro_speech_quantized", 4}, network_runs{"pretrainedResnet_quant", 5},
                    network_runs{"pretrainedResnet_large_int8", 2}, network_runs{"vww_96_int8", 3},
                    network_runs{"kws_ref_model", 4}, network_runs{"str_ww_ref_model", 4},
                    network_runs{"ad01_int8", 4}, network_runs{"model_ToyCar_quant_fullint", 2},
                    network_runs{"mobilenet_v2_quantized_1x3x224x224", 2},
                    network_runs{"keyword_scrambled_8bit", 4}, network_runs{"trained_lstm_int8", 3}),
    [](const auto &network) { return std::string(network.param.network); });

} // namespace
} // namespace octet::vectors
