#pragma once // SPDX-License-Identifier: Apache-2.0

// One layer timed: in samples, each the mean of as many runs as make the clock's resolution negligible, and
// between them what the machine could do at that moment, and the baseline. Whatever disturbs the machine then
// meets all of them alike. So do counts of threads, which take turns too.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "bench/cores.hpp"
#include "bench/disturbance.hpp"
#include "bench/layer.hpp"
#include "bench/roofline.hpp"

namespace octet::tools {

/// The thing that is timed, in numbers.
struct subject {
    std::string name;
    std::int64_t count = 1; ///< occurrences in the network
    /// Operations of one run; a multiplication and an addition count as two; 0: unknown.
    double operations = 0;
    std::int64_t read_at_least = 0; ///< bytes of the weights of a one-row product, which are read once
    bool is_f32 = false;            ///< the operations are in f32
    traffic bytes;                  ///< between memory and the core
};
subject subject_of(const layer &l, const bench_contract &contract);

enum class caches {
    warm,      ///< run after run of the same layer
    cold,      ///< other bytes in the caches before each run; code and threads are awake
    in_network ///< one layer after the other
};
const char *to_string(caches state);

struct measurement {
    subject what;
    int threads = 1;
    caches state = caches::warm;
    std::string implementation, baseline_implementation;
    time_summary time, baseline_time; ///< of one run
    double peak = 0;                  ///< operations per second, median; 0 where the level has none
    double read_seconds = 0;          ///< time to read `read_at_least` bytes, median; 0 if there are none
    roofline best;                    ///< for the same caches
    double cores = 0;                 ///< cores that several threads had meanwhile
    /// Cycles of a cache line's way between two threads and back, median; 0: unknown.
    double round_trip = 0;
    double scaling = 0; ///< time with the first count of threads / with this one; 0: it is the first
    int disturbed = 0;  ///< of the samples: loads beside them were slow

    bool has_baseline() const { return !baseline_implementation.empty(); }
    double gops() const { return what.operations / time.median * 1e-9; }
    double share_of_peak() const { return what.operations / time.median / peak; }
    double baseline_share_of_peak() const { return what.operations / baseline_time.median / peak; }
    double share_of_read() const { return read_seconds / time.median; }
    double share_of_bound() const { return best.bound() / time.median; }
    double baseline_share_of_bound() const { return best.bound() / baseline_time.median; }
    double ratio() const { return baseline_time.median / time.median; }
};

struct measuring {
    int samples = 11;
    std::vector<int> threads = {1}; ///< counts, each at least 1
    bool with_cold = false;         ///< beside warm caches
    bool in_phase = false;          ///< Octet's threads stay awake, as in a network
    /// Tells disturbed samples, by the count of threads.
    std::function<load_probe &(int)> probe = shared_load_probe;
};

/// Makes a workload for the count of threads that holds at the time; an empty function is no baseline.
struct workload_makers {
    std::function<std::unique_ptr<workload>()> ours, baseline;
};

/// One layer, one count of threads, sample by sample.
class measured_layer {
public:
    measured_layer(subject what, const workload_makers &makers, int threads, const measuring &how);
    measured_layer(measured_layer &&) noexcept;
    ~measured_layer();

    /// With cold caches, for whose coldness the caller has seen: nothing of this layer was touched since.
    void sample_cold();
    void sample();
    /// True if a further sample could take the place of a disturbed one.
    bool is_disturbed() const;
    /// Measurements with warm caches, then with cold ones if there are samples.
    std::vector<measurement> results() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// For each count of threads the measurement with warm caches, then the one with cold ones if that is asked for. Where
/// samples were disturbed, further ones are taken, as many again at most.
std::vector<measurement> measure(const subject &what, const workload_makers &makers, const measuring &how);

/// Returns the sum of measurements, which are at least one and have the same threads and caches: the layers
/// of a network, or the primitives of a layer, one after the other.
measurement sum_of(const std::vector<measurement> &parts, const std::string &name);

/// Sets the scaling of those with the same caches as one before them.
void set_scaling(std::vector<measurement> &of_one_layer);

} // namespace octet::tools
