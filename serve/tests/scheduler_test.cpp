// The scheduler with an executor that does what the test says, under the thread sanitizer, too.
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler.hpp"

#include <atomic>
#include <future>
#include <random>

#include <gtest/gtest.h>

namespace octet::serve {
namespace {

/// Notes the batches and, while it is shut, holds them up.
class gate : public executor {
public:
    void run(const std::vector<std::shared_ptr<job>> &batch, bool) override {
        std::unique_lock<std::mutex> lock(mutex_);
        std::int64_t rows = 0;
        for (const auto &j : batch)
            rows += j->rows;
        batches_.push_back(rows);
        arrived_.notify_all();
        opened_.wait(lock, [&] { return is_open_; });
        if (fails)
            throw std::runtime_error("no");
    }
    void open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_open_ = true;
        opened_.notify_all();
    }
    /// Until `count` batches have begun.
    void wait_for(std::size_t count) {
        std::unique_lock<std::mutex> lock(mutex_);
        arrived_.wait(lock, [&] { return batches_.size() >= count; });
    }
    std::vector<std::int64_t> batches() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return batches_;
    }
    std::atomic<bool> fails{false};

private:
    std::mutex mutex_;
    std::condition_variable opened_, arrived_;
    std::vector<std::int64_t> batches_;
    bool is_open_ = false;
};

struct asked {
    std::shared_ptr<job> work = std::make_shared<job>();
    std::promise<outcome> promise;
    std::future<outcome> result = promise.get_future();
};

std::shared_ptr<asked> ask(scheduler &s, const std::shared_ptr<job_queue> &queue, std::int64_t rows = 1,
                           const std::function<void(job &)> &change = {}) {
    const auto a = std::make_shared<asked>();
    a->work->rows = rows;
    a->work->when_done = [a](job &j) { a->promise.set_value(j.result); };
    if (change)
        change(*a->work);
    try {
        s.submit(queue, a->work);
    } catch (const refusal &r) {
        a->work->when_done = nullptr;
        a->promise.set_value(r.why);
    }
    return a;
}

queue_options sizes(std::vector<std::int64_t> s) {
    queue_options o;
    o.sizes = std::move(s);
    return o;
}

/// One worker that is held up by a first job, so that what comes next has to wait.
struct held_up {
    scheduler s{1};
    std::shared_ptr<gate> door = std::make_shared<gate>();
    std::shared_ptr<job_queue> queue;
    std::shared_ptr<asked> first;

    explicit held_up(const queue_options &options) : queue(s.add(door, options)), first(ask(s, queue)) {
        door->wait_for(1);
    }
};

} // namespace

TEST(serve_scheduler, batches_are_of_the_sizes) {
    held_up h(sizes({1, 2, 4}));
    std::vector<std::shared_ptr<asked>> all;
    for (int i = 0; i < 7; i++)
        all.push_back(ask(h.s, h.queue));
    h.door->open();
    for (const auto &a : all)
        EXPECT_EQ(a->result.get(), outcome::ok);
    EXPECT_EQ(h.door->batches(), (std::vector<std::int64_t>{1, 4, 2, 1}));
}

TEST(serve_scheduler, rows_that_make_no_size_run_together) {
    held_up h(sizes({1, 2, 4, 8}));
    const auto a = ask(h.s, h.queue, 3), b = ask(h.s, h.queue, 2), c = ask(h.s, h.queue, 9);
    h.door->open();
    for (const auto &one : {a, b, c})
        EXPECT_EQ(one->result.get(), outcome::ok);
    EXPECT_EQ(h.door->batches(), (std::vector<std::int64_t>{1, 5, 9}));
}

TEST(serve_scheduler, other_shapes_and_profiles_run_alone) {
    held_up h(sizes({1, 2, 4}));
    const auto is_long = [](job &j) { j.shapes = "1x128"; };
    const auto a = ask(h.s, h.queue), b = ask(h.s, h.queue, 1, is_long),
               c = ask(h.s, h.queue, 1, [](job &j) { j.wants_profile = true; }), d = ask(h.s, h.queue),
               e = ask(h.s, h.queue, 1, is_long);
    h.door->open();
    for (const auto &one : {a, b, c, d, e})
        EXPECT_EQ(one->result.get(), outcome::ok);
    EXPECT_EQ(h.door->batches(), (std::vector<std::int64_t>{1, 2, 2, 1}));
}

