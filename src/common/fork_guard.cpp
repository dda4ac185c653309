// A list of all guards behind a mutex of its own, and the three functions that the system calls around a
// fork.
// SPDX-License-Identifier: Apache-2.0
#include "octet/fork_guard.hpp"

#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include <pthread.h>

namespace octet {
inline namespace v0 {

class fork_guards {
public:
    /// Guards of static objects go after it would, so it stays.
    static fork_guards &instance() {
        static fork_guards *const all = [] {
            auto *made = new fork_guards;
            pthread_atfork([] { instance().before_fork(); },
                           [] { instance().after_fork(fork_guard::process::parent); },
                           [] { instance().after_fork(fork_guard::process::child); });
            return made;
        }();
        return *all;
    }

    void insert(fork_guard &g) {
        const std::lock_guard<std::mutex> lock(mutex_);
        g.next_ = first_;
        if (first_)
            first_->previous_ = &g;
        first_ = &g;
    }

    void remove(fork_guard &g) {
        const std::lock_guard<std::mutex> lock(mutex_);
        (g.previous_ ? g.previous_->next_ : first_) = g.next_;
        if (g.next_)
            g.next_->previous_ = g.previous_;
    }

private:
    /// The list's own mutex too is held only while all others are tried: guards come and go under others'
    /// locks.
    void before_fork() {
        using clock = std::chrono::steady_clock;
        for (const auto end = clock::now() + longest_wait;;) {
            mutex_.lock();
            const bool is_over = clock::now() >= end;
            fork_guard *busy = lock_until_one_is_busy();
            if (!busy)
                return;
            if (is_over) {
                for (; busy; busy = busy->next_)
                    busy->is_held_ = busy->mutex_.try_lock();
                return;
            }
            for (fork_guard *g = first_; g != busy; g = g->next_)
                release(*g);
            mutex_.unlock();
            std::this_thread::sleep_for(pause);
        }
    }

    fork_guard *lock_until_one_is_busy() {
        fork_guard *g = first_;
        while (g && (g->is_held_ = g->mutex_.try_lock()))
            g = g->next_;
        return g;
    }

    static void release(fork_guard &g) {
        g.is_held_ = false;
        g.mutex_.unlock();
    }

    void after_fork(fork_guard::process where) {
        for (fork_guard *g = first_; g; g = g->next_)
            if (g->after_fork_ && (g->is_held_ || where == fork_guard::process::child))
                g->after_fork_(where);
        for (fork_guard *g = first_; g; g = g->next_)
            if (g->is_held_)
                release(*g);
            else if (where == fork_guard::process::child)
                new (&g->mutex_) std::mutex;
        mutex_.unlock();
    }

    static constexpr std::chrono::seconds longest_wait{1};
    static constexpr std::chrono::microseconds pause{50};

    std::mutex mutex_;
    fork_guard *first_ = nullptr;
};

namespace {

/// Before there are threads, one of which could fork while another makes it.
[[maybe_unused]] const fork_guards &made_at_start = fork_guards::instance();

} // namespace

fork_guard::fork_guard(std::mutex &mutex, std::function<void(process)> after_fork)
    : mutex_(mutex), after_fork_(std::move(after_fork)) {
    fork_guards::instance().insert(*this);
}
fork_guard::~fork_guard() { fork_guards::instance().remove(*this); }

} // namespace v0
} // namespace octet
