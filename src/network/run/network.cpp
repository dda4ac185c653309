#include "network/run/network.hpp"

#include <chrono>
#include <new>

#include "network/lower/lowering.hpp"
#include "network/passes/fusion.hpp"
#include "network/passes/onnx_layout.hpp"
#include "network/passes/onnx_qdq.hpp"

namespace octet::model {
namespace {

void nothing(graph &) {}

/// Whose operators a graph consists of.
const struct framework {
    const char *name;
    lowering_function (*find_lowering)(const std::string &op);
    std::string (*operators)();
    void (*make_codes)(graph &); ///< operators on codes instead of floats
    void (*assign_layouts)(graph &);
} frameworks[] = {
    {"tflite", find_tflite_lowering, tflite_operators, nothing, nothing},
    {"onnx", find_onnx_lowering, onnx_operators, fuse_qdq, assign_layouts},
};

const framework &framework_of(const graph &g) {
    for (const framework &f : frameworks)
        if (g.framework == f.name)
            return f;
    refuse("networks of '" + g.framework + "' cannot be run, allowed are tflite and onnx");
}

/// Every node without a lowering in one sentence: the user sees at once what a network lacks.
void check_operators(const graph &g, const framework &f) {
    std::string unsupported;
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (!f.find_lowering(g.nodes[i].op))
            unsupported += (unsupported.empty() ? "" : ", ") + node_text(g, i);
    if (!unsupported.empty())
        refuse_as_unimplemented("unsupported operators: " + unsupported + "; supported are " + f.operators());
}

std::unique_ptr<step> lower(const lowering &l, const framework &f, const std::string &who) {
    try {
        return f.find_lowering(l.get_node().op)(l);
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

network::network(graph g, const network_options &options)
    : graph_(std::move(g)), engine_(engine::kind::cpu, 0), stream_(engine_) {
    const framework &f = framework_of(graph_);
    check_graph(graph_);
    f.make_codes(graph_);
    check_operators(graph_, f);
    if (options.fusion)
        fuse_padding(graph_);
    f.assign_layouts(graph_);
    if (options.fusion)
        fuse_followers(graph_, options.rule);
    buffers_ = std::make_unique<tensor_buffers>(graph_, engine_);
    for (std::size_t i = 0; i < graph_.nodes.size(); i++)
        steps_.push_back(
            lower(lowering(graph_.nodes[i], graph_, *buffers_, engine_, options), f, node_text(graph_, i)));
    try {
        buffers_->place();
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory, "not enough memory for the network's tensors");
    }
}

network::~network() = default;

memory network::get_memory(int tensor) const { return buffers_->get(tensor); }

std::pair<std::size_t, std::size_t> network::buffer_bytes() const {
    return {buffers_->arena_bytes(), buffers_->unplanned_bytes()};
}

void network::run(const observer &after_node) {
    for (std::size_t i = 0; i < steps_.size(); i++) {
        const auto start = std::chrono::steady_clock::now();
        steps_[i]->run(stream_);
        stream_.wait();
        if (after_node)
            after_node(i, seconds_since(start));
    }
}

network load_network(const std::string &path, const network_options &options) {
    graph g = read_network(path);
    try {
        if (options.batch != 0)
            set_batch(g, options.batch);
        return network(std::move(g), options);
    } catch (const error &e) {
        throw error(e.status, path + ": " + e.what());
    }
}

} // namespace octet::model
