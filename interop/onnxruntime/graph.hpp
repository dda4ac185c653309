#pragma once // SPDX-License-Identifier: Apache-2.0

// A graph of ONNX Runtime's as values: what claims are decided on, and what networks are made of. Everything
// is asked for once.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "octet/graph.hpp"
#include "onnxruntime/runtime.hpp"

namespace octet::onnxruntime {

/// A tensor between nodes, an input or a constant.
struct value {
    std::string name;
    int type = element::none; ///< an `element`; none: no tensor
    bool has_shape = false;
    std::vector<std::int64_t> dims;      ///< -1: open
    std::vector<std::string> dim_names;  ///< names of open dimensions, "" if they have none
    const ort_value *constant = nullptr; ///< a constant of this graph
    int producer = -1;              ///< node that writes it; -1: an input, a constant, or the outer graph's
    std::vector<int> consumers;     ///< nodes that read it, through graphs inside them, too
    bool is_outer_constant = false; ///< belongs to a graph around this one
    bool is_output = false;         ///< is an output of the graph
};

struct node {
    std::string op; ///< by its name in Octet's graphs
    std::string name;
    const ort_node *handle = nullptr;
    std::vector<int> inputs, outputs; ///< values, -1 for an absent one
    std::vector<int> implicit;        ///< values that graphs inside it read
    bool has_graphs = false;
    std::map<std::string, model::attribute> attributes;
};

struct graph {
    std::vector<value> values;
    std::vector<node> nodes; ///< each behind those whose values it reads
    std::int64_t opset = 0;  ///< version of the standard's operators
};

/// Throws octet::error.
graph read_graph(const runtime &ort, const ort_graph *source);

/// Octet's type of elements of a type of ONNX's; undef where there is none.
data_type octet_type(int type);

/// "node 3 (Conv) 'layer1/conv'"
std::string text_of(const graph &g, int node);

/// Some nodes of a graph, to be one node.
struct selection {
    std::vector<int> nodes;           ///< in order
    std::vector<int> inputs, outputs; ///< values that others write, and that others read
};
selection select(const graph &g, std::vector<int> nodes);

/// Constants are copied, or those of some size left where ONNX Runtime has them while it is asked what is claimed (see
/// `model::borrowed`).
enum class constants { copied, borrowed };

/// A network of them as Octet has it; the number of a node is its place in `g`. Inputs have `input_dims`.
/// Throws octet::error.
model::graph network_of(const runtime &ort, const graph &g, const selection &part,
                        const std::vector<std::vector<std::int64_t>> &input_dims, constants kind);

/// The nodes for which such a network is refused, with their sentences, by their places in `g`.
std::map<int, std::string> refused_in(const runtime &ort, const graph &g, const selection &part,
                                      const std::vector<std::vector<std::int64_t>> &input_dims);

} // namespace octet::onnxruntime
