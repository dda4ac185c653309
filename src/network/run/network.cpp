// From a graph to something that runs, in the order of `state`'s constructor: check, make operators on codes,
// join, assign layouts, lower node by node, place the buffers.

#include "octet/network.hpp"

#include <chrono>
#include <map>
#include <new>

#include "network/lower/lowering.hpp"
#include "network/operators.hpp"
#include "network/passes/fusion.hpp"
#include "network/passes/onnx_layout.hpp"
#include "network/passes/onnx_qdq.hpp"
#include "network/run/evaluate.hpp"
#include "octet/float_environment.hpp"

namespace octet {
inline namespace v0 {
namespace {

using namespace model;

std::string list(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

/// Every node that cannot run in one sentence: the user sees at once what a network lacks. `reasons` are those of
/// operators on floats, by output tensor.
void check_operators(const graph &g, const std::map<int, std::string> &reasons) {
    std::vector<std::string> unsupported;
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        const operator_facts &facts = facts_of(g.framework, n.op);
        if (facts.lower && n.inputs.size() > facts.most_inputs)
            refuse(node_text(g, i) + ": has " + std::to_string(n.inputs.size()) +
                   " inputs, allowed are up to " + std::to_string(facts.most_inputs));
        if (facts.lower)
            continue;
        const auto reason = n.outputs.empty() ? reasons.end() : reasons.find(n.outputs[0]);
        unsupported.push_back(node_text(g, i) + (reason == reasons.end()
                                                     ? ""
                                                     : " (on floats, because " + reason->second + ")"));
    }
    if (!unsupported.empty())
        refuse_as_unimplemented("unsupported operators: " + list(unsupported) + "; supported are " +
                                list(executable_operators(g.framework)));
}

std::unique_ptr<step> lower(const lowering &l, const std::string &who) {
    try {
        return facts_of(l.get_graph().framework, l.get_node().op).lower(l);
    } catch (const error &e) {
        throw error(e.status, who + ": " + e.what());
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory, who + ": not enough memory for its tensors");
    }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

/// Buffers and steps refer to the graph, so it stays where it is while the network is moved.
struct network::state {
    state(model::graph source, const network_options &options);

    model::graph graph;
    engine cpu{engine::kind::cpu, 0};
    octet::stream stream{cpu};
    std::unique_ptr<tensor_buffers> buffers;
    std::vector<std::unique_ptr<step>> steps;
};

network::state::state(model::graph source, const network_options &options) : graph(std::move(source)) {
    const default_float_environment environment; // scales of rules and joined nodes are computed
    executable_operators(graph.framework);       // refuses an unknown framework
    check_graph(graph);
    if (options.batch != 0)
        set_batch(graph, options.batch);
    for (std::size_t i = 0; i < graph.nodes.size(); i++) // before passes move them
        graph.nodes[i].number = node_number(graph, i);
    const bool is_onnx = graph.framework == "onnx"; // floats stand for codes, images have two layouts
    check_operators(graph, is_onnx ? fuse_qdq(graph, evaluate) : std::map<int, std::string>());
    if (options.fusion)
        fuse_padding(graph);
    if (is_onnx)
        assign_layouts(graph);
    if (options.fusion)
        fuse_followers(graph, options.rule);
    buffers = std::make_unique<tensor_buffers>(graph, cpu);
    const evaluator evaluating = evaluate;
    for (std::size_t i = 0; i < graph.nodes.size(); i++)
        steps.push_back(lower(lowering(graph.nodes[i], graph, *buffers, cpu, options.rule, evaluating),
                              node_text(graph, i)));
    try {
        buffers->place();
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory, "not enough memory for the network's tensors");
    }
}

network::network(model::graph g, const network_options &options)
    : state_(std::make_unique<state>(std::move(g), options)) {}

network::network(const std::string &path, const network_options &options) {
    model::graph g = read_network(path);
    try {
        state_ = std::make_unique<state>(std::move(g), options);
    } catch (const error &e) {
        throw error(e.status, path + ": " + e.what());
    }
}

network::network(const void *bytes, std::size_t size, const std::string &name,
                 const network_options &options) {
    model::graph g = read_network(static_cast<const std::uint8_t *>(bytes), size, name);
    try {
        state_ = std::make_unique<state>(std::move(g), options);
    } catch (const error &e) {
        throw error(e.status, name + ": " + e.what());
    }
}

network::~network() = default;
network::network(network &&) noexcept = default;
network &network::operator=(network &&) noexcept = default;

const model::graph &network::get_graph() const { return state_->graph; }

memory network::get_memory(int tensor) const { return state_->buffers->get(tensor); }

std::string network::implementation(std::size_t node) const {
    return state_->steps.at(node)->implementation();
}

std::string network::explain(std::size_t node) const { return state_->steps.at(node)->explain(); }

std::pair<std::size_t, std::size_t> network::buffer_bytes() const {
    return {state_->buffers->arena_bytes(), state_->buffers->unplanned_bytes()};
}

void network::run(const observer &after_node) {
    for (std::size_t i = 0; i < state_->steps.size(); i++) {
        const auto start = std::chrono::steady_clock::now();
        state_->steps[i]->run(state_->stream);
        state_->stream.wait();
        if (after_node)
            after_node(i, seconds_since(start));
    }
}

std::vector<std::string> supported_operators(const std::string &framework) {
    return executable_operators(framework);
}

} // namespace v0
} // namespace octet
