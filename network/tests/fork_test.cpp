// A process that forks while its threads load networks and give one other sizes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

TEST(NetworkFork, AChildLoadsAndResizesNetworks) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "the sanitizer holds locks of its own";
#endif
    constexpr unsigned longest_seconds = 30;
    onnx_builder m;
    m.input<float>("x", {-1, 3});
    m.node("Relu", {"x"}, {"y"});
    m.output("y");
    const std::vector<std::uint8_t> bytes = m.finish();
    const network open(bytes.data(), bytes.size(), "open.onnx");
    const std::string path = source_path("examples/digits/digits_int8.tflite");
    const auto work = [&](dim_t rows) {
        network digits(path, network_options());
        digits.run();
        network context = open.new_context();
        network_sizes sizes;
        sizes.shapes = {{"x", {rows, 3}}};
        context.resize(sizes);
        context.run();
        return context.output().dims() == memory::dims{rows, 3};
    };
    std::atomic<bool> is_over{false};
    std::vector<std::thread> others;
    for (int t = 0; t < 3; t++)
        others.emplace_back([&, t] {
            for (dim_t rows = t + 1; !is_over; rows = rows % 100 + 1)
                EXPECT_TRUE(work(rows));
        });
    for (int i = 0; i < 50; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(longest_seconds);
            _exit(work(1 + i) ? 0 : 1);
        }
        int status = 0;
        ASSERT_GT(child, 0);
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << i << ": " << status;
        if (HasFailure())
            break;
    }
    is_over = true;
    for (std::thread &t : others)
        t.join();
}

} // namespace
} // namespace octet::tests
