#pragma once // SPDX-License-Identifier: Apache-2.0

// Runs work in the background while a plan is made: packing constants and generating kernels.

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "octet/graph.hpp" // declares the namespace

namespace octet::model {

/// Jobs in the order in which they were added. Helpers, one less than threads, take from them while their caller goes
/// on; `finish` does the rest.
class jobs {
public:
    /// Helpers begin with the first job, or with `finish`.
    enum class start { at_once, at_finish };
    explicit jobs(start s = start::at_once);
    ~jobs(); ///< waits for what has begun; the others are never done
    jobs(const jobs &) = delete;
    jobs &operator=(const jobs &) = delete;

    /// Done on any thread, where `get_num_threads()` is what it was for the constructor.
    void add(std::function<void()> job);

    /// Comes once, after the last `add`. `report` gets the part that is done, 1 in the end. Throws what a job or
    /// `report` threw.
    void finish(const std::function<void(double)> &report = {});

private:
    std::function<void()> next(bool waits);
    void run(const std::function<void()> &job);
    double part_taken();
    bool start_helper();
    void help();
    void stop();

    const start start_;
    const int threads_;
    std::vector<std::thread> helpers_;

    std::mutex mutex_; ///< of the members below; it ends with a call, so it needs no fork_guard
    std::condition_variable changed_;
    std::vector<std::function<void()>> added_;
    std::size_t next_ = 0; ///< the first that nobody does yet
    bool is_stopped_ = false;
    std::exception_ptr failure_; ///< the first
};

} // namespace octet::model
