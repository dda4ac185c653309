// Sessions with the provider, apart from what they compute: options, refusals, partial claims, runs at once,
// lifetimes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "interop/onnxruntime/tests/host.hpp"
#include "interop/onnxruntime/tests/pairs.hpp"
#include "octet/error.hpp"
#include "octet/network.hpp"

namespace octet::tests {
namespace {

class OnnxRuntimeProvider : public testing::Test {
protected:
    void SetUp() override {
        if (!host::get())
            GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
        host::get()->take_log();
    }
    static std::string failure(const std::vector<std::uint8_t> &model, const session_options &how) {
        try {
            const session s(model, how);
            return "";
        } catch (const error &e) {
            return e.what();
        }
    }
    /// Returns the lines that the provider printed with option log.
    static std::string told() {
        std::string text;
        for (const std::string &line : host::get()->take_log())
            if (contains(line, "OctetExecutionProvider: "))
                text += line + "\n";
        return text;
    }
    static bool contains(const std::string &text, const std::string &part) {
        return text.find(part) != std::string::npos;
    }
};

TEST_F(OnnxRuntimeProvider, TakesAWholeGraph) {
    const auto model = pairs().finish();
    const session cpu(model, {});
    for (const int level : {0, 1, 2, 99}) {
        session_options how = with_octet({{"log", "1"}});
        how.level = level;
        const session octet(model, how);
        EXPECT_TRUE(octet.operators_of(by::cpu).empty()) << level << "\n" << told();
        const std::vector<ort_tensor> x{reals({2, 3, 8, 8}, 1)};
        EXPECT_EQ(difference(octet.run(x), cpu.run(x)), "") << level;
    }
}

TEST_F(OnnxRuntimeProvider, LeavesWhatItLacksWithAllOfItsPair) {
    const auto model = pairs("Sinh").finish();
    const session cpu(model, {}), octet(model, with_octet({{"log", "1"}}));
    EXPECT_EQ(octet.operators_of(by::cpu), std::vector<std::string>{"Sinh"});
    const std::string log = told();
    EXPECT_TRUE(contains(log, "(Sinh)") && contains(log, "Octet lacks the operator")) << log;
    const std::vector<ort_tensor> x{reals({2, 3, 8, 8}, 2)};
    EXPECT_EQ(difference(octet.run(x), cpu.run(x)), "");
}

TEST_F(OnnxRuntimeProvider, TakesAnyBatch) {
    const auto model = pairs("", -1).finish();
    const session cpu(model, {}), octet(model, with_octet());
    EXPECT_TRUE(octet.operators_of(by::cpu).empty());
    for (const std::int64_t batch : {1, 3, 2, 7, 1, 3}) {
        const std::vector<ort_tensor> x{reals({batch, 3, 8, 8}, static_cast<unsigned>(batch))};
        EXPECT_EQ(difference(octet.run(x), cpu.run(x)), "") << batch;
    }
}

TEST_F(OnnxRuntimeProvider, GivesNothingForNothing) {
    const auto model = pairs("", -1).finish();
    const std::vector<ort_tensor> nothing{reals({0, 3, 8, 8}, 1)};
    EXPECT_EQ(difference(session(model, with_octet()).run(nothing), session(model, {}).run(nothing)), "");
}

/// As a decoder's first run has no past.
TEST_F(OnnxRuntimeProvider, JoinsNothingWithSomething) {
    for (const bool is_open : {true, false}) {
        onnx_builder m;
        m.input<float>("past", {is_open ? -1 : 0, 3}), m.input<float>("new", {4, 3});
        m.scalar<float>("s", 0.03f), m.scalar<std::uint8_t>("z", 128);
        const auto pair = [&](const std::string &x) {
            m.node("QuantizeLinear", {x, "s", "z"}, {x + "_codes"});
            m.node("DequantizeLinear", {x + "_codes", "s", "z"}, {x + "_real"});
            return x + "_real";
        };
        onnx_builder::set(m.node("Concat", {pair("past"), pair("new")}, {"all"}), "axis", std::int64_t{0});
        m.node("Identity", {pair("all")}, {"y"});
        m.output<float>("y", {-1, 3});
        const session cpu(m.finish(), {}), octet(m.finish(), with_octet({{"minimum", "1"}}));
        EXPECT_NE(octet.operators_of(by::octet).size(), 0u);
        for (const std::int64_t past : {0, is_open ? 2 : 0, 0}) {
            const std::vector<ort_tensor> x{reals({past, 3}, 1), reals({4, 3}, 2)};
            EXPECT_EQ(difference(octet.run(x), cpu.run(x)), "") << past;
        }
    }
}

TEST_F(OnnxRuntimeProvider, WritesWhereTheProgramWantsIt) {
    const auto model = pairs().finish();
    const session cpu(model, {}), octet(model, with_octet());
    const std::vector<ort_tensor> x{reals({2, 3, 8, 8}, 5)}, expected = cpu.run(x);
    std::vector<ort_tensor> bound = expected;
    for (ort_tensor &y : bound)
        std::fill(y.bytes.begin(), y.bytes.end(), std::uint8_t{0xaa});
    octet.run_bound(x, bound);
    EXPECT_EQ(difference(bound, expected), "");
}

/// A product with weights of 4 or 8 bits in blocks. Its float outputs have no codes behind them to round differences
/// away, and without AVX512-VNNI the CPU provider has other orders, so the oracle is the network.
TEST_F(OnnxRuntimeProvider, TakesProductsWithWeightsInBlocks) {
    constexpr std::int64_t rows = 3, inner = 320, columns = 70, block = 64, blocks = inner / block;
    for (const std::int64_t bits : {4, 8})
        for (const std::int64_t level : {0, 4}) {
            onnx_builder m;
            m.input<float>("x", {rows, inner});
            m.output<float>("y", {rows, columns});
            std::vector<std::uint8_t> codes(static_cast<std::size_t>(columns * inner * bits / 8));
            for (std::size_t i = 0; i < codes.size(); i++)
                codes[i] = static_cast<std::uint8_t>(i * 37 % 251);
            m.constant<std::uint8_t>("codes", {columns, blocks, block * bits / 8}, codes);
            std::vector<float> scales(static_cast<std::size_t>(columns * blocks));
            for (std::size_t i = 0; i < scales.size(); i++)
                scales[i] = 0.01f + 0.001f * static_cast<float>(i % 17);
            m.constant<float>("scales", {columns, blocks}, scales);
            onnx::NodeProto &n =
                m.node("MatMulNBits", {"x", "codes", "scales"}, {"y"}, onnx_builder::microsoft);
            m.set(n, "K", inner);
            m.set(n, "N", columns);
            m.set(n, "bits", bits);
            m.set(n, "block_size", block);
            m.set(n, "accuracy_level", level);
            const std::vector<std::uint8_t> model = m.finish();

            const session cpu(model, {}), octet(model, with_octet({{"minimum", "1"}, {"log", "1"}}));
            EXPECT_TRUE(octet.operators_of(by::cpu).empty()) << told();
            const std::vector<ort_tensor> x{reals({rows, inner}, 5)}, y = octet.run(x), theirs = cpu.run(x);
            network alone(model.data(), model.size(), "blocks.onnx");
            std::memcpy(alone.input(0).data(), x[0].bytes.data(), x[0].bytes.size());
            alone.run();
            const std::vector<float> expected = alone.output(0).as<float>();
            ASSERT_EQ(y[0].bytes.size(), expected.size() * sizeof(float));
            EXPECT_EQ(std::memcmp(y[0].bytes.data(), expected.data(), y[0].bytes.size()), 0)
                << bits << " bits, level " << level;
            for (std::size_t i = 0; i < expected.size(); i++) {
                float v = 0;
                std::memcpy(&v, theirs[0].bytes.data() + i * sizeof v, sizeof v);
                EXPECT_NEAR(expected[i], v, 0.05f + 0.01f * std::fabs(v)) << bits << " bits, level " << level;
            }
        }
}

TEST_F(OnnxRuntimeProvider, RunsInAForkedProcess) {
    const auto model = pairs("Sinh").finish();
    const std::vector<ort_tensor> x{reals({2, 3, 8, 8}, 6)}, expected = session(model, {}).run(x);
    for (const char *threads : {"1", "2"}) {
        const session octet(model, with_octet({{"threads", threads}}));
        EXPECT_EQ(difference(octet.run(x), expected), "");
        const pid_t child = fork();
        if (child == 0) {
            alarm(60); // a run that waits for threads of the parent ends here
            _exit(difference(octet.run(x), expected).empty() ? 0 : 1);
        }
        int how = -1;
        ASSERT_EQ(waitpid(child, &how, 0), child);
        EXPECT_EQ(how, 0) << threads << " threads";
        EXPECT_EQ(difference(octet.run(x), expected), "");
    }
}

TEST_F(OnnxRuntimeProvider, RunsOnManyThreadsAtOnce) {
    const auto model = pairs("Sinh", -1).finish();
    const session cpu(model, {}), octet(model, with_octet({{"threads", "1"}}));
    std::vector<std::vector<ort_tensor>> inputs, expected;
    for (unsigned i = 0; i < 4; i++) {
        inputs.push_back({reals({i + 1, 3, 8, 8}, i)});
        expected.push_back(cpu.run(inputs.back()));
    }
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 8; t++)
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < 40; i++) {
                const std::size_t which = (t + i) % inputs.size();
                try {
                    failures += difference(octet.run(inputs[which]), expected[which]).empty() ? 0 : 1;
                } catch (const error &) {
                    failures++;
                }
            }
        });
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(failures, 0);
}

