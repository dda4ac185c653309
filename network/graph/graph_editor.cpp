// Indices of nodes stay while a pass runs: removed ones are only marked, inserted ones go to the end, and a
// linked list says in which order all run.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/graph_editor.hpp"

#include <algorithm>

namespace octet::model {
namespace {

[[noreturn]] void report(const std::string &mistake) {
    throw error(status::runtime_error, "internal error: " + mistake);
}

} // namespace

graph_editor::graph_editor(graph &g)
    : g_(g), producers_(g.tensors.size()), consumers_(g.tensors.size()), is_removed_(g.nodes.size()) {
    const std::size_t end = g.nodes.size();
    for (std::size_t i = 0; i <= end; i++) { // entries of the list
        next_.push_back(i < end ? i + 1 : 0);
        previous_.push_back(i > 0 ? i - 1 : end);
    }
    for (std::size_t i = 0; i < end; i++) {
        count(g.nodes[i], node_id(i), true);
        last_behind_.emplace_back(i);
    }
    for (const tensor_id t : outputs_of(g))
        consumers_[t.index()].emplace_back();
}

node_id graph_editor::only_consumer(tensor_id t) const {
    if (!t)
        return {};
    const std::vector<node_id> &readers = consumers(t);
    return readers.size() == 1 ? readers[0] : node_id();
}

tensor_id graph_editor::add_tensor(tensor t) {
    producers_.emplace_back();
    consumers_.emplace_back();
    return model::add_tensor(g_, std::move(t));
}

/// Between two neighbours of the list.
node_id graph_editor::insert(std::size_t before, std::size_t behind, node n) {
    const node_id inserted(g_.nodes.size());
    next_.push_back(behind);
    previous_.push_back(before);
    next_[before] = previous_[behind] = entry_of(inserted);
    last_behind_.push_back(inserted);
    is_removed_.push_back(false);
    g_.nodes.push_back(std::move(n));
    count(g_.nodes.back(), inserted, true);
    changes_++;
    return inserted;
}

namespace {

/// A node that comes in place of an unread node, or behind it, is not read either, and gets its mark.
void take_mark(const node &unread, node &n) {
    if (marks_of(unread).unread != kept_unread::no && marks_of(n).unread == kept_unread::no)
        set_mark(n, &node_marks::unread, marks_of(unread).unread);
}

} // namespace

node_id graph_editor::insert_after(node_id place, node n) {
    if (n.number < 0)
        n.number = at(place).number;
    take_mark(at(place), n);
    node_id last = place; // behind all that was inserted here before
    while (last_behind_[last.index()] != last)
        last = last_behind_[last.index()];
    const node_id inserted = insert(entry_of(last), next_[entry_of(last)], std::move(n));
    return last_behind_[place.index()] = inserted;
}

node_id graph_editor::insert_before(node_id place, node n) {
    if (n.number < 0)
        n.number = at(place).number;
    return insert(previous_[entry_of(place)], entry_of(place), std::move(n));
}

void graph_editor::need_there(node_id i, const char *what) const {
    if (is_removed(i))
        report("node " + std::to_string(i.number()) + " (" + at(i).op + ") is " + what +
               " after it was removed");
}

void graph_editor::replace(node_id i, node n) {
    need_there(i, "replaced");
    node &old = g_.nodes[i.index()];
    if (n.number < 0)
        n.number = old.number;
    take_mark(old, n);
    count(old, i, false);
    old = std::move(n);
    count(old, i, true);
    changes_++;
}

void graph_editor::remove(node_id i) {
    need_there(i, "removed");
    count(at(i), i, false);
    is_removed_[i.index()] = true;
    changes_++;
}

bool graph_editor::finish() {
    if (changes_ == 0)
        return false;
    const std::vector<node_id> order = in_order();
    for (auto i = order.rbegin(); i != order.rend(); ++i) // readers come after their writers
        if (!is_removed(*i) && !is_read(at(*i)) && marks_of(at(*i)).unread == kept_unread::no)
            remove(*i);
    std::vector<node> kept;
    for (const node_id i : behind_writers(order))
        kept.push_back(std::move(g_.nodes[i.index()]));
    g_.nodes = std::move(kept);
    return true;
}

std::vector<node_id> graph_editor::in_order() const {
    std::vector<node_id> order;
    for (std::size_t entry = next_[0]; entry != 0; entry = next_[entry])
        order.emplace_back(entry - 1);
    return order;
}

/// `in_order`, but nodes that now read what a later one writes come behind it.
std::vector<node_id> graph_editor::behind_writers(const std::vector<node_id> &in_order) const {
    std::vector<node_id> result, waiting;
    std::vector<bool> is_there = is_removed_, is_entered = is_removed_;
    for (const node_id first : in_order) {
        waiting.assign(1, first);
        while (!waiting.empty()) {
            const node_id i = waiting.back();
            if (!is_entered[i.index()]) {
                is_entered[i.index()] = true;
                for (const tensor_id t : inputs_of(at(i)))
                    if (const node_id writer = producer(t); writer && !is_entered[writer.index()])
                        waiting.push_back(writer);
                continue;
            }
            waiting.pop_back();
            if (is_there[i.index()])
                continue;
            for (const tensor_id t : inputs_of(at(i)))
                if (const node_id writer = producer(t); writer && !is_there[writer.index()])
                    report("node " + std::to_string(i.number()) + " (" + at(i).op +
                           ") reads what follows from its own result");
            is_there[i.index()] = true;
            result.push_back(i);
        }
    }
    return result;
}

void graph_editor::count(const node &n, node_id i, bool is_there) {
    for (const tensor_id t : inputs_of(n)) {
        if (!t)
            continue;
        std::vector<node_id> &readers = consumers_[t.index()];
        if (is_there)
            readers.push_back(i);
        else
            readers.erase(std::prev(std::find(readers.rbegin(), readers.rend(), i).base()));
    }
    for (const tensor_id t : outputs_of(n))
        producers_[t.index()] = is_there ? i : node_id();
}

bool graph_editor::is_read(const node &n) const {
    return any_of(outputs_of(n), [&](tensor_id t) { return !consumers(t).empty(); });
}

} // namespace octet::model
