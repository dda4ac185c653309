// Indices of nodes stay while a pass runs: removed ones are only marked, inserted ones go to the end, and an order
// of execution with room between the original nodes says where they belong.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/graph_editor.hpp"

#include <algorithm>
#include <numeric>

namespace octet::model {
namespace {
constexpr std::int64_t room_for_insertions = std::int64_t{1}
                                             << 32; ///< between two nodes of the original order
}

graph_editor::graph_editor(graph &g)
    : g_(g), producers_(g.tensors.size(), -1), consumers_(g.tensors.size()), is_removed_(g.nodes.size()) {
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        count(g.nodes[i], static_cast<int>(i), true);
        order_.push_back(static_cast<std::int64_t>(i) * room_for_insertions);
    }
    for (const int t : g.outputs)
        consumers_[static_cast<std::size_t>(t)].push_back(-1);
}

int graph_editor::producer(int tensor) const {
    return tensor < 0 ? -1 : producers_[static_cast<std::size_t>(tensor)];
}

int graph_editor::only_consumer(int tensor) const {
    const std::vector<int> &readers = consumers_[static_cast<std::size_t>(tensor)];
    return readers.size() == 1 ? readers[0] : -1;
}

int graph_editor::add_tensor(tensor t) {
    g_.tensors.push_back(std::move(t));
    producers_.push_back(-1);
    consumers_.emplace_back();
    return static_cast<int>(g_.tensors.size() - 1);
}

int graph_editor::insert(std::int64_t place, node n) {
    const int inserted = static_cast<int>(g_.nodes.size());
    order_.push_back(place + inserted);
    is_removed_.push_back(false);
    g_.nodes.push_back(std::move(n));
    count(g_.nodes.back(), inserted, true);
    changes_++;
    return inserted;
}

namespace {

/// What comes in place of a node that nobody reads, or behind it, is not read either.
void take_mark(const node &unread, node &n) {
    if (const auto mark = unread.attributes.find(kept_unread); mark != unread.attributes.end())
        n.attributes.insert(*mark);
}

} // namespace

int graph_editor::insert_after(int index, node n) {
    if (n.number < 0)
        n.number = at(index).number;
    take_mark(at(index), n);
    return insert(order_[static_cast<std::size_t>(index)], std::move(n));
}
int graph_editor::insert_before(int index, node n) {
    if (n.number < 0)
        n.number = at(index).number;
    return insert(order_[static_cast<std::size_t>(index)] - room_for_insertions / 2, std::move(n));
}

void graph_editor::replace(int index, node n) {
    node &old = g_.nodes[static_cast<std::size_t>(index)];
    if (n.number < 0)
        n.number = old.number;
    take_mark(old, n);
    count(old, index, false);
    old = std::move(n);
    count(old, index, true);
    changes_++;
}

void graph_editor::remove(int index) {
    count(at(index), index, false);
    is_removed_[static_cast<std::size_t>(index)] = true;
    changes_++;
}

bool graph_editor::finish() {
    if (changes_ == 0)
        return false;
    std::vector<std::size_t> in_order(g_.nodes.size());
    std::iota(in_order.begin(), in_order.end(), std::size_t{0});
    std::sort(in_order.begin(), in_order.end(),
              [&](std::size_t a, std::size_t b) { return order_[a] < order_[b]; });
    for (auto i = in_order.rbegin(); i != in_order.rend(); ++i) // readers come after their writers
        if (!is_removed_[*i] && !is_read(g_.nodes[*i]) && g_.nodes[*i].attributes.count(kept_unread) == 0)
            remove(static_cast<int>(*i));
    std::vector<node> kept;
    for (const std::size_t i : behind_writers(in_order))
        kept.push_back(std::move(g_.nodes[i]));
    g_.nodes = std::move(kept);
    return true;
}

/// `in_order`, but nodes that now read what a later one writes come behind it.
std::vector<std::size_t> graph_editor::behind_writers(const std::vector<std::size_t> &in_order) const {
    std::vector<std::size_t> result, waiting;
    std::vector<bool> is_there = is_removed_, is_entered = is_removed_;
    for (const std::size_t first : in_order) {
        waiting.assign(1, first);
        while (!waiting.empty()) {
            const std::size_t i = waiting.back();
            if (!is_entered[i]) {
                is_entered[i] = true;
                for (const int t : g_.nodes[i].inputs)
                    if (const int writer = producer(t);
                        writer >= 0 && !is_entered[static_cast<std::size_t>(writer)])
                        waiting.push_back(static_cast<std::size_t>(writer));
                continue;
            }
            waiting.pop_back();
            if (!is_there[i])
                result.push_back(i);
            is_there[i] = true;
        }
    }
    return result;
}

void graph_editor::count(const node &n, int index, bool is_there) {
    for (const int t : n.inputs) {
        if (t < 0)
            continue;
        std::vector<int> &readers = consumers_[static_cast<std::size_t>(t)];
        if (is_there)
            readers.push_back(index);
        else
            readers.erase(std::prev(std::find(readers.rbegin(), readers.rend(), index).base()));
    }
    for (const int t : n.outputs)
        producers_[static_cast<std::size_t>(t)] = is_there ? index : -1;
}

bool graph_editor::is_read(const node &n) const {
    return std::any_of(n.outputs.begin(), n.outputs.end(),
                       [&](int t) { return !consumers_[static_cast<std::size_t>(t)].empty(); });
}

} // namespace octet::model
