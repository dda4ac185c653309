#pragma once // SPDX-License-Identifier: Apache-2.0

// Contexts of one network share the graph as it was read, and a plan for each set of sizes that was used
// lately. A saved plan is the plan for the sizes of its file; for other sizes its source is used, whose
// weights are unpacked then.

#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "network/graph/stored_graph.hpp"
#include "network/run/plan.hpp"
#include "network/run/recovered_constants.hpp"
#include "octet/fork_guard.hpp"

namespace octet::model {

class shared_network {
public:
    /// `lent`: inputs and outputs that have no bytes but those that a context is given.
    shared_network(graph g, network_options options, std::vector<tensor_id> lent = {});

    const network_options &options() const { return options_; }

    /// The plan for these sizes, from any thread. Throws octet::error where the network cannot have them.
    std::shared_ptr<const plan> at(const network_sizes &sizes);

    /// The graph as it was read, where an input has a size that neither the file nor these sizes tell. Throws
    /// octet::error with all operators that Octet lacks.
    std::optional<graph> open_graph(const network_sizes &sizes) const;

    /// Hands over the bytes of `network::save`, one range after the other; `p` is the plan for these sizes.
    void save(const byte_sink &put, const plan &p, const network_sizes &sizes);

    /// See `network::forget_borrowed`.
    void forget_borrowed();

    /// Bytes of constants that some plan reads.
    std::size_t weight_bytes();

private:
    // Under the mutex:
    std::shared_ptr<const plan> plan_at(const network_sizes &sizes);
    graph sized_source(const network_sizes &sizes) const;
    bool is_for_saved_sizes(const graph &g) const;
    void unpack_weights(graph &g);
    void require_constants(const char *what) const;

    const std::shared_ptr<const saved_plan> saved_; ///< null for other graphs
    const network_options options_;
    const std::vector<tensor_id> lent_;
    const bool has_borrowed_;    ///< constants, which are there for the first plan alone
    const bool has_named_sizes_; ///< the file leaves sizes open
    const bool is_open_;         ///< and some of them are not known
    stored_graph source_;
    packed_weights weights_; ///< of all plans
    std::mutex mutex_;       ///< of what follows
    const fork_guard at_fork_{mutex_};
    std::list<std::pair<std::string, std::shared_ptr<const plan>>>
        plans_;                                             ///< latest first, by the text of the sizes
    std::map<const std::uint8_t *, shared_bytes> unpacked_; ///< by what stands for them in the saved plan
    std::optional<recovered_constants> recovered_;          ///< of borrowed ones
};

} // namespace octet::model
