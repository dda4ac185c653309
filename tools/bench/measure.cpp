// The order of what is timed within a sample; see measure.hpp for why.
// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "bench/eviction.hpp"
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

/// Runs once at least, with several threads until they are surely awake.
void warm_up(workload &w, int threads, bool in_phase) {
    const std::chrono::milliseconds waking(in_phase ? 1 : 5);
    const auto start = std::chrono::steady_clock::now();
    do {
        w.run();
    } while (threads > 1 && std::chrono::steady_clock::now() - start < waking);
}

/// A workload and, for cold caches, its twin: it warms up code and threads, and leaves this one's memory alone.
struct contender {
    std::unique_ptr<workload> warm, cold;
    int runs = 1;
    std::vector<double> times, cold_times;

    contender(const std::function<std::unique_ptr<workload>()> &make, bool with_cold)
        : warm(make()), cold(with_cold ? make() : nullptr), runs(runs_per_sample(*warm)) {}

    void sample(int threads, bool in_phase) {
        warm_up(*warm, threads, in_phase);
        times.push_back(seconds_of(*warm, runs));
    }
    void sample_cold(int threads, bool in_phase) {
        warm_up(*warm, threads, in_phase);
        cold_times.push_back(seconds_of(*cold, 1));
    }
};

/// Seconds to read and to write a layer's bytes. The best of all samples counts, since it is what can be done.
struct plain_loops {
    std::vector<double> reads, writes;
    roofline best(double compute) const { return {compute, least(reads), least(writes)}; }

private:
    static double least(const std::vector<double> &times) {
        return times.empty() ? 0 : *std::min_element(times.begin(), times.end());
    }
};

} // namespace

const char *to_string(caches state) {
    return state == caches::warm ? "warm" : state == caches::cold ? "cold" : "network";
}

subject subject_of(const layer &l, const bench_contract &contract) {
    const auto size = [](std::int64_t elements, data_type type) {
        return elements * static_cast<std::int64_t>(memory::data_type_size(type)) / elements_per_byte(type);
    };
    const bool is_one_row = l.kind != layer_kind::convolution && l.m == 1;
    const std::int64_t weights_bytes = size(l.weights(), contract.weights);
    return {l.name,
            l.count,
            l.operations(),
            is_one_row ? weights_bytes : 0,
            contract.is_f32(),
            {size(l.needed_source(), contract.src) + weights_bytes, size(l.destination(), contract.dst)}};
}

struct measured_layer::state {
    state(subject s, const workload_makers &makers, int thread_count, const measuring &how)
        : what(std::move(s)), threads(thread_count), in_phase(how.in_phase),
          weights(static_cast<std::size_t>(what.read_at_least), 1),
          source(static_cast<std::size_t>(what.bytes.read), 1),
          destination(static_cast<std::size_t>(what.bytes.written) + cache_line, 1), spins{threads, 0, 0},
          probes(how.probe(threads), how.samples), cold_probes(probes) {
        const num_threads_scope scope(threads);
        set_onednn_threads(threads);
        {
            const std::unique_ptr<parallel_phase> phase = awake();
            ours.emplace(makers.ours, how.with_cold);
        }
        if (!makers.baseline)
            return;
        baseline.emplace(makers.baseline, how.with_cold);
        rest_onednn();
    }

    /// Takes a sample: calls `part` with Octet, then with the baseline, where each finds the other's threads
    /// asleep, and probes before and behind each.
    template <typename Part> void take_turns(const Part &part, sample_probes &beside) {
        if (baseline)
            settle(threads);
        double slowest = beside.now();
        {
            const std::unique_ptr<parallel_phase> phase = awake();
            part(*ours);
        }
        if (!in_phase)
            settle(threads);
        slowest = std::max(slowest, beside.now());
        if (baseline) {
            part(*baseline);
            if (threads > 1)
                rest_onednn();
            slowest = std::max(slowest, beside.now());
        }
        beside.add(slowest);
    }

    /// Few bytes are moved sooner by one thread than others hear of them.
    int movers(std::size_t bytes) const {
        constexpr std::size_t worth_a_thread = 32 << 10;
        return bytes / static_cast<std::size_t>(threads) < worth_a_thread ? 1 : threads;
    }
    double read(int passes) {
        return measure_read(source.data(), source.size(), movers(source.size()), passes);
    }
    double write(int passes) {
        const auto address = reinterpret_cast<std::uintptr_t>(destination.data());
        return measure_write(destination.data() + (cache_line - address % cache_line) % cache_line,
                             destination.size() - cache_line, movers(destination.size()), passes);
    }

    measurement result(caches of) const {
        const bool is_cold = of == caches::cold;
        const sample_probes &beside = is_cold ? cold_probes : probes;
        const auto time_of = [&](const contender &c) {
            return summarize(at(is_cold ? c.cold_times : c.times, beside.counted()));
        };
        measurement m;
        m.what = what;
        m.threads = threads;
        m.state = of;
        m.implementation = ours->warm->implementation();
        m.time = time_of(*ours);
        m.disturbed = beside.disturbed();
        m.peak = median_of(peaks);
        m.best = (is_cold ? cold_loops : loops).best(m.peak > 0 ? what.operations / m.peak : 0);
        m.read_seconds = is_cold ? 0 : median_of(weight_reads);
        m.cores = threads > 1 ? spins.cores() : 0;
        m.round_trip = median_of(round_trips);
        if (baseline) {
            m.baseline_implementation = baseline->warm->implementation();
            m.baseline_time = time_of(*baseline);
        }
        return m;
    }