TEST(serve_scheduler, bounds_refuse_at_once) {
    queue_options o = sizes({1});
    o.most_jobs = 2;
    o.most_bytes = 100;
    held_up h(o);
    const auto large = [](job &j) { j.bytes = 80; };
    const auto a = ask(h.s, h.queue, 1, large), b = ask(h.s, h.queue, 1, large);
    EXPECT_EQ(b->result.get(), outcome::overloaded); // bytes
    const auto c = ask(h.s, h.queue), d = ask(h.s, h.queue);
    EXPECT_EQ(d->result.get(), outcome::overloaded); // jobs
    h.door->open();
    EXPECT_EQ(a->result.get(), outcome::ok);
    EXPECT_EQ(c->result.get(), outcome::ok);
    EXPECT_EQ(h.door->batches().size(), 3u);
}

TEST(serve_scheduler, urgent_jobs_go_first) {
    held_up h(sizes({1}));
    std::vector<int> order;
    std::mutex mutex;
    const auto with_priority = [&](int priority) {
        return ask(h.s, h.queue, 1, [&, priority](job &j) {
            j.priority = priority;
            j.when_done = [&, priority, tell = std::move(j.when_done)](job &done) {
                {
                    const std::lock_guard<std::mutex> lock(mutex);
                    order.push_back(priority);
                }
                tell(done);
            };
        });
    };
    std::vector<std::shared_ptr<asked>> all;
    for (const int priority : {2, 3, 1, 2, 1, 3})
        all.push_back(with_priority(priority));
    h.door->open();
    for (const auto &a : all)
        EXPECT_EQ(a->result.get(), outcome::ok);
    EXPECT_EQ(order, (std::vector<int>{1, 1, 2, 2, 3, 3}));
}

/// Without a deadline a second is the bound; by a deadline it is longer or shorter.
TEST(serve_scheduler, a_second_is_the_longest_wait) {
    queue_options o = sizes({1});
    o.seconds_per_row = 0.4;
    EXPECT_EQ(o.most_wait, std::chrono::seconds(1));
    held_up h(o);
    const auto until = [](std::chrono::milliseconds time) {
        return [time](job &j) { j.deadline = clock::now() + time; };
    };
    std::vector<std::shared_ptr<asked>> fit;
    for (int i = 0; i < 3; i++)
        fit.push_back(ask(h.s, h.queue)); // behind 0, 0.4 and 0.8 s of others
    EXPECT_EQ(ask(h.s, h.queue)->result.get(), outcome::overloaded);
    EXPECT_EQ(h.s.retry_after(h.queue), 2);
    EXPECT_EQ(ask(h.s, h.queue, 1, until(std::chrono::milliseconds(500)))->result.get(), outcome::overloaded);
    fit.push_back(ask(h.s, h.queue, 1, until(std::chrono::seconds(60))));
    h.door->open();
    for (const auto &a : fit)
        EXPECT_EQ(a->result.get(), outcome::ok);
}

// The wait is estimated by the time that batches took; a batch that took long by accident refuses no job.
TEST(serve_scheduler, an_accident_is_no_estimate) {
    queue_options o = sizes({1});
    o.seconds_per_row = 1e-6;
    o.most_wait = std::chrono::seconds(1); // 100 accidents take longer; a busy machine delays no job so long
    held_up h(o);
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // 50,000 times as long as estimated
    h.door->open();
    EXPECT_EQ(h.first->result.get(), outcome::ok);
    h.s.wait_until_idle(clock::time_point::max());
    const auto shut = std::make_shared<gate>();
    const auto other = h.s.add(shut, sizes({1}));
    const auto holds = ask(h.s, other);
    shut->wait_for(1);
    std::vector<std::shared_ptr<asked>> all;
    for (int i = 0; i < 100; i++)
        all.push_back(ask(h.s, h.queue));
    shut->open();
    for (const auto &a : all)
        EXPECT_EQ(a->result.get(), outcome::ok);
}

