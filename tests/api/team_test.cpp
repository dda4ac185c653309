// A team's loops: each task once, whoever comes, goes or stays away. Members here are plain threads, so that the
// thread sanitizer sees everything.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cpu/machine/parallel.hpp"
#include "cpu/machine/team.hpp"
#include "cpu/machine/workers.hpp"
#include "octet/settings.hpp"
#include "octet/thread_loan.hpp"

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

/// Sums 0 to count - 1 in a loop; `threads` gets those that took part.
std::int64_t sum_in_loop(std::int64_t count, std::set<std::thread::id> &threads) {
    std::atomic<std::int64_t> sum{0};
    std::mutex mutex;
    octet::impl::parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; i++)
            sum += i;
        const std::lock_guard<std::mutex> lock(mutex);
        threads.insert(std::this_thread::get_id());
    });
    return sum;
}

TEST(thread_loan, runs_loops_on_those_who_serve_and_nobody_else) {
    const octet::num_threads_scope three(3);
    for (const int lenders : {0, 1, 2, 4}) { // one too many is no harm
        octet::thread_loan loan(3);
        std::set<std::thread::id> allowed{std::this_thread::get_id()}, seen;
        std::vector<std::thread> threads;
        for (int i = 0; i < lenders; i++) {
            threads.emplace_back([&] { loan.serve(); });
            allowed.insert(threads.back().get_id());
        }
        loan.run([&] {
            for (int i = 0; i < 200; i++)
                ASSERT_EQ(sum_in_loop(1000, seen), 999 * 1000 / 2);
        });
        for (std::thread &t : threads)
            t.join();
        loan.serve();                                      // returns at once
        if (octet::impl::workers::lent_team(3).exists()) { // not with OpenMP
            for (const std::thread::id id : seen) {
                EXPECT_EQ(allowed.count(id), 1u) << lenders;
            }
        }
    }
}

TEST(thread_loan, tells_whether_a_loop_was_divided) {
    const octet::num_threads_scope two(2);
    if (!octet::impl::workers::lent_team(2).exists())
        GTEST_SKIP() << "this library has no teams";
    for (const std::int64_t count : {1, 1000}) {
        octet::thread_loan loan(2);
        std::set<std::thread::id> seen;
        loan.run([&] { sum_in_loop(count, seen); }); // and nobody comes
        EXPECT_EQ(loan.is_used(), count > 1);
    }
}

TEST(thread_loan, ends_with_what_the_work_throws) {
    const octet::num_threads_scope two(2);
    octet::thread_loan loan(2);
    std::thread lender([&] { loan.serve(); });
    EXPECT_THROW(loan.run([] { throw std::runtime_error("no"); }), std::runtime_error);
    lender.join();
}

} // namespace
