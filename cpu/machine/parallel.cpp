// How many threads there are, and the division of a loop among them: the only file that knows oneTBB. The
// default respects what the process may use (affinity mask, cgroup quota, the caller's arena); a count that
// was asked for is given, also beyond the CPUs. A pool of the caller's (`set_thread_pool`) takes oneTBB's place.

#include "cpu/machine/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include "common/environment.hpp"
#include "common/text.hpp"
#include "octet/float_environment.hpp"
#include "octet/settings.hpp"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace octet {

namespace impl {
namespace {

int affinity_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return static_cast<int>(std::thread::hardware_concurrency());
    return CPU_COUNT(&set);
}

/// CPUs that the cgroup's quota pays for, or `otherwise` without a quota. cgroup v2: "quota period" or "max
/// period".
int cgroup_cpus(int otherwise) {
    std::ifstream v2("/sys/fs/cgroup/cpu.max");
    double quota = 0, period = 0;
    std::string first;
    if (v2 >> first >> period) {
        if (first == "max")
            return otherwise;
        quota = std::atof(first.c_str());
    } else {
        std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
            v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
        if (!(v1_quota >> quota) || !(v1_period >> period))
            return otherwise;
    }
    if (quota <= 0 || period <= 0)
        return otherwise;
    return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

int machine_threads() {
    static const int threads = [] {
        const int cpus = std::max(1, affinity_cpus());
        return std::min(cpus, cgroup_cpus(cpus));
    }();
    return threads;
}

constexpr int most_threads = 4096;

std::atomic<int> &requested_of_process() {
    static std::atomic<int> threads{
        static_cast<int>(environment_number("OCTET_NUM_THREADS", 0, most_threads, 0))};
    return threads;
}

/// 0 outside of every `num_threads_scope`.
thread_local int requested_of_thread = 0;

int requested_threads() {
    return requested_of_thread > 0 ? requested_of_thread : requested_of_process().load();
}

void check_thread_count(const char *who, int threads) {
    if (threads < 0 || threads > most_threads)
        throw_invalid(who, ": threads is ", threads, ", allowed: 0 (all of the arena) to ", most_threads);
}

/// The arena of an explicit thread count. oneTBB starts one thread per CPU unless it is told otherwise, and
/// complains on stderr when an arena asks for more; a limit that the process has set itself stays in force.
class explicit_arena {
public:
    explicit explicit_arena(int threads)
        : threads_(threads), allowed_(parallelism, allowed(threads)),
          arena_(std::min(threads, static_cast<int>(tbb::global_control::active_value(parallelism)))) {}

    int threads() const { return threads_; }
    template <typename Body> void execute(const Body &body) { arena_.execute(body); }

private:
    static constexpr auto parallelism = tbb::global_control::max_allowed_parallelism;
    /// Far beyond the CPUs, threads are of no use but to tests, and a process may not have many.
    static std::size_t allowed(int threads) {
        constexpr int most = 256;
        const int default_threads = tbb::this_task_arena::max_concurrency();
        return static_cast<std::size_t>(
            std::max({std::min(threads, most), default_threads, machine_threads()}));
    }

    const int threads_;
    const tbb::global_control allowed_;
    tbb::task_arena arena_;
};

/// Of this thread, since loops of several threads would wait for each other's places in one arena. Kept for each
/// count: networks that take turns in a thread may differ in theirs.
explicit_arena &arena_of(int threads) {
    thread_local std::map<int, std::unique_ptr<explicit_arena>> arenas;
    std::unique_ptr<explicit_arena> &arena = arenas[threads];
    if (!arena)
        arena = std::make_unique<explicit_arena>(threads);
    return *arena;
}

/// Tells the thread sanitizer what oneTBB guarantees, since Debian's is not instrumented: what was written before
/// the loop is seen in its tasks, and what they write after the loop.
class loop_order {
public:
#ifdef __SANITIZE_THREAD__
    void publish() { __tsan_release(this); }
    void observe() { __tsan_acquire(this); }
#else
    void publish() {}
    void observe() {}
#endif
};

void parallel_for_in_arena(std::int64_t count, std::int64_t grain, range_body body) {
    loop_order begin, end;
    begin.publish();
    // Isolated: while this thread waits it must not start another primitive, whose scratch buffers are this
    // thread's too.
    tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(
            tbb::blocked_range<std::int64_t>(0, count, static_cast<std::size_t>(grain)),
            [&](const tbb::blocked_range<std::int64_t> &r) {
                begin.observe();
                const default_float_environment environment;
                body(r.begin(), r.end());
                end.publish();
            },
            tbb::static_partitioner());
    });
    end.observe();
}

