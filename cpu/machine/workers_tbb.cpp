// Loops on oneTBB. Within a `parallel_phase` its workers are lent to a team, which keeps them awake.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/workers.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include "cpu/machine/divided_loop.hpp"
#include "cpu/machine/team.hpp"
#include "cpu/machine/thread_count.hpp"
#include "octet/float_environment.hpp"
#include "octet/fork_guard.hpp"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace octet::impl::workers {
namespace {

/// The arena of an explicit thread count. oneTBB starts one thread per CPU unless it is told otherwise, and
/// complains on stderr when an arena asks for more; a limit that the process has set itself stays in force.
class explicit_arena {
public:
    explicit explicit_arena(int threads)
        : allowed_(parallelism, allowed(threads)),
          arena_(std::min(threads, static_cast<int>(tbb::global_control::active_value(parallelism)))) {}

    template <typename Body> void execute(const Body &body) { arena_.execute(body); }
    tbb::task_arena &get() { return arena_; }

    /// Far beyond the CPUs, threads are of no use but to tests, and a process may not have many.
    static int most_threads() { return std::max(256, machine_threads()); }

private:
    static constexpr auto parallelism = tbb::global_control::max_allowed_parallelism;
    static std::size_t allowed(int threads) {
        return static_cast<std::size_t>(
            std::max({threads, tbb::this_task_arena::max_concurrency(), machine_threads()}));
    }

