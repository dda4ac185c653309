// Loops on OpenMP, whose threads wait for the next one by themselves (OMP_WAIT_POLICY): a phase has nothing
// to do. A loop within a region of the caller's gets the threads that OpenMP gives nested ones, by default
// the calling one.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/workers.hpp"

#include <algorithm>

#include <omp.h>

#include "cpu/machine/divided_loop.hpp"

namespace octet::impl::workers {
namespace {

constexpr int most_threads = 256; ///< far beyond the CPUs, threads are of no use but to tests

thread_local int phases = 0;

} // namespace

int available() { return omp_get_active_level() < omp_get_max_active_levels() ? omp_get_max_threads() : 1; }

void parallel_for(std::int64_t count, std::int64_t grain, range_body body, int threads, bool is_asked_for) {
    const int wanted = is_asked_for ? threads : std::min(threads, available());
    run_divided(count, grain, body, wanted, [](int tasks, void (*task)(void *, int), void *loop) {
#pragma omp parallel num_threads(std::min(tasks, most_threads))
        for (int i = omp_get_thread_num(); i < tasks;
             i += omp_get_num_threads()) // there may be fewer than wanted
            task(loop, i);
    });
}

void enter_phase() { phases++; }
void leave_phase() { phases--; }
bool is_in_phase() { return phases > 0; }

lent_team::lent_team(int) {}
lent_team::~lent_team() = default;
void lent_team::take() {}
void lent_team::give_back() {}
bool lent_team::serve() { return false; }

} // namespace octet::impl::workers