/// Parts between foreign nodes run on the session's threads or alone, whichever was faster in the first runs.
TEST_F(OnnxRuntimeProvider, RunsOnTheThreadsOfTheSession) {
    const auto model = pairs("Sinh", 8).finish();
    const session cpu(model, {});
    session_options how = with_octet({{"threads", "2"}});
    how.threads = 2;
    const session octet(model, how);
    EXPECT_EQ(octet.operators_of(by::cpu), std::vector<std::string>{"Sinh"});
    std::vector<std::vector<ort_tensor>> inputs, expected;
    for (unsigned i = 0; i < 3; i++) {
        inputs.push_back({reals({8, 3, 8, 8}, i)});
        expected.push_back(cpu.run(inputs.back()));
    }
    for (unsigned i = 0; i < 40; i++)
        ASSERT_EQ(difference(octet.run(inputs[i % 3]), expected[i % 3]), "") << i;
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < 30; i++)
                failures += difference(octet.run(inputs[(t + i) % 3]), expected[(t + i) % 3]).empty() ? 0 : 1;
        });
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(failures, 0);
}

TEST_F(OnnxRuntimeProvider, RefusesOptionsThatThereAreNot) {
    const auto model = pairs().finish();
    EXPECT_TRUE(contains(failure(model, with_octet({{"thread", "1"}})),
                         "option 'thread' is unknown, allowed: cache_dir, claim, log, memory_limit, minimum, "
                         "nbits, profile, rows_alike, threads"))
        << failure(model, with_octet({{"thread", "1"}}));
    EXPECT_TRUE(contains(failure(model, with_octet({{"threads", "-1"}})),
                         "option 'threads' is '-1', allowed: 0 to 1024"));
    EXPECT_TRUE(contains(failure(model, with_octet({{"claim", "float"}})), "allowed: quantized, all"));
    EXPECT_TRUE(contains(failure(model, with_octet({{"log", "yes"}})), "allowed: 0, 1"));
    EXPECT_TRUE(contains(failure(model, with_octet({{"rows_alike", "2"}})), "allowed: 0, 1"));
    EXPECT_TRUE(contains(failure(model, with_octet({{"minimum", "0"}})), "allowed: 1 to 1000000"));
    EXPECT_TRUE(
        contains(failure(model, with_octet({{"profile", "litert-2026.08-x86"}})), "allowed: ort-1.30"))
        << failure(model, with_octet({{"profile", "litert-2026.08-x86"}}));
    EXPECT_EQ(failure(model, with_octet({{"profile", "ort-1.30"}})), "");
    EXPECT_TRUE(contains(failure(model, with_octet({{"cache_dir", "/dev/null"}})),
                         "option 'cache_dir' is '/dev/null', allowed: a directory that is there"));
}

