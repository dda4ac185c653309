// A team's loops: each task once, whoever comes, goes or stays away. Members here are plain threads, so that the
// thread sanitizer sees everything.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "cpu/machine/team.hpp"

using octet::impl::team;

namespace {

/// Lends a team all the threads that it has places for, until it is destroyed.
class lent_threads {
public:
    explicit lent_threads(team &t) {
        for (int i = 1; i < t.size(); i++) {
            t.invite(); // before it can have gone again
            threads_.emplace_back([&t] { t.serve(); });
        }
    }
    ~lent_threads() {
        for (std::thread &thread : threads_)
            thread.join();
    }

private:
    std::vector<std::thread> threads_;
};

/// How often each task of one loop ran; `counts` is plain memory, so that a race would be seen.
struct counted_loop {
    std::vector<int> counts;
    std::atomic<int> done{0};

    explicit counted_loop(int tasks) : counts(static_cast<std::size_t>(tasks)) {}
    static void run(void *self, int index) {
        auto &loop = *static_cast<counted_loop *>(self);
        loop.counts[static_cast<std::size_t>(index)]++;
        loop.done++;
    }
};

void run_loops(team &t, int loops) {
    for (int i = 0; i < loops; i++) {
        const int tasks = 1 + i % t.size();
        counted_loop loop(tasks);
        t.run(tasks, counted_loop::run, &loop);
        ASSERT_EQ(loop.done, tasks) << "the loop has ended before its tasks";
        for (const int count : loop.counts)
            ASSERT_EQ(count, 1);
    }
}

TEST(team, runs_each_task_once) {
    for (const int size : {1, 2, 3, 8}) {
        team t(size);
        t.set_leader();
        const lent_threads members(t);
        run_loops(t, 5000);
    }
}

TEST(team, needs_nobody_but_its_leader) {
    team t(4);
    t.set_leader();
    run_loops(t, 1000);
}

TEST(team, goes_on_when_members_have_gone) {
    team t(3);
    t.set_leader();
    for (int round = 0; round < 20; round++) {
        {
            const lent_threads members(t); // they leave when nothing comes for a while
            run_loops(t, 100);
        }
        EXPECT_TRUE(t.has_free_place());
        run_loops(t, 10);
    }
}

TEST(team, does_not_take_its_leader_as_a_member) {
    team t(2);
    t.set_leader();
    t.invite();
    t.serve(); // returns at once
    EXPECT_TRUE(t.has_free_place());
}

TEST(team, shows_what_tasks_have_written) {
    team t(2);
    t.set_leader();
    const lent_threads members(t);
    std::vector<int> values(2);
    for (int i = 0; i < 5000; i++)
        t.run(
            2,
            [](void *v, int index) {
                (*static_cast<std::vector<int> *>(v))[static_cast<std::size_t>(index)]++;
            },
            &values);
    EXPECT_EQ(values, (std::vector<int>{5000, 5000}));
}

} // namespace
