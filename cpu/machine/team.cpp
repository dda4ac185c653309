// How long members wait: first with `pause`, which answers at once, then giving way to whoever needs the core, at last
// not at all.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/team.hpp"

#include <sched.h>

#include "cpu/machine/costs.hpp"
#include "cpu/machine/processor.hpp"

namespace octet::impl {
namespace {

/// The time since something happened.
class patience {
public:
    void renew() { since_ = cycle_count(); }
    std::uint64_t cycles() const { return cycle_count() - since_; }
    /// Waits a moment; false if it has been as many cycles as allowed.
    bool wait(std::uint64_t most_cycles) const {
        const std::uint64_t waited = cycles();
        if (waited > most_cycles)
            return false;
        if (waited < costs::spin_cycles)
            pause();
        else
            sched_yield();
        return true;
    }

private:
    std::uint64_t since_ = cycle_count();
};

/// Systems wake a thread where its waker runs, which is where the leader computes: there it would wait for its turn
/// for milliseconds, and take turns away. It moves on, free to run anywhere again afterwards.
void leave_cpu(int cpu) {
    cpu_set_t allowed, others;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    others = allowed;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
}

/// Prefetches the data of a loop, which lie on its leader's stack from `arg` upwards: loads of one line after
/// the other would take as many trips between the cores.
void fetch_stack(const void *arg) {
    constexpr int lines = 12;
    for (int i = 0; i < lines; i++)
        __builtin_prefetch(static_cast<const char *>(arg) + i * 64);
}

} // namespace

team::team(int size) : progress_(static_cast<std::size_t>(size)), seats_(static_cast<std::size_t>(size)) {
    seats_[0] = true;
}

int team::take_seat() {
    for (std::size_t i = 1; i < seats_.size(); i++)
        if (!seats_[i].exchange(true, std::memory_order_relaxed))
            return static_cast<int>(i);
    return 0;
}

/// A task is claimed by raising its number to the loop's. Whoever succeeds knows that the loop is not over, however
/// long ago he read the word: a loop ends after all its tasks.
void team::try_task(const loop &l, int index) {
    progress &p = progress_[static_cast<std::size_t>(index)];
    std::uint64_t last = p.begun.load(std::memory_order_relaxed);
    if (last >= l.number || !p.begun.compare_exchange_strong(last, l.number, std::memory_order_acq_rel))
        return;
    fetch_stack(arg_);
    what_(arg_, index);
    p.ended.store(l.number, std::memory_order_release);
}

void team::run(int tasks, task what, void *arg) {
    what_ = what;
    arg_ = arg;
    const loop l{unpacked(posted_.load(std::memory_order_relaxed)).number + 1, tasks};
    posted_.store(l.number << task_bits | static_cast<std::uint64_t>(tasks), std::memory_order_release);
    what(arg, 0);
    wait_for_tasks(l);
}

/// The leader takes the tasks whose members are absent, or seem to be: asking costs those who are there a trip between
/// the cores.
void team::wait_for_tasks(const loop &l) {
    const patience last_task;
    for (int i = 1; i < l.tasks; i++) {
        if (!is_seat_taken(i))
            try_task(l, i);
        while (progress_[static_cast<std::size_t>(i)].ended.load(std::memory_order_acquire) != l.number) {
            if (last_task.cycles() > costs::absence_cycles)
                for (int other = i; other < l.tasks; other++)
                    try_task(l, other);
            last_task.wait(UINT64_MAX);
        }
    }
}

void team::note_leaders_cpu() { leaders_cpu_.store(sched_getcpu(), std::memory_order_relaxed); }

void team::serve() {
    if (const int cpu = sched_getcpu(); cpu >= 0 && cpu == leaders_cpu_.load(std::memory_order_relaxed))
        leave_cpu(cpu);
    const int seat = std::this_thread::get_id() == leader_ ? 0 : take_seat();
    std::uint64_t seen = 0;
    bool has_helped = true;
    for (patience idle; seat > 0;) {
        const std::uint64_t posted = posted_.load(std::memory_order_acquire);
        const loop l = unpacked(posted);
        if (posted != seen) {
            seen = posted;
            if (seat < l.tasks) // the same share of layer after layer
                try_task(l, seat);
            has_helped = false;
            idle.renew();
        } else if (!has_helped && idle.cycles() > costs::absence_cycles) {
            has_helped = true;
            for (int i = 1; i < l.tasks; i++)
                try_task(l, i);
        } else if (is_dismissed_.load(std::memory_order_relaxed) ||
                   !idle.wait(is_patient_.load(std::memory_order_relaxed) ? costs::patient_cycles
                                                                          : costs::impatient_cycles)) {
            break;
        }
    }
    if (seat > 0)
        seats_[static_cast<std::size_t>(seat)].store(false, std::memory_order_relaxed);
    places_taken_.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace octet::impl
