// A process that forks while its threads make primitives: each child makes the same primitives, and waits for
// no lock that a thread held which it does not have.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "octet/fork_guard.hpp"
#include "octet/octet.hpp"

using namespace octet;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool threads_may_fork = false; // sanitizers hold locks of their own
#else
constexpr bool threads_may_fork = true;
#endif

constexpr unsigned longest_seconds = 20;

/// Whether a child runs `work` to its end. One that waits for ever is ended by its alarm.
bool child_ends(const std::function<void()> &work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(longest_seconds);
        work();
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void make(int number) {
    using dt = data_type;
    using tag = format_tag;
    const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct,
                                      {{1, 4 + number, 9, 7}, dt::u8, tag::nhwc},
                                      {{6, 4 + number, 3, 3}, dt::s8, tag::any}, {{6}, dt::s32, tag::x},
                                      {{1, 6, 9, 7}, dt::s32, tag::nhwc}, {1, 1}, {1, 1}, {1, 1});
    const convolution_forward primitive(
        convolution_forward::primitive_desc(d, primitive_attr(), engine(engine::kind::cpu, 0)));
}

class threads_that_make {
public:
    threads_that_make() {
        set_primitive_cache_capacity(1); // keeps nothing, and has each made once at a time
        for (int t = 0; t < 3; t++)
            all_.emplace_back([this, t] {
                for (int i = t; !is_over_; i++)
                    make(i % 4), has_made_++;
            });
        while (has_made_ < 8)
            std::this_thread::yield();
    }
    ~threads_that_make() {
        is_over_ = true;
        for (std::thread &t : all_)
            t.join();
        set_primitive_cache_capacity(before_);
    }

private:
    const std::size_t before_ = get_primitive_cache_capacity();
    std::atomic<bool> is_over_{false};
    std::atomic<int> has_made_{0};
    std::vector<std::thread> all_;
};

TEST(Fork, a_child_makes_what_threads_of_its_parent_were_making) {
    if (!threads_may_fork)
        GTEST_SKIP() << "not under sanitizers, which hold locks of their own";
    const threads_that_make others;
    for (int i = 0; i < 100; i++)
        ASSERT_TRUE(child_ends([] {
            for (int k = 0; k < 4; k++)
                make(k);
        })) << "child "
            << i;
}

TEST(Fork, a_guarded_mutex_is_free_in_the_child) {
    std::mutex mutex;
    int parents = 0, children = 0;
    const fork_guard guard(mutex, [&](fork_guard::process where) {
        EXPECT_FALSE(mutex.try_lock());
        (where == fork_guard::process::child ? children : parents)++;
    });
    EXPECT_TRUE(child_ends([&] { _exit(mutex.try_lock() && children == 1 && parents == 0 ? 0 : 1); }));
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_EQ(parents, 1);
    mutex.unlock();
}

/// The list of guards has one order, threads may nest in any: a fork that waited for one mutex with another
/// in its hands would wait for ever in one of both cases.
TEST(Fork, the_order_in_which_mutexes_nest_does_not_matter) {
    if (!threads_may_fork)
        GTEST_SKIP() << "not under sanitizers, which hold locks of their own";
    std::mutex first, second;
    const fork_guard of_first(first), of_second(second);
    for (const bool is_reversed : {false, true}) {
        std::mutex &outer = is_reversed ? second : first, &inner = is_reversed ? first : second;
        std::atomic<bool> is_over{false};
        std::thread nesting([&] {
            while (!is_over) {
                std::this_thread::sleep_for(std::chrono::microseconds(20));
                const std::lock_guard<std::mutex> a(outer);
                std::this_thread::sleep_for(std::chrono::microseconds(20));
                const std::lock_guard<std::mutex> b(inner);
            }
        });
        for (int i = 0; i < 50; i++)
            EXPECT_TRUE(child_ends([&] { _exit(outer.try_lock() && inner.try_lock() ? 0 : 1); }));
        is_over = true;
        nesting.join();
    }
}

/// A lock may be held by a thread that waits for what the one that forks has, as Python's.
TEST(Fork, waits_a_bounded_time_for_a_mutex) {
    std::mutex held, other;
    const fork_guard of_held(held), of_other(other);
    held.lock();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(child_ends([&] { _exit(held.try_lock() && other.try_lock() ? 0 : 1); }));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(longest_seconds / 2));
    EXPECT_FALSE(held.try_lock()) << "the parent's thread has it still";
    EXPECT_TRUE(other.try_lock());
    other.unlock();
    held.unlock();
}

} // namespace
