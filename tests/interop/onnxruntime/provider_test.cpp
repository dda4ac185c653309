// What a session with the provider does besides computing: options, refusals, partial claims, runs at once, lifetimes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "interop/onnxruntime/host.hpp"
#include "model/onnx_builder.hpp"
#include "octet/error.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;
namespace element = onnxruntime::element;

session_options with_octet(options provider = {}, options entries = {}) {
    session_options o;
    o.who = by::octet;
    o.provider = std::move(provider);
    o.entries = std::move(entries);
    return o;
}

ort_tensor reals(std::vector<std::int64_t> dims, unsigned seed) {
    return random_reals(std::move(dims), seed, 3.f);
}

/// Pairs of QuantizeLinear and DequantizeLinear around products, with more in the middle.
class pairs : public b {
public:
    explicit pairs(const std::string &middle = "", std::int64_t batch = 2) {
        input<float>("x", {batch, 3, 8, 8});
        scalar<float>("s", 0.03f), scalar<float>("ws", 0.01f);
        scalar<std::uint8_t>("z", 0), scalar<std::int8_t>("wz", 0);
        std::string t = convolution(quantized("x", "x"), "first", 3, 8);
        if (!middle.empty()) {
            node(middle, {t + "_real"}, {"middle"});
            t = quantized("middle", "middle");
        }
        t = convolution(t, "second", 8, 4);
        node("Identity", {t + "_real"}, {"y"});
        output<float>("y", {batch, 4, 8, 8});
    }

private:
    /// Codes of `real`, and "NAME_real" again.
    std::string quantized(const std::string &real, const std::string &name) {
        node("QuantizeLinear", {real, "s", "z"}, {name + "_q"});
        node("DequantizeLinear", {name + "_q", "s", "z"}, {name + "_real"});
        return name;
    }
    std::string convolution(const std::string &x, const std::string &name, std::int64_t from,
                            std::int64_t to) {
        std::vector<std::int8_t> w(static_cast<std::size_t>(to * from * 9));
        for (std::size_t i = 0; i < w.size(); i++)
            w[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
        constant<std::int8_t>(name + "_w", {to, from, 3, 3}, w);
        node("DequantizeLinear", {name + "_w", "ws", "wz"}, {name + "_w_real"});
        set(node("Conv", {x + "_real", name + "_w_real"}, {name + "_sum"}), "pads", dims{1, 1, 1, 1});
        node("Relu", {name + "_sum"}, {name + "_relu"});
        return quantized(name + "_relu", name);
    }
};

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
    /// What the provider told with option log.
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
    const auto model = pairs("Sin").finish();
    const session cpu(model, {}), octet(model, with_octet({{"log", "1"}}));
    EXPECT_EQ(octet.operators_of(by::cpu), std::vector<std::string>{"Sin"});
    const std::string log = told();
    EXPECT_TRUE(contains(log, "(Sin)") && contains(log, "Octet lacks the operator")) << log;
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

TEST_F(OnnxRuntimeProvider, RunsOnManyThreadsAtOnce) {
    const auto model = pairs("Sin", -1).finish();
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

TEST_F(OnnxRuntimeProvider, RefusesOptionsThatThereAreNot) {
    const auto model = pairs().finish();
    EXPECT_TRUE(contains(failure(model, with_octet({{"thread", "1"}})),
                         "option 'thread' is unknown, allowed: claim, log, memory_limit, minimum, threads"))
        << failure(model, with_octet({{"thread", "1"}}));
    EXPECT_TRUE(contains(failure(model, with_octet({{"threads", "-1"}})),
                         "option 'threads' is '-1', allowed: 0 to 1024"));
    EXPECT_TRUE(contains(failure(model, with_octet({{"claim", "float"}})), "allowed: quantized, all"));
    EXPECT_TRUE(contains(failure(model, with_octet({{"log", "yes"}})), "allowed: 0, 1"));
    EXPECT_TRUE(contains(failure(model, with_octet({{"minimum", "0"}})), "allowed: 1 to 1000000"));
    const std::string compiled =
        failure(model, with_octet({}, {{"ep.context_enable", "1"}, {"ep.context_file_path", "never.onnx"}}));
    EXPECT_TRUE(contains(compiled, "ep.context_enable is not supported")) << compiled;
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

TEST_F(OnnxRuntimeProvider, LivesThroughManySessions) {
    const auto model = pairs("Sin").finish();
    const std::vector<ort_tensor> x{reals({2, 3, 8, 8}, 3)};
    const std::vector<ort_tensor> expected = session(model, {}).run(x);
    for (int i = 0; i < 50; i++) {
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