TEST(serve_scheduler, expired_jobs_do_not_run) {
    held_up h(sizes({1, 2, 4}));
    std::vector<std::shared_ptr<asked>> late;
    for (int i = 0; i < 3; i++)
        late.push_back(
            ask(h.s, h.queue, 1, [](job &j) { j.deadline = clock::now() + std::chrono::microseconds(200); }));
    const auto a = ask(h.s, h.queue);
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // longer is as good
    h.door->open();
    for (const auto &one : late)
        EXPECT_EQ(one->result.get(), outcome::expired);
    EXPECT_EQ(a->result.get(), outcome::ok);
    EXPECT_EQ(h.door->batches(), (std::vector<std::int64_t>{1, 1}));
}

TEST(serve_scheduler, withdrawn_jobs_leave_the_queue) {
    queue_options o = sizes({1});
    o.most_jobs = 1;
    held_up h(o);
    const auto a = ask(h.s, h.queue);
    EXPECT_TRUE(h.s.withdraw(a->work, outcome::cancelled, ""));
    EXPECT_FALSE(h.s.withdraw(a->work, outcome::cancelled, ""));
    EXPECT_FALSE(h.s.withdraw(h.first->work, outcome::cancelled, "")); // it runs
    EXPECT_EQ(a->result.get(), outcome::cancelled);
    const auto b = ask(h.s, h.queue); // there is room again
    h.door->open();
    EXPECT_EQ(b->result.get(), outcome::ok);
}

TEST(serve_scheduler, a_delay_waits_for_a_full_batch) {
    queue_options o = sizes({1, 2, 4});
    o.delay = std::chrono::hours(1);
    scheduler s(2);
    const auto door = std::make_shared<gate>();
    door->open();
    const auto queue = s.add(door, o);
    std::vector<std::shared_ptr<asked>> all;
    for (int i = 0; i < 4; i++)
        all.push_back(ask(s, queue));
    for (const auto &a : all)
        EXPECT_EQ(a->result.get(), outcome::ok);
    EXPECT_EQ(door->batches(), (std::vector<std::int64_t>{4}));
}

