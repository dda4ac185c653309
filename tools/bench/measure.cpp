// The order of what is timed within a sample; see measure.hpp for why.

#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "bench/limits.hpp"

namespace octet::tools {
namespace {

double seconds_of(workload &w, int runs) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; i++)
        w.run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;
}

/// Enough runs that the clock's resolution and a cold start don't matter.
int runs_per_sample(workload &w) {
    constexpr double sample_seconds = 300e-6;
    w.run();
    const double once = std::max(1e-7, seconds_of(w, 2));
    return std::clamp(static_cast<int>(sample_seconds / once), 1, 2000);
}

/// Lets the workers of the library that ran last go to sleep, so that they don't slow the next one.
void settle(int threads) {
    if (threads > 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// Warms up, with workers until they are surely awake, then takes the mean of the sample's runs.
double sample(workload &w, int runs, int threads) {
    constexpr std::chrono::milliseconds waking(5);
    const auto start = std::chrono::steady_clock::now();
    do {
        w.run();
    } while (threads > 1 && std::chrono::steady_clock::now() - start < waking);
    return seconds_of(w, runs);
}

} // namespace

subject subject_of(const layer &l, const bench_contract &contract) {
    const bool is_one_row = l.kind != layer_kind::convolution && l.m == 1;
    const auto weights_bytes =
        l.weights() * static_cast<std::int64_t>(memory::data_type_size(contract.weights));
    return {l.name, l.count, l.operations(), is_one_row ? weights_bytes : 0, contract.is_f32()};
}

measurement measure(const subject &what, workload &ours, workload *peer, const measuring &how) {
    measurement m;
    m.what = what;
    m.implementation = ours.implementation();
    const std::vector<char> weights(static_cast<std::size_t>(what.read_at_least), 1);

    const int runs = runs_per_sample(ours);
    std::vector<double> times, peer_times, peaks, reads;
    int peer_runs = 1;
    if (peer) {
        m.peer_implementation = peer->implementation();
        peer_runs = runs_per_sample(*peer);
        rest_onednn();
    }
    for (int i = 0; i < how.samples; i++) {
        settle(how.threads);
        peaks.push_back(measure_peak(get_effective_cpu_isa(), what.is_f32, how.threads));
        if (!weights.empty()) {
            measure_read(weights.data(), weights.size(), how.threads);
            reads.push_back(measure_read(weights.data(), weights.size(), how.threads));
        }
        times.push_back(sample(ours, runs, how.threads));
        if (peer) {
            settle(how.threads);
            peer_times.push_back(sample(*peer, peer_runs, how.threads));
            if (how.threads > 1)
                rest_onednn();
        }
    }
    m.time = summarize(std::move(times));
    m.peak = summarize(std::move(peaks)).median;
    if (peer)
        m.peer_time = summarize(std::move(peer_times));
    if (!reads.empty())
        m.read_seconds = summarize(std::move(reads)).median;
    return m;
}

} // namespace octet::tools
