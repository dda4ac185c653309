// A queue of jobs, and helpers that take from it until it is empty. Who waits for a plan helps, too.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/jobs.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "octet/settings.hpp"

namespace octet::model {
namespace {

/// Threads beyond would wait for memory.
constexpr int most_useful_threads = 8;

} // namespace

jobs::jobs(start s) : start_(s), threads_(get_num_threads()) {}

jobs::~jobs() { stop(); }

void jobs::add(std::function<void()> job) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        added_.push_back(std::move(job));
    }
    if (start_ == start::at_once)
        start_helper();
    changed_.notify_one();
}

/// The next job that nobody does yet; empty if there is none, or if there will be none.
std::function<void()> jobs::next(bool waits) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (waits)
        changed_.wait(lock, [&] { return next_ < added_.size() || is_stopped_; });
    const bool is_over = next_ == added_.size() || is_stopped_ || failure_;
    return is_over ? nullptr : std::move(added_[next_++]);
}

void jobs::run(const std::function<void()> &job) {
    try {
        const num_threads_scope as_in_the_caller(threads_);
        job();
    } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_)
            failure_ = std::current_exception();
    }
}

/// False if there are enough, or no more to be had.
bool jobs::start_helper() {
    if (helpers_.size() + 1 >= static_cast<std::size_t>(std::min(threads_, most_useful_threads)))
        return false;
    try {
        helpers_.emplace_back([this] { help(); });
    } catch (const std::system_error &) { // those that are there, or the caller alone, do the work
        return false;
    }
    return true;
}

void jobs::help() {
    while (const auto job = next(true))
        run(job);
}

void jobs::stop() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread &helper : helpers_)
        helper.join();
    helpers_.clear();
}

double jobs::part_taken() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<double>(next_ - 1) / static_cast<double>(added_.size());
}

void jobs::finish(const std::function<void(double)> &report) {
    while (helpers_.size() + 1 < added_.size() && start_helper())
        ;
    while (const auto job = next(false)) {
        if (report)
            report(part_taken());
        run(job);
    }
    stop();
    if (failure_)
        std::rethrow_exception(failure_);
    if (report)
        report(1);
}

} // namespace octet::model
