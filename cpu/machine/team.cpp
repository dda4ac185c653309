// How long members wait: first with `pause`, which answers at once, then giving way to whoever needs the core, at last
// not at all.

#include "cpu/machine/team.hpp"

#include <immintrin.h>
#include <sched.h>
#include <x86intrin.h>

#include "cpu/machine/costs.hpp"

namespace octet::impl {
namespace {

/// The time since something happened.
class patience {
public:
    void renew() { since_ = __rdtsc(); }
    /// Waits a moment; false if it has been as many cycles as allowed.
    bool wait(std::uint64_t most_cycles) const {
        const std::uint64_t waited = __rdtsc() - since_;
        if (waited > most_cycles)
            return false;
        if (waited < costs::spin_cycles)
            _mm_pause();
        else
            sched_yield();
        return true;
    }

private:
    std::uint64_t since_ = __rdtsc();
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

} // namespace

team::team(int size) : claimed_(static_cast<std::size_t>(size)), seats_(static_cast<std::size_t>(size)) {
    seats_[0] = true;
}

int team::take_seat() {
    for (std::size_t i = 1; i < seats_.size(); i++)
        if (!seats_[i].exchange(true, std::memory_order_relaxed))
            return static_cast<int>(i);
    return 0;
}

/// A task is claimed by raising its number to the loop's. Whoever succeeds knows that the loop is not over, however
/// long ago he read the word: a loop ends after all its tasks were claimed.
void team::take_tasks(std::uint64_t loop, int seat) {
    const int tasks = static_cast<int>(loop & ((1u << task_bits) - 1));
    const std::uint64_t number = loop >> task_bits;
    for (int i = 0; i < tasks; i++) {
        const int index = (seat + i) % tasks; // the same share of layer after layer, as long as all are there
        std::atomic<std::uint64_t> &claim = claimed_[static_cast<std::size_t>(index)];
        std::uint64_t last = claim.load(std::memory_order_relaxed);
        if (last >= number || !claim.compare_exchange_strong(last, number, std::memory_order_acq_rel))
            continue;
        what_(arg_, index);
        unfinished_.fetch_sub(1, std::memory_order_release);
    }
}

void team::run(int tasks, task what, void *arg) {
    what_ = what;
    arg_ = arg;
    unfinished_.store(tasks, std::memory_order_relaxed);
    const std::uint64_t number = (posted_.load(std::memory_order_relaxed) >> task_bits) + 1,
                        loop = number << task_bits | static_cast<std::uint64_t>(tasks);
    posted_.store(loop, std::memory_order_release);
    take_tasks(loop, 0);
    for (const patience last_task; unfinished_.load(std::memory_order_acquire) > 0;)
        last_task.wait(UINT64_MAX);
}

void team::note_leaders_cpu() { leaders_cpu_.store(sched_getcpu(), std::memory_order_relaxed); }

void team::serve() {
    if (const int cpu = sched_getcpu(); cpu >= 0 && cpu == leaders_cpu_.load(std::memory_order_relaxed))
        leave_cpu(cpu);
    const int seat = std::this_thread::get_id() == leader_ ? 0 : take_seat();
    std::uint64_t seen = 0;
    for (patience idle; seat > 0;) {
        const std::uint64_t loop = posted_.load(std::memory_order_acquire);
        if (loop != seen) {
            seen = loop;
            take_tasks(loop, seat);
            idle.renew();
        } else if (!idle.wait(is_patient_.load(std::memory_order_relaxed) ? costs::patient_cycles
                                                                          : costs::impatient_cycles)) {
            break;
        }
    }
    if (seat > 0)
        seats_[static_cast<std::size_t>(seat)].store(false, std::memory_order_relaxed);
    places_taken_.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace octet::impl
