// A search from each node of the file in turn to the nodes that it depends on, with a stack of its own: files
// decide how deep it goes.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/reader/node_order.hpp"

#include <string_view>
#include <unordered_map>

namespace octet::model {

std::vector<int> order_of_nodes(const onnx::GraphProto &source) {
    std::unordered_map<std::string_view, int> writers;
    for (int i = 0; i < source.node_size(); i++)
        for (const std::string &name : source.node(i).output())
            if (!name.empty())
                writers.emplace(name, i);
    enum class state : char { waits, is_entered, is_there };
    std::vector<state> states(static_cast<std::size_t>(source.node_size()), state::waits);
    const auto state_of = [&](int i) -> state & { return states[static_cast<std::size_t>(i)]; };
    std::vector<int> order, stack;
    order.reserve(states.size());
    for (int first = 0; first < source.node_size(); first++) {
        stack.assign(1, first);
        while (!stack.empty()) {
            const int i = stack.back();
            if (state_of(i) == state::waits) {
                state_of(i) = state::is_entered;
                for (const std::string &name : source.node(i).input())
                    if (const auto found = writers.find(name);
                        found != writers.end() && state_of(found->second) == state::waits)
                        stack.push_back(found->second);
                continue;
            }
            stack.pop_back();
            if (state_of(i) == state::is_entered)
                order.push_back(i);
            state_of(i) = state::is_there;
        }
    }
    return order;
}

} // namespace octet::model
