// A pool of the caller's in oneTBB's place: loops run on it, with the same bytes, and never on more threads
// than it has.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;

namespace {

const engine cpu(engine::kind::cpu, 0);

/// A thread per task, as slow as it is simple.
struct counting_pool {
    int size;
    std::atomic<int> loops{0}, most_tasks{0};

    explicit counting_pool(int size) : size(size) {}

    thread_pool as_pool() {
        return {[](void *self) { return static_cast<counting_pool *>(self)->size; },
                [](void *self, int count, void (*task)(void *, int), void *arg) {
                    auto &pool = *static_cast<counting_pool *>(self);
                    pool.loops++;
                    pool.most_tasks = std::max<int>(pool.most_tasks, count);
                    std::vector<std::thread> threads;
                    for (int i = 1; i < count; i++)
                        threads.emplace_back(task, arg, i);
                    task(arg, 0);
                    for (std::thread &thread : threads)
                        thread.join();
                },
                this};
    }
};

/// While it lives, loops run on the pool.
struct in_use {
    explicit in_use(counting_pool &pool) { set_thread_pool(pool.as_pool()); }
    ~in_use() { set_thread_pool({}); }
};

/// A convolution that is worth several threads.
std::vector<std::int32_t> convolution() {
    const memory::desc src({2, 32, 28, 28}, data_type::u8, format_tag::nhwc),
        dst({2, 64, 28, 28}, data_type::s32, format_tag::nhwc);
    const memory::desc weights({64, 32, 3, 3}, data_type::s8, format_tag::oihw);
    const convolution_forward::primitive_desc pd({prop_kind::forward_inference,
                                                  algorithm::convolution_direct,
                                                  src,
                                                  weights,
                                                  dst,
                                                  {1, 1},
                                                  {1, 1},
                                                  {1, 1}},
                                                 cpu);
    memory s(src, cpu), w(weights, cpu), d(dst, cpu);
    for (std::size_t i = 0; i < src.get_size(); i++)
        s.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7);
    for (std::size_t i = 0; i < weights.get_size(); i++)
        w.map_data<std::int8_t>()[i] = static_cast<std::int8_t>(i * 5);
    octet::convolution_forward(pd).execute(stream(cpu),
                                           {{OCTET_ARG_SRC, s}, {OCTET_ARG_WEIGHTS, w}, {OCTET_ARG_DST, d}});
    const auto *values = d.map_data<std::int32_t>();
    return {values, values + 2 * 64 * 28 * 28};
}

TEST(thread_pool, runs_loops_with_the_same_bytes) {
    const std::vector<std::int32_t> expected = convolution();
    for (const int size : {1, 2, 3, 7}) {
        counting_pool pool(size);
        const in_use scope(pool);
        EXPECT_EQ(get_num_threads(), size);
        EXPECT_EQ(convolution(), expected) << size;
        EXPECT_LE(pool.most_tasks, size);
        EXPECT_EQ(pool.loops > 0, size > 1) << size;
    }
    set_num_threads(2);
    EXPECT_EQ(get_num_threads(), 2) << "oneTBB again";
    set_num_threads(0);
    EXPECT_EQ(convolution(), expected);
}

TEST(thread_pool, of_one_function_is_refused) {
    thread_pool half = counting_pool(1).as_pool();
    half.run = nullptr;
    expect_invalid([&] { set_thread_pool(half); },
                   {"set_thread_pool: run is null", "allowed: both functions, or neither"});
    half = {};
    half.run = [](void *, int, void (*)(void *, int), void *) {};
    expect_invalid([&] { set_thread_pool(half); }, {"set_thread_pool: threads is null"});
}

} // namespace
