#pragma once

// Executes a graph with Octet primitives. All primitives and buffers are made in the constructor; `run` only
// executes.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "network/graph/graph.hpp"

namespace octet::model {

struct network_options {
    /// Contract of the accumulating operators (convolution, depthwise, fully connected, batch matmul).
    /// `automatic`: the framework's own; any other rule derives its multipliers or scales from the model's
    /// scales.
    requantization_rule rule = requantization_rule::automatic;
    /// Joins operators where that keeps every byte of the network's outputs; tensors between them vanish.
    bool fusion = true;
    /// Batch instead of the file's; 0: as in the file. For `load_network`.
    dim_t batch = 0;
};

class tensor_buffers;

/// One lowered node: knows its buffers and what runs it.
class step {
public:
    virtual ~step() = default;
    virtual void run(const stream &s) = 0;
    virtual std::string implementation() const = 0; ///< e.g. "ref", "view", "copy"
    virtual std::string explain() const = 0;        ///< problem, plan and refusals, one per line
};

class network {
public:
    /// Throws octet::error; an unsupported operator is named with its node index.
    /// Holds pointers into itself, so it is neither copied nor moved.
    explicit network(graph g, const network_options &options = {});
    ~network();
    network(const network &) = delete;
    network &operator=(const network &) = delete;

    const graph &get_graph() const { return graph_; }
    const step &get_step(std::size_t node) const { return *steps_.at(node); }
    /// Buffer of a tensor that a node or the network reads or writes. Inputs are written here before `run`
    /// and keep their contents; what a node writes may be overwritten after its last reader. Outputs stay
    /// until the next run.
    memory get_memory(int tensor) const;
    /// Bytes of the buffers between the nodes, shared and as they would be if each had its own.
    std::pair<std::size_t, std::size_t> buffer_bytes() const;

    using observer = std::function<void(std::size_t node, double seconds)>;
    /// Runs all nodes in order; `after_node` is called after each (its outputs are then in memory).
    void run(const observer &after_node = {});

private:
    graph graph_;
    engine engine_;
    stream stream_;
    std::unique_ptr<tensor_buffers> buffers_;
    std::vector<std::unique_ptr<step>> steps_;
};

/// Reads a .tflite or .onnx file and builds its network; every error names the file.
network load_network(const std::string &path, const network_options &options = {});

} // namespace octet::model