TEST_F(OnnxRuntimeProvider, LeavesAllThatDoesNotFitTheMemory) {
    const auto model = pairs().finish();
    const session octet(model, with_octet({{"memory_limit", "10"}}));
    EXPECT_TRUE(octet.operators_of(by::octet).empty());
}

TEST_F(OnnxRuntimeProvider, FollowsWhatTheSessionSaysOfPairs) {
    const auto model = pairs().finish();
    const session octet(model, with_octet({}, {{"session.disable_quant_qdq", "1"}}));
    EXPECT_TRUE(octet.operators_of(by::octet).empty());
}

TEST_F(OnnxRuntimeProvider, LeavesPartsThatAreTooSmallToWin) {
    const auto sigmoid = [](std::int64_t elements) {
        onnx_builder b(17);
        b.input<float>("x", {1, elements});
        b.scalar<float>("s", 0.03f), b.scalar<std::uint8_t>("z", 128);
        std::string t = "x";
        for (const std::string name : {"x", "y"}) {
            b.node("QuantizeLinear", {t, "s", "z"}, {name + "_q"});
            b.node("DequantizeLinear", {name + "_q", "s", "z"}, {name + "_d"});
            t = name + "_d";
            if (name == "x")
                b.node("Sigmoid", {t}, {"sigmoid"}), t = "sigmoid";
        }
        b.node("Identity", {t}, {"y"});
        b.output<float>("y", {1, elements});
        return b.finish();
    };
    EXPECT_TRUE(session(sigmoid(16), with_octet({{"log", "1"}})).operators_of(by::octet).empty());
    const std::string log = told();
    EXPECT_TRUE(contains(
        log, "a run would save 331 ns of ONNX Runtime's time (3 operators, 0 products, 48 elements) and "
             "cost 680 ns for its call (option minimum)"))
        << log;
    EXPECT_TRUE(session(sigmoid(16), with_octet({{"minimum", "1"}})).operators_of(by::cpu).empty());
    EXPECT_TRUE(session(sigmoid(4096), with_octet()).operators_of(by::cpu).empty());
}

