#pragma once // SPDX-License-Identifier: Apache-2.0

// Whether threads are cores. In a virtual machine two threads may share a core, or a neighbour may hold the second one
// for a while; then a kernel on two threads looks slow and is not. So this is measured beside whatever runs on several
// threads, at the same moment.

#include <cstdint>

namespace octet::tools {

/// Seconds of the same work, which needs nothing but a core: on one thread, and on each of several at a time.
struct spin_times {
    int threads = 1;
    double alone = 0, together = 0;

    void add(const spin_times &other) {
        alone += other.alone;
        together += other.together;
    }
    /// How many cores the threads had.
    double cores() const { return threads * alone / together; }
};

/// About 2 ms. Multiplications fill their unit, so that two threads of one core take twice as long.
spin_times measure_spin(int threads);

/// Cycles of the time stamp counter that a cache line takes from one thread to another and back: between cores of one
/// complex some hundreds, between distant ones more than a thousand. 0 with one thread, or when the other one has no
/// core within some milliseconds.
double measure_round_trip(int threads);

} // namespace octet::tools
