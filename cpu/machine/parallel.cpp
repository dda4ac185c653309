// Runs loops on this thread alone, on a pool of the caller's (`set_thread_pool`), or on the runtime that the
// library is built with (workers.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/parallel.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "common/first_use.hpp"
#include "common/text.hpp"
#include "cpu/machine/costs.hpp"
#include "cpu/machine/divided_loop.hpp"
#include "cpu/machine/processor.hpp"
#include "cpu/machine/thread_count.hpp"
#include "cpu/machine/workers.hpp"
#include "octet/fork_guard.hpp"
#include "octet/parallel_loop.hpp"
#include "octet/settings.hpp"

namespace octet {

namespace impl {
namespace {

/// The caller's pool, null without one.
std::atomic<const thread_pool *> &users_pool() {
    static std::atomic<const thread_pool *> pool{nullptr};
    return pool;
}

int threads_of(const thread_pool &pool) { return std::max(1, pool.threads(pool.context)); }

void parallel_for_on(const thread_pool &pool, std::int64_t count, std::int64_t grain, range_body body) {
    run_divided(count, grain, body, threads_of(pool), [&](int tasks, void (*task)(void *, int), void *loop) {
        pool.run(pool.context, tasks, task, loop);
    });
}

/// Neither runtime's workers survive a fork, and in the child a loop may wait for them for ever: where the
/// parent has used them, loops of the child run in the calling thread.
class runtime_workers {
public:
    static bool are_lost() { return lost_.load(std::memory_order_relaxed); }
    static void note_use() {
        static const int is_told = pthread_atfork(nullptr, nullptr, [] { lost_ = true; });
        static_cast<void>(is_told);
    }

private:
    static inline std::atomic<bool> lost_{false};
};

} // namespace

void parallel_for(std::int64_t count, std::int64_t grain, range_body body) {
    if (count <= 0)
        return;
    if (const thread_pool *pool = users_pool(); pool && !is_sequential()) {
        parallel_for_on(*pool, count, grain, body);
        return;
    }
    const int requested = requested_threads();
    const int threads = requested > 0 ? requested : machine_threads();
    if (threads == 1 || count <= grain || is_sequential() || runtime_workers::are_lost()) {
        body(0, count);
        return;
    }
    runtime_workers::note_use();
    workers::parallel_for(count, grain, body, threads, requested > 0);
}

namespace {

/// Median of empty loops, when those who take part have come.
std::int64_t measure_fork(int threads) {
    constexpr int warm_up = 200, samples = 101;
    std::array<std::int64_t, samples> cycles;
    for (int i = -warm_up; i < samples; i++) {
        const std::uint64_t start = cycle_count();
        parallel_for(threads, 1, [](std::int64_t, std::int64_t) {});
        if (i >= 0)
            cycles[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(cycle_count() - start);
    }
    std::nth_element(cycles.begin(), cycles.begin() + samples / 2, cycles.end());
    return std::clamp<std::int64_t>(cycles[samples / 2], costs::least_fork, costs::most_fork);
}

} // namespace

std::int64_t fork_cycles() {
    const int threads = get_num_threads();
    if (threads == 1 || is_sequential())
        return costs::usual_fork;
    const auto measure = [threads] { return measure_fork(threads); };
    if (users_pool()) {
        static first_use<std::int64_t> of_pool;
        return of_pool.get(measure);
    }
    if (workers::is_in_phase()) {
        static first_use<std::int64_t> of_team;
        return of_team.get(measure);
    }
    static first_use<std::int64_t> of_workers;
    return of_workers.get(measure);
}

} // namespace impl

inline namespace v0 {

void parallel_ranges(std::int64_t count, std::int64_t grain,
                     void (*call)(const void *body, std::int64_t begin, std::int64_t end), const void *body) {
    impl::parallel_for(count, grain, [=](std::int64_t begin, std::int64_t end) { call(body, begin, end); });
}

parallel_phase::parallel_phase() { impl::workers::enter_phase(); }
parallel_phase::~parallel_phase() { impl::workers::leave_phase(); }

void set_thread_pool(const thread_pool &pool) {
    if (!pool.threads != !pool.run)
        impl::throw_invalid("set_thread_pool: ", pool.threads ? "run" : "threads",
                            " is null, allowed: both functions, or neither");
    static std::mutex mutex;
    static const fork_guard at_fork(mutex);
    static std::deque<thread_pool> pools; // each once: a loop may still be reading one that was replaced
    const std::lock_guard<std::mutex> lock(mutex);
    const auto known = std::find_if(pools.begin(), pools.end(), [&](const thread_pool &p) {
        return p.threads == pool.threads && p.run == pool.run && p.context == pool.context;
    });
    impl::users_pool() = !pool.run ? nullptr : known != pools.end() ? &*known : &pools.emplace_back(pool);
}

int get_num_threads() {
    if (const thread_pool *pool = impl::users_pool())
        return impl::threads_of(*pool);
    if (impl::runtime_workers::are_lost())
        return 1;
    const int requested = impl::requested_threads();
    if (requested > 0)
        return requested;
    return std::min(impl::machine_threads(), impl::workers::available());
}

} // namespace v0
} // namespace octet
