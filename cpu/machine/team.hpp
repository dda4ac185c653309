#pragma once // SPDX-License-Identifier: Apache-2.0

// Threads that stay awake between loops. A member is a thread that someone lends (`serve`): it waits for the next loop
// on one word, so that starting and ending one costs a few cache misses instead of a system call. Nobody waits for a
// member that has not come: a loop's tasks are taken by whoever is there, and the leader can do them all.

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace octet::impl {

class team {
public:
    using task = void (*)(void *arg, int index);

    /// Makes a team of `size` threads, the leader included.
    explicit team(int size);
    team(const team &) = delete;
    team &operator=(const team &) = delete;

    int size() const { return static_cast<int>(seats_.size()); }

    /// The calling thread leads from now on.
    void set_leader() { leader_ = std::this_thread::get_id(); }
    /// Tells members where the leader is, so that none stays there.
    void note_leaders_cpu();
    /// Whether members should wait long for the next loop: within a phase.
    void set_patient(bool is_patient) { is_patient_.store(is_patient, std::memory_order_relaxed); }
    /// Whether members should go as soon as no loop is left.
    void dismiss(bool is_dismissed) { is_dismissed_.store(is_dismissed, std::memory_order_relaxed); }
    /// Places that nobody has taken or was asked to take; each call of `invite` fills one.
    bool has_free_place() const { return places_taken_.load(std::memory_order_relaxed) < size() - 1; }
    void invite() { places_taken_.fetch_add(1, std::memory_order_relaxed); }

    /// Calls task(arg, 0) … task(arg, tasks - 1), at most `size()` of them, and returns when all are done. By the
    /// leader.
    void run(int tasks, task what, void *arg);

    /// Takes part in loops until there has been none for a while. By an invited thread.
    void serve();

private:
    /// Numbers of the last loops in which somebody began the task of one index, and ended it. Each has a cache line:
    /// while all are there, only the member with that seat writes to them, and the leader reads the second.
    struct progress {
        alignas(64) std::atomic<std::uint64_t> begun{0};
        alignas(64) std::atomic<std::uint64_t> ended{0};
    };
    /// A loop's number and how many tasks it has.
    struct loop {
        std::uint64_t number;
        int tasks;
    };

    int take_seat();
    bool is_seat_taken(int seat) const {
        return seats_[static_cast<std::size_t>(seat)].load(std::memory_order_relaxed);
    }
    void try_task(const loop &l, int index);
    void wait_for_tasks(const loop &l);

    /// Number of the loop << task_bits | its tasks: one word, so that both are of the same loop.
    static constexpr int task_bits = 16;
    static loop unpacked(std::uint64_t word) {
        return {word >> task_bits, static_cast<int>(word & ((1u << task_bits) - 1))};
    }
    alignas(64) std::atomic<std::uint64_t> posted_{0};
    task what_ = nullptr; ///< the posted loop's body; read only after claiming one of its tasks
    void *arg_ = nullptr;
    std::vector<progress> progress_; ///< one for each task but the first, which is the leader's
    alignas(64) std::atomic<int> places_taken_{0};
    std::atomic<bool> is_patient_{false}, is_dismissed_{false};
    std::vector<std::atomic<bool>> seats_; ///< the leader has the first
    std::thread::id leader_;
    std::atomic<int> leaders_cpu_{-1};
};

} // namespace octet::impl
