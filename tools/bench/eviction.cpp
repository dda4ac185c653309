// Reads twice the last cache's bytes on each CPU that the process may use.
// SPDX-License-Identifier: Apache-2.0
#include "bench/eviction.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace octet::tools {
namespace {

std::size_t bytes_to_read() {
    constexpr long least = 64L << 20, most = 256L << 20;
    return static_cast<std::size_t>(std::clamp(2 * sysconf(_SC_LEVEL3_CACHE_SIZE), least, most));
}

/// Through the caches of one CPU, if the system lets the thread go there.
void read_on(int cpu, const std::vector<char> &bytes) {
    constexpr std::size_t cache_line = 64;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    sched_setaffinity(0, sizeof only, &only);
    char sum = 0;
    for (std::size_t i = 0; i < bytes.size(); i += cache_line)
        sum = static_cast<char>(sum ^ bytes[i]);
    [[maybe_unused]] volatile char sink = sum;
}

} // namespace

void evict_caches() {
    static const std::vector<char> others(bytes_to_read(), 1); // pages of zeros would all be the same one
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    std::vector<std::thread> threads;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            threads.emplace_back([cpu] { read_on(cpu, others); });
    for (std::thread &t : threads)
        t.join();
}

} // namespace octet::tools