/// As it is, the first of two pairs on s8 becomes u8, and what reads the codes twice is computed on floats.
TEST_F(OnnxRuntimeProvider, ComputesPairsOnSignedCodesAsTheSessionSays) {
    if (!cpu_provider_is_oracle())
        GTEST_SKIP() << "no AVX512-VNNI";
    onnx_builder b(17);
    b.input<float>("x", {2, 20});
    b.scalar<float>("s", 0.03f), b.scalar<float>("ws", 0.01f);
    b.scalar<std::int8_t>("z", 3), b.scalar<std::int8_t>("wz", 0);
    const auto pair = [&](const std::string &real) {
        b.node("QuantizeLinear", {real, "s", "z"}, {real + "_q"});
        b.node("DequantizeLinear", {real + "_q", "s", "z"}, {real + "_d"});
        return real + "_d";
    };
    std::string t = pair("x");
    for (const std::string name : {"a", "b", "c"}) {
        std::vector<std::int8_t> w(400);
        for (std::size_t i = 0; i < w.size(); i++)
            w[i] = static_cast<std::int8_t>((i + name[0]) * 37 % 255 - 127);
        b.constant<std::int8_t>(name + "_w", {20, 20}, w);
        b.node("DequantizeLinear", {name + "_w", "ws", "wz"}, {name + "_wd"});
        b.node("MatMul", {t, name + "_wd"}, {name});
        const std::string before = t;
        t = pair(name);
        if (name == "b") {
            b.node("Add", {t, before}, {"sum"});
            t = pair("sum");
        }
    }
    b.node("Identity", {t}, {"y"});
    b.output<float>("y", {2, 20});
    const auto model = b.finish();
    const std::vector<ort_tensor> x{random_reals({2, 20}, 9, 3.f)};
    std::vector<std::vector<ort_tensor>> results;
    for (const std::string allowed : {"0", "1"}) {
        session_options plain, how = with_octet();
        plain.entries = how.entries = {{"session.qdqisint8allowed", allowed}};
        const session cpu(model, plain), octet(model, how);
        EXPECT_EQ(octet.operators_of(by::cpu), std::vector<std::string>()) << allowed;
        results.push_back(cpu.run(x));
        EXPECT_EQ(difference(octet.run(x), results.back()), "") << allowed;
    }
}

