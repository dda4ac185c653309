// Plans are found by a text of their sizes, and a new one is made while the others wait: its weights are packed once.

#include "network/run/shared_network.hpp"

#include <algorithm>

#include "network/graph/graph.hpp"
#include "network/saved/plan_file.hpp"

namespace octet::model {
namespace {

/// Sizes of a server's requests; plans beyond are made again.
constexpr std::size_t most_plans = 16;

std::string key_of(const network_sizes &sizes) {
    std::string key = std::to_string(sizes.batch);
    for (const auto &[name, dims] : sizes.shapes)
        key += "\n" + name + " " + to_text(dims);
    for (const auto &[name, size] : sizes.dimensions)
        key += "\n" + name + "=" + std::to_string(size);
    return key;
}

/// A saved plan has its rule.
network_options options_for(const graph &g, network_options options) {
    if (!g.saved)
        return options;
    if (options.rule != requantization_rule::automatic && options.rule != g.saved->rule)
        refuse_as_unimplemented(std::string("rule ") + to_string(options.rule) +
                                ": the plan was saved with rule " + to_string(g.saved->rule));
    options.rule = g.saved->rule;
    return options;
}

} // namespace

shared_network::shared_network(graph g, network_options options)
    : source_(std::move(g)), options_(options_for(source_, std::move(options))),
      weights_(source_.saved ? packed_weights(source_.saved->weights) : packed_weights()) {}

std::shared_ptr<const plan> shared_network::at(const network_sizes &sizes) {
    const std::string key = key_of(sizes);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::find_if(plans_.begin(), plans_.end(), [&](const auto &entry) { return entry.first == key; });
    if (found != plans_.end()) {
        plans_.splice(plans_.begin(), plans_, found);
        return found->second;
    }
    const num_threads_scope threads(options_.threads);
    graph g = source_;
    set_sizes(g, sizes);
    const parallel_phase phase; // primitives are planned for threads that are awake, as in a run
    plans_.emplace_front(key, make_plan(std::move(g), options_, weights_));
    if (plans_.size() > most_plans)
        plans_.pop_back();
    return plans_.front().second;
}

} // namespace octet::model
