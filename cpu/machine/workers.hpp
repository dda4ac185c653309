#pragma once // SPDX-License-Identifier: Apache-2.0

// The runtime whose threads run loops unless the caller has a pool: chosen by the build (-DOCTET_THREADS), in
// workers_tbb.cpp or workers_omp.cpp, each of which is the only file that knows its runtime.

#include <cstdint>

#include "cpu/machine/loop_body.hpp"

namespace octet::impl {
class team;
}

namespace octet::impl::workers {

/// Threads that the runtime would give this thread's loops.
int available();

/// `parallel_for` on `threads` threads, more than one; if `is_asked_for` is not set, no more than are available.
void parallel_for(std::int64_t count, std::int64_t grain, range_body body, int threads, bool is_asked_for);

/// A `parallel_phase` of this thread; phases nest.
///@{
void enter_phase();
void leave_phase();
bool is_in_phase();
///@}

/// Threads that are lent to one thread instead of the runtime's (`thread_loan`), if the runtime has teams.
class lent_team {
public:
    explicit lent_team(int threads);
    ~lent_team();
    lent_team(const lent_team &) = delete;
    lent_team &operator=(const lent_team &) = delete;

    bool exists() const { return team_ != nullptr; }
    void take();      ///< loops of this thread run on them
    void give_back(); ///< by the same thread: they may go
    bool serve();     ///< by one of them, for a while; false if there is no place
    /// After `give_back`: whether a loop had several tasks for them.
    bool is_used() const { return is_used_; }

private:
    team *team_ = nullptr;
    bool is_used_ = false;
};

} // namespace octet::impl::workers