    const tbb::global_control allowed_;
    tbb::task_arena arena_;
};

/// This thread's own arena, since loops of several threads would wait for each other's places in one arena.
/// Kept for each count, of which there are `most_threads`: networks that take turns in a thread may differ in
/// theirs.
explicit_arena &arena_of(int threads) {
    thread_local std::map<int, std::unique_ptr<explicit_arena>> arenas;
    const int places = std::min(threads, explicit_arena::most_threads());
    std::unique_ptr<explicit_arena> &arena = arenas[places];
    if (!arena)
        arena = std::make_unique<explicit_arena>(places);
    return *arena;
}

/// Tells the thread sanitizer what oneTBB guarantees, since Debian's is not instrumented: what was written
/// before the loop is seen in its tasks, and what they write after the loop.
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

/// Teams without a leader, each kind for itself: the runtime's workers may still be in theirs. They are never
/// freed: a worker that comes late finds its team, whoever leads it now.
class idle_teams {
public:
    enum class kind { of_runtime, lent };
    static team &take(kind k, int size) {
        idle_teams &all = instance();
        const std::lock_guard<std::mutex> lock(all.mutex_);
        std::vector<team *> &free = all.free_[{k, size}];
        if (free.empty())
            free.push_back(new team(size));
        team &result = *free.back();
        free.pop_back();
        return result;
    }
    static void give_back(kind k, team &t) {
        idle_teams &all = instance();
        const std::lock_guard<std::mutex> lock(all.mutex_);
        all.free_[{k, t.size()}].push_back(&t);
    }

private:
    static idle_teams &instance() {
        static auto *all = new idle_teams; // workers outlive static objects
        return *all;
    }
    std::mutex mutex_;
    const fork_guard at_fork_{mutex_};
    std::map<std::pair<kind, int>, std::vector<team *>> free_;
};

/// The teams that a thread keeps for its phases, one of each count that it has used.
class phases {
public:
    ~phases() {
        for (const auto &[size, t] : teams_)
            idle_teams::give_back(idle_teams::kind::of_runtime, *t);
    }
    void enter() {
        if (depth_++ == 0)
            set_patient(true);
    }
    void leave() {
        if (--depth_ == 0)
            set_patient(false);
    }
    bool are_open() const { return depth_ > 0 || lent_; }
    /// Null: the runtime's threads again.
    void set_lent(team *t) { lent_ = t, is_lent_used_ = false; }
    team *lent() const { return lent_; }
    void note_use() { is_lent_used_ = true; }
    bool is_lent_used() const { return is_lent_used_; }
    team &team_of(int size) {
        team *&t = teams_[size];
        if (!t) {
            t = &idle_teams::take(idle_teams::kind::of_runtime, size);
            t->set_leader();
            t->set_patient(true);
        }
        return *t;
    }

private:
    void set_patient(bool is_patient) {
        for (const auto &[size, t] : teams_)
            t->set_patient(is_patient);
    }
    int depth_ = 0;
    team *lent_ = nullptr;
    bool is_lent_used_ = false; ///< by a loop with several tasks
    std::map<int, team *> teams_;
};

thread_local phases phases_of_thread;

/// Asks for oneTBB's workers, of the caller's arena if it is the one that counts.
void fill_places(team &t, int threads, bool in_callers_arena) {
    if (t.has_free_place())
        t.note_leaders_cpu();
    while (t.has_free_place()) {
        t.invite();
#ifdef __SANITIZE_THREAD__
        __tsan_release(&t);
#endif
        const auto serve = [&t] {
#ifdef __SANITIZE_THREAD__
            __tsan_acquire(&t);
#endif
            const default_float_environment environment;
            t.serve();
        };
        if (in_callers_arena)
            tbb::task_arena(tbb::task_arena::attach{}).enqueue(serve);
        else
            arena_of(threads).get().enqueue(serve);
    }
}

/// No worker comes beyond a limit that the process has set itself.
int most_workers() {
    return static_cast<int>(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}

void parallel_for_in_team(std::int64_t count, std::int64_t grain, range_body body, int threads,
                          bool in_callers_arena) {
    if (team *lent = phases_of_thread.lent())
        return run_divided(count, grain, body, std::min(threads, lent->size()),
                           [&](int tasks, team::task task, void *loop) {
                               phases_of_thread.note_use();
                               lent->run(tasks, task, loop);
                           });
    const int size = in_callers_arena ? std::min(threads, most_workers()) : threads;
    run_divided(count, grain, body, size, [&](int tasks, team::task task, void *loop) {
        team &t = phases_of_thread.team_of(size);
        fill_places(t, threads, in_callers_arena);
        t.run(tasks, task, loop);
    });
}

} // namespace

int available() { return tbb::this_task_arena::max_concurrency(); }

void parallel_for(std::int64_t count, std::int64_t grain, range_body body, int threads, bool is_asked_for) {
    const int places = available();
    const bool in_callers_arena = !is_asked_for && places <= threads;
    if (is_in_phase())
        parallel_for_in_team(count, grain, body, in_callers_arena ? places : threads, in_callers_arena);
    else if (in_callers_arena)
        parallel_for_in_arena(count, grain, body);
    else
        arena_of(threads).execute([&] { parallel_for_in_arena(count, grain, body); });
}

void enter_phase() { phases_of_thread.enter(); }
void leave_phase() { phases_of_thread.leave(); }
bool is_in_phase() { return phases_of_thread.are_open(); }

lent_team::lent_team(int threads)
    : team_(threads > 1 ? &idle_teams::take(idle_teams::kind::lent, threads) : nullptr) {}
lent_team::~lent_team() {
    if (team_)
        idle_teams::give_back(idle_teams::kind::lent, *team_);
}

void lent_team::take() {
    if (!team_)
        return;
    team_->set_leader();
    team_->note_leaders_cpu();
    team_->dismiss(false);
    team_->set_patient(true);
    phases_of_thread.set_lent(team_);
}

void lent_team::give_back() {
    if (!team_)
        return;
    is_used_ = phases_of_thread.is_lent_used();
    phases_of_thread.set_lent(nullptr);
    team_->set_patient(false);
    team_->dismiss(true);
}

bool lent_team::serve() {
    if (!team_ || !team_->has_free_place())
        return false;
    team_->invite();
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(team_);
#endif
    team_->serve();
    return true;
}

} // namespace octet::impl::workers
