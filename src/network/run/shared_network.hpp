#pragma once

// What contexts of one network share: the graph as it was read, and a plan for each set of sizes that was used
// lately.

#include <list>
#include <mutex>
#include <string>
#include <utility>

#include "network/run/plan.hpp"

namespace octet::model {

class shared_network {
public:
    shared_network(graph g, network_options options);

    const network_options &options() const { return options_; }

    /// The plan for these sizes, from any thread. Throws octet::error where the network cannot have them.
    std::shared_ptr<const plan> at(const network_sizes &sizes);

private:
    const graph source_;
    const network_options options_;
    packed_weights weights_; ///< of all plans
    std::mutex mutex_;       ///< of what follows
    std::list<std::pair<std::string, std::shared_ptr<const plan>>>
        plans_; ///< latest first, by the text of the sizes
};

} // namespace octet::model
