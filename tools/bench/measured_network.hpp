#pragma once // SPDX-License-Identifier: Apache-2.0

// A whole network timed beside its layers: what it takes, what each layer takes in it, and what each takes by
// itself, with warm and with cold caches. The difference of the network and the sum of its warm layers is
// what a network loses between its layers: cold weights, threads to be woken, calls.

#include <memory>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/onnxruntime.hpp"
#include "octet/network.hpp"

namespace octet::tools {

/// A node of the network.
struct measured_node {
    std::string name; ///< "12 QLinearConv + QLinearAdd"
    std::string implementation;
    std::vector<measurement> alone; ///< warm, then cold; none if the node has no primitives
    measurement in_network;
};

/// With one count of threads.
struct network_result {
    measurement whole; ///< its bound is the sum of the layers'
    measurement warm,
        cold; ///< sums of the layers by themselves; of nodes without primitives the time in the network
    std::vector<measured_node> nodes;

    double over_layers() const { return whole.time.median / warm.time.median; }
};

/// The problems of a node's primitives, in the words of verbose mode, from what `network::explain` says.
std::vector<std::string> problems_of(const std::string &explanation);

/// One network with one count of threads, sample by sample.
class measured_network {
public:
    /// The network with its inputs written; the baseline may be null.
    measured_network(network net, std::unique_ptr<onnxruntime> baseline, int threads, int samples);

    /// Takes a sample of each layer; the caller has evicted the caches.
    void sample_cold();
    void sample();
    /// True if a further sample could take the place of a disturbed one of the whole network.
    bool is_disturbed() const { return probes_.are_too_few_quiet(); }
    network_result result() const;

private:
    using runs = std::vector<double>; ///< of a sample, in seconds
    struct timed_node {
        std::vector<measured_layer> alone;
        std::vector<runs> in_network;
    };
    void sample_whole();
    void sample_nodes_in_network();

    network net_;
    std::unique_ptr<onnxruntime> baseline_;
    int threads_, runs_ = 1;
    std::vector<timed_node> nodes_;
    std::vector<runs> times_, baseline_times_;
    std::vector<double> round_trips_;
    spin_times spins_;
    sample_probes probes_;
};

} // namespace octet::tools
