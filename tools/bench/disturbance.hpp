#pragma once // SPDX-License-Identifier: Apache-2.0

// Whether something else used the core while a sample was taken. On a shared machine loads, above all those of tile
// registers, become several times slower for milliseconds to seconds, while products from registers run at full speed:
// the peak tells nothing of it. So loads are timed beside each sample.

#include <functional>
#include <vector>

#include "octet/settings.hpp"

namespace octet::tools {

/// Cycles that a thread takes to load 1 KiB from its first-level cache, into tile registers where the level has such:
/// the slowest of `threads` threads at a time, each with the best of several tries, which an interrupt does not reach.
double measure_load_cycles(cpu_isa level, int threads);

/// A probe that knows its least result so far, which is what a quiet machine takes.
class load_probe {
public:
    explicit load_probe(std::function<double()> measure) : measure_(std::move(measure)) {}

    double operator()();
    bool is_quiet(double cycles) const;

private:
    std::function<double()> measure_;
    double least_ = 0;
};

/// The probe that all samples of this process with so many threads share, at the level in use.
load_probe &shared_load_probe(int threads);

/// What the probe said beside each of the samples taken so far, of which `wanted` shall count.
class sample_probes {
public:
    sample_probes(load_probe &probe, int wanted) : probe_(&probe), wanted_(wanted) {}

    double now() const { return (*probe_)(); }
    /// The next sample, by the slowest of the probes beside it.
    void add(double cycles) { cycles_.push_back(cycles); }
    /// True if a further sample could take the place of a disturbed one.
    bool are_too_few_quiet() const;
    /// Indices of the samples that count, ascending: the first quiet ones, then the least disturbed ones.
    std::vector<std::size_t> counted() const;
    /// How many of those that count were disturbed.
    int disturbed() const;

private:
    load_probe *probe_;
    int wanted_;
    std::vector<double> cycles_;
};

/// Calls `take(is_further)` for each sample: `samples` times, and as often again at most while `is_disturbed`.
template <typename Take, typename IsDisturbed>
void take_samples(int samples, const Take &take, const IsDisturbed &is_disturbed) {
    for (int i = 0; i < samples; i++)
        take(false);
    for (int i = 0; i < samples && is_disturbed(); i++)
        take(true);
}

/// Those of the values that count, in order.
template <typename Value>
std::vector<Value> at(const std::vector<Value> &values, const std::vector<std::size_t> &indices) {
    std::vector<Value> chosen;
    for (const std::size_t i : indices)
        chosen.push_back(values[i]);
    return chosen;
}

} // namespace octet::tools
