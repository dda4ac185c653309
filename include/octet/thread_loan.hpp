#pragma once // SPDX-License-Identifier: Apache-2.0

// Threads that a caller lends to the loops of one thread, for as long as it works. A pool whose threads wait
// for work by spinning is an example: its threads and Octet's would take turns on the cores. For programs
// that run networks inside another runtime; octet/octet.hpp does not include it.

#include <functional>
#include <memory>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// One piece of work whose loops run on lent threads instead of oneTBB's. One thread calls `run`, any number
/// of others call `serve`, in any order; none waits for another to come, and whoever is there takes part. A
/// library that is built with OpenMP, or has a pool of the caller's (`set_thread_pool`), keeps its own
/// threads.
class OCTET_API thread_loan {
public:
    /// `threads` is the number of threads of the loops, the borrower's included, as `get_num_threads()` or an
    /// option of the network says.
    explicit thread_loan(int threads);
    ~thread_loan(); ///< when `run` and all calls of `serve` have returned
    thread_loan(const thread_loan &) = delete;
    thread_loan &operator=(const thread_loan &) = delete;

    /// Calls `work` in this thread, whose loops also run on the lending threads. Throws what `work` throws.
    /// May be called once.
    void run(const std::function<void()> &work);
    /// Lends the calling thread until `run` has ended; returns at once if it has. It waits spinning.
    void serve();
    /// Returns, after `run`, whether any loop of the work was divided among threads. If none was, the same
    /// work needs no loan the next time: plans, and with them the division of loops, depend on no run.
    bool is_used() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace v0
} // namespace octet
