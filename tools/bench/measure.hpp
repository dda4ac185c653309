#pragma once

// One layer timed: in samples, each the mean of as many runs as make the clock's resolution negligible, and
// between them what the machine could do at that moment, and the peer. Whatever disturbs the machine then
// meets all of them alike.

#include <string>

#include "bench/layer.hpp"
#include "commands/statistics.hpp"

namespace octet::tools {

/// What is timed, in numbers.
struct subject {
    std::string name;
    std::int64_t count = 1;         ///< occurrences in the network
    double operations = 0;          ///< of one run; a multiplication and an addition count as two; 0: unknown
    std::int64_t read_at_least = 0; ///< bytes of the weights of a one-row product, which are read once
    bool is_f32 = false;            ///< of what the operations are
};
subject subject_of(const layer &l, const bench_contract &contract);

struct measurement {
    subject what;
    std::string implementation, peer_implementation;
    time_summary time, peer_time; ///< of one run
    double peak = 0;              ///< operations per second, median; 0 where the level has none
    double read_seconds = 0;      ///< of `read_at_least` bytes, median; 0 where there are none

    bool has_peer() const { return !peer_implementation.empty(); }
    double gops() const { return what.operations / time.median * 1e-9; }
    double share_of_peak() const { return what.operations / time.median / peak; }
    double peer_share_of_peak() const { return what.operations / peer_time.median / peak; }
    double share_of_read() const { return read_seconds / time.median; }
    double ratio() const { return peer_time.median / time.median; }
};

struct measuring {
    int samples = 11, threads = 1;
};

/// `peer` may be null.
measurement measure(const subject &what, workload &ours, workload *peer, const measuring &how);

} // namespace octet::tools
