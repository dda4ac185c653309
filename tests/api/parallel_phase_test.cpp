// Threads that stay awake change no byte, and do not stay awake for ever.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "cpu/machine/parallel.hpp"
#include "octet/octet.hpp"
#include "octet/parallel_loop.hpp"

using namespace octet;

namespace {

const engine cpu(engine::kind::cpu, 0);

/// A product that is worth several threads, created and executed anew.
std::vector<std::int32_t> product() {
    const memory::desc src({67, 256}, data_type::u8, format_tag::ab),
        weights({256, 200}, data_type::s8, format_tag::ab), dst({67, 200}, data_type::s32, format_tag::ab);
    const memory s(src, cpu), w(weights, cpu), d(dst, cpu);
    for (std::size_t i = 0; i < src.get_size(); i++)
        s.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7);
    for (std::size_t i = 0; i < weights.get_size(); i++)
        w.map_data<std::int8_t>()[i] = static_cast<std::int8_t>(i * 5);
    const octet::matmul primitive(matmul::primitive_desc({src, weights, dst}, cpu));
    for (int i = 0; i < 20; i++)
        primitive.execute(stream(cpu), {{OCTET_ARG_SRC, s}, {OCTET_ARG_WEIGHTS, w}, {OCTET_ARG_DST, d}});
    const auto *values = d.map_data<std::int32_t>();
    return {values, values + 67 * 200};
}

TEST(parallel_phase, changes_no_byte) {
    const std::vector<std::int32_t> expected = product();
    for (const int threads : {0, 1, 2, 3, 8}) {
        const num_threads_scope count(threads);
        const parallel_phase phase;
        EXPECT_EQ(product(), expected) << threads;
        const parallel_phase nested;
        EXPECT_EQ(product(), expected) << threads;
    }
    EXPECT_EQ(product(), expected);
}

TEST(parallel_phase, may_be_open_in_many_threads) {
    const std::vector<std::int32_t> expected = product();
    std::vector<std::thread> users;
    for (int i = 0; i < 6; i++)
        users.emplace_back([&expected, i] {
            const num_threads_scope count(1 + i % 3);
            for (int round = 0; round < 5; round++) {
                const parallel_phase phase;
                EXPECT_EQ(product(), expected);
            }
        });
    for (std::thread &user : users)
        user.join();
}

TEST(parallel_phase, hands_on_what_a_loop_throws) {
    const num_threads_scope count(3);
    const parallel_phase phase;
    for (int i = 0; i < 100; i++)
        EXPECT_THROW(impl::parallel_for(3, 1,
                                        [](std::int64_t begin, std::int64_t) {
                                            if (begin > 0)
                                                throw std::runtime_error("a task");
                                        }),
                     std::runtime_error);
}

TEST(parallel_phase, runs_nested_loops_in_the_thread_that_meets_them) {
    const num_threads_scope count(3);
    const parallel_phase phase;
    impl::parallel_for(3, 1, [](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; i++) {
            const auto thread = std::this_thread::get_id();
            impl::parallel_for(
                8, 1, [&](std::int64_t, std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), thread); });
        }
    });
}

TEST(parallel_loop, meets_each_index_once) {
    for (const int threads : {1, 2, 5}) {
        const num_threads_scope scope(threads);
        for (const std::int64_t count : {0, 1, 7, 1000}) {
            std::vector<std::atomic<int>> met(static_cast<std::size_t>(count));
            parallel_loop(count, 3, [&](std::int64_t begin, std::int64_t end) {
                EXPECT_LT(begin, end);
                for (std::int64_t i = begin; i < end; i++)
                    met[static_cast<std::size_t>(i)]++;
            });
            for (const std::atomic<int> &times : met)
                EXPECT_EQ(times, 1);
        }
        EXPECT_THROW(
            parallel_loop(100, 1, [](std::int64_t, std::int64_t) { throw std::runtime_error("a range"); }),
            std::runtime_error);
    }
}

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

TEST(parallel_phase, burns_no_core_when_nothing_runs) {
    const num_threads_scope count(2);
    const parallel_phase phase;
    product();
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LT(cpu_seconds() - before, 0.1) << "of 0.5 s: a thread that did not go";
}

} // namespace