TEST(serve_scheduler, a_model_that_had_less_time_goes_first) {
    scheduler s(1);
    struct sleeper : executor {
        void run(const std::vector<std::shared_ptr<job>> &, bool) override {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    };
    const auto door = std::make_shared<gate>();
    const auto slow = s.add(std::make_shared<sleeper>(), sizes({1})), fast = s.add(door, sizes({1}));
    const auto first = ask(s, fast);
    door->wait_for(1);
    std::vector<std::shared_ptr<asked>> heavy, light;
    for (int i = 0; i < 20; i++)
        heavy.push_back(ask(s, slow));
    for (int i = 0; i < 5; i++)
        light.push_back(ask(s, fast));
    door->open();
    s.wait_until_idle(clock::time_point::max());
    int before = 0; // heavy jobs that were done before the last light one
    for (const auto &a : heavy)
        before += a->work->finished < light.back()->work->finished;
    EXPECT_LT(before, 20);
}

// All cores help a request that is alone, until there was company; then not before four batches in a row had none.
TEST(serve_scheduler, all_cores_are_for_those_that_are_alone_lately) {
    struct : executor {
        void run(const std::vector<std::shared_ptr<job>> &, bool is_alone) override {
            alone += is_alone ? '1' : '0';
        }
        std::string alone;
    } notes;
    held_up h(sizes({1}));
    const auto queue = h.s.add(std::shared_ptr<executor>(&notes, [](executor *) {}), sizes({1}));
    const auto behind = ask(h.s, queue);
    h.door->open();
    behind->result.get();
    for (int i = 0; i < 7; i++) {
        h.s.wait_until_idle(clock::time_point::max());
        ask(h.s, queue)->result.get();
    }
    h.s.wait_until_idle(clock::time_point::max());
    EXPECT_EQ(notes.alone, "00001111");
}

TEST(serve_scheduler, a_closed_queue_runs_what_waits_and_frees_the_model) {
    held_up h(sizes({1}));
    const auto a = ask(h.s, h.queue);
    const std::weak_ptr<gate> door = h.door;
    h.s.close(h.queue);
    EXPECT_EQ(ask(h.s, h.queue)->result.get(), outcome::unavailable);
    h.door->open();
    EXPECT_EQ(a->result.get(), outcome::ok);
    h.door.reset();
    while (!door.expired()) // after the last job's promise
        std::this_thread::yield();
}

TEST(serve_scheduler, a_job_among_many_queues_at_rest) {
    scheduler s(1);
    const auto model = std::make_shared<gate>();
    model->open();
    const auto queue = s.add(model, sizes({1}));
    std::vector<std::shared_ptr<job_queue>> others;
    for (int i = 0; i < 1000; i++)
        others.push_back(s.add(model, sizes({1})));
    EXPECT_EQ(ask(s, queue)->result.get(), outcome::ok);
    EXPECT_EQ(ask(s, others.back())->result.get(), outcome::ok);
    for (const auto &other : others)
        s.close(other);
    EXPECT_EQ(ask(s, others.back())->result.get(), outcome::unavailable);
    s.close(others.back()); // a second time
    EXPECT_EQ(ask(s, queue)->result.get(), outcome::ok);
}

TEST(serve_scheduler, what_waits_at_the_end_is_told_so) {
    std::shared_ptr<asked> a;
    {
        const auto h = std::make_unique<held_up>(sizes({1}));
        a = ask(h->s, h->queue);
        const auto door = h->door;
        std::thread opener([door, a] {
            a->result.wait();
            door->open();
        });
        const auto first = h->first;
        opener.detach();
    }
    EXPECT_EQ(a->result.get(), outcome::unavailable);
}

TEST(serve_scheduler, answers_after_it_has_stopped) {
    scheduler s(2);
    const auto queue = s.add(std::make_shared<gate>(), sizes({1}));
    s.stop();
    s.stop();
    EXPECT_THROW(s.submit(queue, std::make_shared<job>()), refusal);
    EXPECT_THROW(s.submit(s.add(std::make_shared<gate>(), sizes({1})), std::make_shared<job>()), refusal);
    EXPECT_FALSE(s.withdraw(std::make_shared<job>(), outcome::cancelled, ""));
    EXPECT_GE(s.retry_after(queue), 1);
    EXPECT_TRUE(s.wait_until_idle(clock::now()));
}

TEST(serve_scheduler, a_failure_is_everyones_of_the_batch) {
    held_up h(sizes({1, 2}));
    const auto a = ask(h.s, h.queue), b = ask(h.s, h.queue);
    h.door->fails = true;
    h.door->open();
    EXPECT_EQ(a->result.get(), outcome::failed);
    EXPECT_EQ(b->result.get(), outcome::failed);
    EXPECT_EQ(a->work->sentence, "no");
}

TEST(serve_scheduler, every_job_is_finished_once) {
    scheduler s(3);
    const auto door = std::make_shared<gate>();
    door->open();
    queue_options o = sizes({1, 2, 4, 8});
    o.most_jobs = 50;
    std::atomic<int> finished{0}, refused{0};
    constexpr int clients = 4, each = 500;
    std::vector<std::thread> threads;
    for (int c = 0; c < clients; c++)
        threads.emplace_back([&, c] {
            std::minstd_rand random(static_cast<unsigned>(c + 1));
            auto queue = s.add(door, o);
            for (int i = 0; i < each; i++) {
                const auto j = std::make_shared<job>();
                j->rows = static_cast<std::int64_t>(1 + random() % 3);
                j->when_done = [&finished](job &) { finished++; };
                if (random() % 8 == 0)
                    j->deadline = clock::now() + std::chrono::microseconds(random() % 100);
                try {
                    s.submit(queue, j);
                    if (random() % 4 == 0)
                        s.withdraw(j, outcome::cancelled, "");
                } catch (const refusal &) {
                    refused++;
                }
                if (random() % 100 == 0) {
                    s.close(queue);
                    queue = s.add(door, o);
                }
            }
            s.close(queue);
        });
    for (std::thread &t : threads)
        t.join();
    s.wait_until_idle(clock::time_point::max());
    EXPECT_EQ(finished + refused, clients * each);
}

} // namespace octet::serve
