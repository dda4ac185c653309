// Kernels are made once each, outside of locks.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "jit/base/generated.hpp"

namespace octet::impl::jit {
namespace {

constexpr std::chrono::seconds longest{20};

struct number_spec {
    int number;
    int depth; ///< kernels of this class that it asks for while it is made
};

struct no_args {
    int none;
};

std::atomic<int> made{0};
std::function<void(const number_spec &)> while_made; ///< by the test that runs

class number_kernel : public generated<const no_args> {
public:
    explicit number_kernel(const number_spec &spec) : generated(instruction_set{cpu_isa::avx2}) {
        made++;
        if (while_made)
            while_made(spec);
        if (spec.depth > 0)
            inner_ = shared_kernel<number_kernel>(number_spec{spec.number, spec.depth - 1});
        mov(eax, spec.number);
        ret();
        finish([&] { return name("number", std::to_string(spec.number)); });
    }

private:
    std::shared_ptr<const code> inner_;
};

std::shared_ptr<const void> kernel(int number, int depth = 0) {
    return shared_kernel<number_kernel>(number_spec{number, depth});
}

class shared_kernels : public testing::Test {
protected:
    shared_kernels() { made = 0; }
    ~shared_kernels() override { while_made = nullptr; }
};

TEST_F(shared_kernels, are_made_once_while_somebody_has_them) {
    const auto first = kernel(1);
    EXPECT_EQ(kernel(1), first);
    EXPECT_NE(kernel(2), first);
    EXPECT_EQ(made, 2);
    kernel(2);
    EXPECT_EQ(made, 3) << "nobody had it";
}

TEST_F(shared_kernels, ask_for_others_of_their_class) {
    std::promise<void> ended;
    std::thread t([&] {
        kernel(3, 4);
        ended.set_value();
    });
    const bool has_ended = ended.get_future().wait_for(longest) == std::future_status::ready;
    ASSERT_TRUE(has_ended || (t.detach(), false)) << "it waits for itself";
    t.join();
    EXPECT_EQ(made, 5);
}

/// Each waits until the other is being made.
TEST_F(shared_kernels, of_one_class_are_made_at_once) {
    std::atomic<int> present{0};
    std::atomic<bool> have_met{true};
    while_made = [&](const number_spec &) {
        present++;
        const auto end = std::chrono::steady_clock::now() + longest;
        while (present < 2 && have_met)
            if (std::this_thread::yield(); std::chrono::steady_clock::now() > end)
                have_met = false;
    };
    std::thread other([] { kernel(4); });
    kernel(5);
    other.join();
    EXPECT_TRUE(have_met);
}

TEST_F(shared_kernels, of_one_key_are_made_by_one_thread) {
    while_made = [](const number_spec &) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    std::vector<std::future<std::shared_ptr<const void>>> all;
    all.reserve(4);
    for (int i = 0; i < 4; i++)
        all.push_back(std::async(std::launch::async, [] { return kernel(6); }));
    const auto first = all[0].get();
    for (std::size_t i = 1; i < all.size(); i++)
        EXPECT_EQ(all[i].get(), first);
    EXPECT_EQ(made, 1);
}

TEST_F(shared_kernels, that_cannot_be_made_are_tried_again) {
    while_made = [](const number_spec &) { throw std::runtime_error("not now"); };
    EXPECT_THROW(kernel(7), std::runtime_error);
    while_made = nullptr;
    EXPECT_NE(kernel(7), nullptr);
    EXPECT_EQ(made, 2);
}

} // namespace
} // namespace octet::impl::jit
