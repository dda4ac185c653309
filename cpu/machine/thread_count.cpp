// How many threads there are. The default respects what the process may use (affinity mask, cgroup quota, the
// caller's arena); a count that was asked for is given, also beyond the CPUs.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/thread_count.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#include "common/environment.hpp"
#include "common/first_use.hpp"
#include "common/text.hpp"
#include "octet/settings.hpp"

namespace octet {

namespace impl {
namespace {

int affinity_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return static_cast<int>(std::thread::hardware_concurrency());
    return CPU_COUNT(&set);
}

/// CPUs that the cgroup's quota pays for, or `otherwise` without a quota. cgroup v2: "quota period" or "max
/// period".
int cgroup_cpus(int otherwise) {
    std::ifstream v2("/sys/fs/cgroup/cpu.max");
    double quota = 0, period = 0;
    std::string first;
    if (v2 >> first >> period) {
        if (first == "max")
            return otherwise;
        quota = std::atof(first.c_str());
    } else {
        std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
            v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
        if (!(v1_quota >> quota) || !(v1_period >> period))
            return otherwise;
    }
    if (quota <= 0 || period <= 0)
        return otherwise;
    return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

} // namespace

int machine_threads() {
    static first_use<int> threads;
    return threads.get([] {
        const int cpus = std::max(1, affinity_cpus());
        return std::min(cpus, cgroup_cpus(cpus));
    });
}

namespace {

constexpr int most_threads = 4096;

std::atomic<int> &requested_of_process() {
    static std::atomic<int> threads{
        static_cast<int>(environment_number("OCTET_NUM_THREADS", 0, most_threads, 0))};
    return threads;
}

/// 0 outside of every `num_threads_scope`.
thread_local int requested_of_thread = 0;

} // namespace

int requested_threads() {
    return requested_of_thread > 0 ? requested_of_thread : requested_of_process().load();
}

namespace {

void check_thread_count(const char *who, int threads) {
    if (threads < 0 || threads > most_threads)
        throw_invalid(who, ": threads is ", threads, ", allowed: 0 (all of the arena) to ", most_threads);
}

} // namespace
} // namespace impl

inline namespace v0 {

void set_num_threads(int threads) {
    impl::check_thread_count("set_num_threads", threads);
    impl::requested_of_process() = threads;
}

num_threads_scope::num_threads_scope(int threads) : before_(impl::requested_of_thread) {
    impl::check_thread_count("num_threads_scope", threads);
    if (threads > 0)
        impl::requested_of_thread = threads;
}
num_threads_scope::~num_threads_scope() { impl::requested_of_thread = before_; }

} // namespace v0
} // namespace octet
