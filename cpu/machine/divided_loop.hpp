#pragma once // SPDX-License-Identifier: Apache-2.0

// A loop as tasks with numbers, for whatever runs these: a pool of the caller's, a team, OpenMP.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "cpu/machine/loop_body.hpp"
#include "cpu/machine/sequential_scope.hpp"
#include "octet/float_environment.hpp"

namespace octet::impl {

/// One loop, divided evenly. A task may not throw into foreign code: the first exception
/// is kept for the thread that started the loop.
struct divided_loop {
    std::int64_t count;
    int tasks;
    range_body body;
    std::atomic<bool> failed{false};
    std::exception_ptr failure;

    static void run_task(void *loop, int index) {
        auto &self = *static_cast<divided_loop *>(loop);
        const sequential_scope nested;
        const default_float_environment environment;
        try {
            self.body(self.count * index / self.tasks, self.count * (index + 1) / self.tasks);
        } catch (...) {
            if (!self.failed.exchange(true))
                self.failure = std::current_exception();
        }
    }
};

/// Ranges of at least `grain`, as oneTBB would split them, but no more than threads.
inline int tasks_of(std::int64_t count, std::int64_t grain, int threads) {
    const std::int64_t ranges = 1 + (count - 1) / std::max<std::int64_t>(grain, 1);
    return static_cast<int>(std::min<std::int64_t>(threads, ranges));
}

/// Divides the loop into tasks for `run(tasks, task, arg)`.
template <typename Run>
void run_divided(std::int64_t count, std::int64_t grain, range_body body, int threads, const Run &run) {
    const int tasks = tasks_of(count, grain, threads);
    if (tasks == 1) {
        body(0, count);
        return;
    }
    divided_loop loop{count, tasks, body, {}, {}};
    run(tasks, divided_loop::run_task, &loop);
    if (loop.failure)
        std::rethrow_exception(loop.failure);
}

} // namespace octet::impl
