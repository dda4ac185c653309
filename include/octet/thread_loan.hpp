#pragma once // SPDX-License-Identifier: Apache-2.0

// Threads that somebody lends to the loops of one thread, for as long as it works: those of a pool that waits for its next work
// spinning, say, which would otherwise take turns on the cores with Octet's. For those who run networks inside another runtime;
// octet/octet.hpp does not include it.

#include <functional>
#include <memory>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// One piece of work whose loops run on lent threads, instead of those of oneTBB. One thread calls `run`, any number of others
/// `serve`, in any order and none of them waiting for another to come: whoever is there takes part. A library that is built with
/// OpenMP, or has a pool of the caller's (`set_thread_pool`), keeps its own threads.
class OCTET_API thread_loan {
public:
    /// `threads`: of the loops, the borrower's included, as `get_num_threads()` or an option of the network says.
    explicit thread_loan(int threads);
    ~thread_loan(); ///< when `run` and all calls of `serve` have returned
    thread_loan(const thread_loan &) = delete;
    thread_loan &operator=(const thread_loan &) = delete;

    /// Works, with the loops of this thread in the others, too. Throws what `work` throws. Once.
    void run(const std::function<void()> &work);
    /// Lends the calling thread until `run` has ended; returns at once if it has. It waits spinning.
    void serve();
    /// Whether a loop of the work was divided among threads; after `run`. If not, the work does without a loan: plans, and with
    /// them the division of loops, depend on no run.
    bool is_used() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace v0
} // namespace octet
