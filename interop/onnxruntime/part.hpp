#pragma once // SPDX-License-Identifier: Apache-2.0

// A part of a graph as a network, and its runs: any number at once, each in a context of its own, in the
// sizes that its inputs have.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "octet/fork_guard.hpp"
#include "octet/network.hpp"
#include "onnxruntime/graph.hpp"
#include "onnxruntime/options.hpp"

namespace octet::onnxruntime {

/// Whether runs are faster with the session's threads or by themselves: each way has its turns, then the one
/// with the shortest run stays.
class faster_way {
public:
    bool asks() const { return runs_ < 2 * turns ? runs_ % 2 == 0 : shortest_[1] < shortest_[0]; }
    void note(bool has_asked, std::chrono::steady_clock::duration time) {
        if (runs_ < 2 * turns) {
            shortest_[has_asked] = std::min(shortest_[has_asked], time);
            runs_++;
        }
    }

private:
    static constexpr int turns = 5;
    int runs_ = 0;
    std::chrono::steady_clock::duration shortest_[2] = {std::chrono::steady_clock::duration::max(),
                                                        std::chrono::steady_clock::duration::max()};
};

class part {
public:
    /// Makes the network. Throws octet::error with the reason why Octet does not run these nodes.
    part(const runtime &ort, const graph &g, const selection &nodes, const session_settings &settings,
         const std::function<void(const std::string &)> &tell);
    /// The part that node `compiled` of a compiled model in `folder` stands for. Throws octet::error where
    /// its plan cannot be used.
    part(const runtime &ort, const graph &g, int compiled, const std::string &folder,
         const session_settings &settings);

    /// The nodes for which Octet refuses such a part, with the sentences of a network; none where no single
    /// node is to blame.
    static std::map<int, std::string> refused(const runtime &ort, const graph &g, const selection &nodes);

    bool is_open() const { return is_open_; }                ///< has sizes that only a run tells
    const std::vector<int> &nodes() const { return nodes_; } ///< in the graph, in order
    const model::graph &network_graph() const { return network_->get_graph(); } ///< as it runs

    const network &plan() const { return *network_; } ///< to be saved

    const std::string &first_output() const { return outputs_.front().name; } ///< a tensor that it writes

    /// Tells in which order the node that took the part's place has its inputs and outputs, by their names. Throws
    /// octet::error where they are others.
    void connect(const std::vector<std::string> &inputs, const std::vector<std::string> &outputs);

    /// Lets runs use the session's threads, which wait for other nodes spinning, instead of Octet's.
    void use_threads_of_session() { may_borrow_threads_ = true; }

    /// Runs on the tensors of a run of ONNX Runtime's. Any thread may call it.
    void compute(ort_kernel_context *context) const;

private:
    /// Dimensions of all inputs; behind them those of outputs that `grown_` has, where the past has room.
    using sizes = std::vector<std::vector<std::int64_t>>;
    struct port {
        std::string name;
        int type;
        std::vector<std::int64_t> dims; ///< as the graph has them
        std::size_t place = 0;          ///< among the node's inputs or outputs
    };
    /// Keys and values that a run's total_sequence_length makes as long as the past if that has room for it.
    struct grown {
        std::size_t total, past, present; ///< places among inputs and outputs
    };
    struct tensor_facts {
        data_type type;
        std::size_t bytes;
        std::vector<std::int64_t> dims;
    };
    /// A context in some sizes, and what runs need of its tensors.
    struct idle_context {
        sizes at;
        network net;
        std::vector<tensor_facts> inputs = {}, outputs = {};
        std::vector<network::source_buffer> read = {};
        std::vector<network::result_buffer> written = {};
        bool divides_loops = true; ///< among threads, as far as runs have shown
        faster_way chosen = {};
    };

    void set_ports(const graph &g, const selection &nodes);
    void find_grown(const graph &g, const selection &nodes);
    idle_context context_for(ort_kernel_context *context, std::vector<const ort_value *> &values) const;
    idle_context take(const sizes &at) const;
    network resized(const sizes &at) const;
    void give_back(idle_context c) const;
    bool borrows_threads() const;
    bool run_on_loan(ort_kernel_context *context, idle_context &c, int threads, bool has_lenders) const;
    void run(ort_kernel_context *context, idle_context &c) const;

    const runtime &ort_;
    std::vector<int> nodes_;
    std::vector<port> inputs_, outputs_;
    std::vector<grown> grown_;
    bool is_open_ = false;
    sizes fixed_; ///< sizes that contexts begin with
    std::unique_ptr<network> network_;
    bool may_borrow_threads_ = false;
    mutable std::atomic<bool> has_lenders_{false}; ///< a thread of the session's has come
    mutable std::atomic<unsigned> runs_alone_{0};  ///< before
    mutable std::mutex mutex_;                     ///< guards the members below
    const fork_guard at_fork_{mutex_};
    mutable std::vector<idle_context> idle_; ///< used last at the end
};

} // namespace octet::onnxruntime