thread_local bool is_sequential = false;

/// The caller's pool, null without one.
std::atomic<const thread_pool *> &users_pool() {
    static std::atomic<const thread_pool *> pool{nullptr};
    return pool;
}

int threads_of(const thread_pool &pool) { return std::max(1, pool.threads(pool.context)); }

/// One loop on a pool of the caller's, divided evenly. A task may not throw into foreign code: the first exception
/// is kept for the thread that started the loop.
struct divided_loop {
    std::int64_t count;
    int tasks;
    range_body body;
    std::atomic<bool> failed{false};
    std::exception_ptr failure;

    static void run_task(void *loop, int index) {
        auto &self = *static_cast<divided_loop *>(loop);
        const sequential_scope nested;
        const default_float_environment environment;
        try {
            self.body(self.count * index / self.tasks, self.count * (index + 1) / self.tasks);
        } catch (...) {
            if (!self.failed.exchange(true))
                self.failure = std::current_exception();
        }
    }
};

void parallel_for_on(const thread_pool &pool, std::int64_t count, std::int64_t grain, range_body body) {
    const std::int64_t ranges = 1 + (count - 1) / std::max<std::int64_t>(grain, 1); // as oneTBB's would split
    const auto tasks = static_cast<int>(std::min<std::int64_t>(threads_of(pool), ranges));
    if (tasks == 1) {
        body(0, count);
        return;
    }
    divided_loop loop{count, tasks, body, {}, {}};
    pool.run(pool.context, tasks, divided_loop::run_task, &loop);
    if (loop.failure)
        std::rethrow_exception(loop.failure);
}

} // namespace

sequential_scope::sequential_scope() : before_(is_sequential) { is_sequential = true; }
sequential_scope::~sequential_scope() { is_sequential = before_; }

void parallel_for(std::int64_t count, std::int64_t grain, range_body body) {
    if (count <= 0)
        return;
    if (const thread_pool *pool = users_pool(); pool && !is_sequential) {
        parallel_for_on(*pool, count, grain, body);
        return;
    }
    const int requested = requested_threads();
    const int threads = requested > 0 ? requested : machine_threads();
    if (threads == 1 || count <= grain || is_sequential) {
        body(0, count);
    } else if (requested > 0 || tbb::this_task_arena::max_concurrency() > threads) {
        arena_of(threads).execute([&] { parallel_for_in_arena(count, grain, body); });
    } else {
        parallel_for_in_arena(count, grain, body);
    }
}

} // namespace impl

inline namespace v0 {

void set_num_threads(int threads) {
    impl::check_thread_count("set_num_threads", threads);
    impl::requested_of_process() = threads;
}

num_threads_scope::num_threads_scope(int threads) : before_(impl::requested_of_thread) {
    impl::check_thread_count("num_threads_scope", threads);
    if (threads > 0)
        impl::requested_of_thread = threads;
}
num_threads_scope::~num_threads_scope() { impl::requested_of_thread = before_; }

void set_thread_pool(const thread_pool &pool) {
    if (!pool.threads != !pool.run)
        impl::throw_invalid("set_thread_pool: ", pool.threads ? "run" : "threads",
                            " is null, allowed: both functions, or neither");
    static std::mutex mutex;
    static std::deque<thread_pool> pools; // a loop may still be reading one that was replaced
    const std::lock_guard<std::mutex> lock(mutex);
    impl::users_pool() = pool.run ? &pools.emplace_back(pool) : nullptr;
}

int get_num_threads() {
    if (const thread_pool *pool = impl::users_pool())
        return impl::threads_of(*pool);
    const int requested = impl::requested_threads();
    if (requested > 0)
        return requested;
    return std::min(impl::machine_threads(), tbb::this_task_arena::max_concurrency());
}

} // namespace v0
} // namespace octet
