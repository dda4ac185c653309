// A sample: runs of the whole network, runs that tell the time of each node, a sample of each layer by
// itself, runs of the baseline.
// SPDX-License-Identifier: Apache-2.0
#include "bench/measured_network.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include "bench/problem.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
}

/// Threads of ONNX Runtime spin for a while behind a run.
void let_baseline_rest() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

} // namespace

std::vector<std::string> problems_of(const std::string &explanation) {
    std::vector<std::string> problems;
    std::istringstream in(explanation);
    std::string before;
    for (std::string line; std::getline(in, line); before = line) {
        const std::size_t start = line.find_first_not_of(' ');
        if (start != std::string::npos && line.compare(start, 8, "runs on ") == 0 && !before.empty())
            problems.push_back(before.substr(before.find_first_not_of(' ')));
    }
    return problems;
}

measured_network::measured_network(network net, std::unique_ptr<onnxruntime> baseline, int threads,
                                   int samples)
    : net_(std::move(net)), baseline_(std::move(baseline)), threads_(threads), spins_{threads, 0, 0},
      probes_(shared_load_probe(threads), samples) {
    constexpr double block_seconds = 0.1; // duration of the runs of a sample
    const num_threads_scope scope(threads_);
    const engine cpu(engine::kind::cpu, 0);
    measuring how;
    how.samples = samples;
    how.with_cold = how.in_phase = true;
    for (std::size_t i = 0; i < net_.get_graph().nodes.size(); i++) {
        nodes_.emplace_back();
        for (const std::string &problem : problems_of(net_.explain(i))) {
            const auto make = [&] { return make_problem_workload(primitive_desc_from_string(problem, cpu)); };
            nodes_.back().alone.emplace_back(subject_of(primitive_desc_from_string(problem, cpu)),
                                             workload_makers{make, {}}, threads_, how);
        }
    }
    net_.run();
    const clock::time_point start = clock::now();
    net_.run();
    runs_ = std::clamp(static_cast<int>(block_seconds / seconds_since(start)), 3, 100);
}

void measured_network::sample_cold() {
    for (timed_node &node : nodes_)
        for (measured_layer &l : node.alone)
            l.sample_cold();
}

void measured_network::sample() {
    const num_threads_scope scope(threads_);
    if (threads_ > 1) {
        spins_.add(measure_spin(threads_));
        if (const double cycles = measure_round_trip(threads_); cycles > 0)
            round_trips_.push_back(cycles);
    }
    const double before = probes_.now();
    sample_whole();
    sample_nodes_in_network();
    probes_.add(std::max(before, probes_.now()));
    for (timed_node &node : nodes_)
        for (measured_layer &l : node.alone)
            l.sample();
    if (!baseline_)
        return;
    baseline_times_.push_back(baseline_->time(runs_));
    let_baseline_rest();
}

void measured_network::sample_whole() {
    net_.run(); // wakes the threads
    times_.emplace_back();
    for (int i = 0; i < runs_; i++) {
        const clock::time_point start = clock::now();
        net_.run();
        times_.back().push_back(seconds_since(start));
    }
}

void measured_network::sample_nodes_in_network() {
    constexpr int observed_runs = 3;
    for (timed_node &node : nodes_)
        node.in_network.emplace_back();
    for (int i = 0; i < observed_runs; i++)
        net_.run(
            [&](std::size_t node, double seconds) { nodes_[node].in_network.back().push_back(seconds); });
}

network_result measured_network::result() const {
    const model::graph &g = net_.get_graph();
    const auto summary_of = [&](const std::vector<runs> &samples) {
        runs all;
        for (const runs &sample : at(samples, probes_.counted()))
            all.insert(all.end(), sample.begin(), sample.end());
        return summarize(all);
    };
    network_result r;
    std::vector<measurement> warm, cold;
    for (std::size_t i = 0; i < nodes_.size(); i++) {
        measured_node node;
        node.name = std::to_string(model::node_number(g, i)) + ' ' + model::operator_text(g.nodes[i]);
        node.implementation = net_.implementation(i);
        node.in_network.what.name = node.name;
        node.in_network.implementation = node.implementation;
        node.in_network.threads = threads_;
        node.in_network.state = caches::in_network;
        node.in_network.time = summary_of(nodes_[i].in_network);
        node.in_network.disturbed = probes_.disturbed();
        std::vector<measurement> parts_warm, parts_cold;
        for (const measured_layer &l : nodes_[i].alone) {
            const std::vector<measurement> both = l.results();
            parts_warm.push_back(both.at(0));
            parts_cold.push_back(both.at(1));
        }
        if (!parts_warm.empty()) {
            node.alone = {sum_of(parts_warm, node.name), sum_of(parts_cold, node.name)};
            node.in_network.what.operations = node.alone[0].what.operations;
            node.in_network.peak = node.alone[0].peak;
            node.in_network.best = node.alone[0].best;
        }
        warm.push_back(parts_warm.empty() ? node.in_network : node.alone[0]);
        cold.push_back(parts_warm.empty() ? node.in_network : node.alone[1]);
        warm.back().state = caches::warm;
        cold.back().state = caches::cold;
        r.nodes.push_back(std::move(node));
    }
    r.warm = sum_of(warm, "layers");
    r.cold = sum_of(cold, "layers");
    r.whole = r.warm;
    r.whole.what.name = "network";
    r.whole.state = caches::in_network;
    for (measurement *m : {&r.whole, &r.warm, &r.cold})
        m->implementation.clear();
    r.whole.time = summary_of(times_);
    r.whole.disturbed = probes_.disturbed();
    r.whole.cores = threads_ > 1 ? spins_.cores() : 0;
    r.whole.round_trip = median_of(round_trips_);
    if (baseline_) {
        r.whole.baseline_implementation = "ONNX Runtime " + baseline_->version();
        r.whole.baseline_time = summary_of(baseline_times_);
    }
    return r;
}

} // namespace octet::tools