/// A product before a Relu stays on floats if the Relu has one reader. Readers outside of a part count.
TEST_F(OnnxRuntimeProvider, CountsReadersThatItLacks) {
    using names = std::vector<std::string>;
    for (const names &readers :
         {names{"Cosh"}, {"Tanh"}, {"Tanh", "Cosh"}, {"Cosh", "Sinh"}, {"Tanh", "Tanh", "Cosh"}}) {
        onnx_builder b(17);
        b.input<float>("x", {2, 20});
        b.scalar<float>("s", 0.03f), b.scalar<float>("ws", 0.01f);
        b.scalar<std::uint8_t>("z", 10), b.scalar<std::int8_t>("wz", 0);
        std::vector<std::int8_t> w(400);
        for (std::size_t i = 0; i < w.size(); i++)
            w[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
        b.constant<std::int8_t>("w", {20, 20}, w);
        b.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
        b.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
        b.node("DequantizeLinear", {"w", "ws", "wz"}, {"dw"});
        b.node("MatMul", {"d", "dw"}, {"product"});
        b.node("Relu", {"product"}, {"relu"});
        std::string text;
        for (std::size_t i = 0; i < readers.size(); i++) {
            const std::string y = "y" + std::to_string(i);
            b.node(readers[i], {"relu"}, {y});
            b.output<float>(y, {2, 20});
            text += readers[i] + " ";
        }
        const auto model = b.finish();
        const session cpu(model, {}), octet(model, with_octet({{"minimum", "1"}}));
        for (unsigned seed = 0; seed < 4; seed++) {
            const std::vector<ort_tensor> x{random_reals({2, 20}, seed, 1.f)};
            EXPECT_EQ(difference(octet.run(x), cpu.run(x)), "") << "read by " << text;
        }
    }
}

/// Constants of the outer graph that a part of a body would read; those that lie in a file ONNX Runtime does
/// not hand over.
TEST_F(OnnxRuntimeProvider, LeavesConstantsOfAnOuterGraph) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / ("octet_outer_" + std::to_string(getpid()));
    fs::create_directories(folder);
    for (const bool is_in_file : {false, true}) {
        onnx_builder b(17);
        b.input<float>("x", {2, 3});
        b.constant<float>("factor", {1}, {1.5f});
        if (is_in_file) {
            onnx::TensorProto &t = *b.graph().mutable_initializer(0);
            std::ofstream(folder / "weights", std::ios::binary) << t.raw_data();
            t.clear_raw_data();
            t.set_data_location(onnx::TensorProto::EXTERNAL);
            for (const auto &[key, value] :
                 {std::pair{"location", "weights"}, {"offset", "0"}, {"length", "4"}}) {
                auto &entry = *t.add_external_data();
                entry.set_key(key), entry.set_value(value);
            }
        }
        onnx::ValueInfoProto &condition = *b.graph().add_input();
        condition.set_name("condition");
        condition.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
        condition.mutable_type()->mutable_tensor_type()->mutable_shape();
        onnx::NodeProto &choice = b.node("If", {"condition"}, {"y"});
        for (const std::string name : {"then_branch", "else_branch"}) {
            onnx_builder body(17);
            body.node(name == "then_branch" ? "Mul" : "Add", {"x", "factor"}, {name + "_y"});
            body.output<float>(name + "_y", {2, 3});
            body.graph().set_name(name);
            *onnx_builder::attribute(choice, name, onnx::AttributeProto::GRAPH).mutable_g() = body.graph();
        }
        b.output<float>("y", {2, 3});
        const auto model = b.finish();
        std::ofstream(folder / "model.onnx", std::ios::binary)
            .write(reinterpret_cast<const char *>(model.data()), static_cast<std::streamsize>(model.size()));
        const session cpu(folder / "model.onnx", {}),
            octet(folder / "model.onnx", with_octet({{"minimum", "1"}, {"claim", "all"}}));
        for (const std::uint8_t taken : {0, 1}) {
            const std::vector<ort_tensor> x{reals({2, 3}, 1), {onnxruntime::element::boolean, {}, {taken}}};
            EXPECT_EQ(difference(octet.run(x), cpu.run(x)), "") << is_in_file << taken;
        }
    }
    fs::remove_all(folder);
}

TEST_F(OnnxRuntimeProvider, LivesThroughManySessions) {
    const auto model = pairs("Sinh").finish();
    const std::vector<ort_tensor> x{reals({2, 3, 8, 8}, 3)};
    const std::vector<ort_tensor> expected = session(model, {}).run(x);
    for (int i = 0; i < 100; i++) {
        const session a(model, with_octet()), other(model, with_octet());
        EXPECT_EQ(difference(a.run(x), expected), "");
        if (i % 10 == 0) {
            EXPECT_EQ(difference(other.run(x), expected), "");
        }
    }
    host::get()->remove_provider();
    host::get()->add_provider();
    EXPECT_EQ(difference(session(model, with_octet()).run(x), expected), "");
}

} // namespace
} // namespace octet::tests