    static constexpr std::size_t cache_line = 64;
    const subject what;
    const int threads;
    const bool in_phase;
    std::vector<char> weights, source, destination; ///< as large as the layer's
    std::optional<contender> ours, baseline;
    plain_loops loops, cold_loops;
    std::vector<double> peaks, weight_reads, round_trips;
    spin_times spins;
    sample_probes probes, cold_probes;

private:
    std::unique_ptr<parallel_phase> awake() const {
        return in_phase ? std::make_unique<parallel_phase>() : nullptr;
    }
};

measured_layer::measured_layer(subject what, const workload_makers &makers, int threads, const measuring &how)
    : state_(std::make_unique<state>(std::move(what), makers, threads, how)) {}
measured_layer::measured_layer(measured_layer &&) noexcept = default;
measured_layer::~measured_layer() = default;

void measured_layer::sample_cold() {
    state &s = *state_;
    const num_threads_scope scope(s.threads);
    set_onednn_threads(s.threads);
    s.cold_loops.reads.push_back(s.read(1));
    s.cold_loops.writes.push_back(s.write(1));
    s.take_turns([&](contender &c) { c.sample_cold(s.threads, s.in_phase); }, s.cold_probes);
}

void measured_layer::sample() {
    state &s = *state_;
    const num_threads_scope scope(s.threads);
    set_onednn_threads(s.threads);
    if (!s.in_phase) // the threads of a phase sleep when it ends
        settle(s.threads);
    s.peaks.push_back(measure_peak(get_effective_cpu_isa(), s.what.is_f32, s.threads));
    if (s.threads > 1) {
        s.spins.add(measure_spin(s.threads));
        if (const double cycles = measure_round_trip(s.threads); cycles > 0)
            s.round_trips.push_back(cycles);
    }
    if (!s.weights.empty()) {
        measure_read(s.weights.data(), s.weights.size(), s.threads);
        s.weight_reads.push_back(measure_read(s.weights.data(), s.weights.size(), s.threads));
    }
    s.read(1);
    s.loops.reads.push_back(s.read(passes_over(s.source.size())));
    s.write(1);
    s.loops.writes.push_back(s.write(passes_over(s.destination.size())));
    s.take_turns([&](contender &c) { c.sample(s.threads, s.in_phase); }, s.probes);
}

bool measured_layer::is_disturbed() const {
    const bool has_cold = !state_->ours->cold_times.empty();
    return state_->probes.are_too_few_quiet() || (has_cold && state_->cold_probes.are_too_few_quiet());
}

std::vector<measurement> measured_layer::results() const {
    std::vector<measurement> results = {state_->result(caches::warm)};
    if (!state_->ours->cold_times.empty())
        results.push_back(state_->result(caches::cold));
    return results;
}

std::vector<measurement> measure(const subject &what, const workload_makers &makers, const measuring &how) {
    std::vector<measured_layer> layers;
    for (const int threads : how.threads)
        layers.emplace_back(what, makers, threads, how);
    const auto take = [&](bool is_further) {
        std::vector<measured_layer *> taken;
        for (measured_layer &l : layers)
            if (!is_further || l.is_disturbed())
                taken.push_back(&l);
        if (how.with_cold)
            evict_caches();
        for (measured_layer *l : taken)
            if (how.with_cold)
                l->sample_cold();
        for (measured_layer *l : taken)
            l->sample();
    };
    take_samples(how.samples, take, [&] {
        return std::any_of(layers.begin(), layers.end(), [](const auto &l) { return l.is_disturbed(); });
    });
    std::vector<measurement> results;
    for (const measured_layer &l : layers)
        for (measurement &m : l.results())
            results.push_back(std::move(m));
    set_scaling(results);
    return results;
}

measurement sum_of(const std::vector<measurement> &parts, const std::string &name) {
    measurement sum = parts.at(0);
    sum.what.name = name;
    if (parts.size() == 1)
        return sum;
    const auto n = static_cast<double>(parts.size());
    double ideal = 0; // seconds at the peak
    sum.what.operations = 0;
    sum.time = {};
    sum.best = {};
    sum.cores = sum.round_trip = 0;
    sum.read_seconds = 0;
    for (const measurement &m : parts) {
        sum.what.operations += m.what.operations;
        ideal += m.peak > 0 ? m.what.operations / m.peak : 0;
        sum.best.of_several += m.best.bound();
        for (double time_summary::*part : {&time_summary::minimum, &time_summary::median, &time_summary::p90,
                                           &time_summary::p99, &time_summary::low, &time_summary::high})
            sum.time.*part += m.time.*part;
        sum.cores += m.cores / n;
        sum.round_trip += m.round_trip / n;
        sum.disturbed = std::max(sum.disturbed, m.disturbed);
    }
    sum.peak = ideal > 0 ? sum.what.operations / ideal : 0;
    return sum;
}

void set_scaling(std::vector<measurement> &of_one_layer) {
    for (measurement &m : of_one_layer) {
        const auto first = std::find_if(of_one_layer.begin(), of_one_layer.end(),
                                        [&](const measurement &other) { return other.state == m.state; });
        if (&*first != &m)
            m.scaling = first->time.median / m.time.median;
    }
}

} // namespace octet::tools
