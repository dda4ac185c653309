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
    : g_(g), producers_(g.tensors.size(), -1), consumers_(g.tensors.size()), is_removed_(g.nodes.size()) {
    const int end = static_cast<int>(g.nodes.size());
    for (int i = 0; i <= end; i++) { // entries of the list
        next_.push_back(i < end ? i + 1 : 0);
        previous_.push_back(i > 0 ? i - 1 : end);
    }
    for (int i = 0; i < end; i++) {
        count(at(i), i, true);
        last_behind_.push_back(i);
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

/// Between two neighbours of the list.
int graph_editor::insert(int before, int behind, node n) {
    const int inserted = static_cast<int>(g_.nodes.size());
    next_.push_back(behind);
    previous_.push_back(before);
    next_[model::at(before)] = previous_[model::at(behind)] = inserted + 1;
    last_behind_.push_back(inserted);
    is_removed_.push_back(false);
    g_.nodes.push_back(std::move(n));
    count(g_.nodes.back(), inserted, true);
    changes_++;
    return inserted;
}

namespace {

/// What comes in place of a node that nobody reads, or behind it, is not read either.
void take_mark(const node &unread, node &n) {
    if (marks_of(unread).unread != kept_unread::no && marks_of(n).unread == kept_unread::no)
        set_mark(n, &node_marks::unread, marks_of(unread).unread);
}

} // namespace

int graph_editor::insert_after(int index, node n) {
    if (n.number < 0)
        n.number = at(index).number;
    take_mark(at(index), n);
    int last = index; // behind all that was inserted here before
    while (last_behind_[model::at(last)] != last)
        last = last_behind_[model::at(last)];
    const int inserted = insert(last + 1, next_[model::at(last + 1)], std::move(n));
    return last_behind_[model::at(index)] = inserted;
}

int graph_editor::insert_before(int index, node n) {
    if (n.number < 0)
        n.number = at(index).number;
    return insert(previous_[model::at(index + 1)], index + 1, std::move(n));
}

void graph_editor::need_there(int index, const char *what) const {
    if (is_removed(index))
        report("node " + std::to_string(index) + " (" + at(index).op + ") is " + what +
               " after it was removed");
}

void graph_editor::replace(int index, node n) {
    need_there(index, "replaced");
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
    need_there(index, "removed");
    count(at(index), index, false);
    is_removed_[static_cast<std::size_t>(index)] = true;
    changes_++;
}

bool graph_editor::finish() {
    if (changes_ == 0)
        return false;
    const std::vector<int> order = in_order();
    for (auto i = order.rbegin(); i != order.rend(); ++i) // readers come after their writers
        if (!is_removed(*i) && !is_read(at(*i)) && marks_of(at(*i)).unread == kept_unread::no)
            remove(*i);
    std::vector<node> kept;
    for (const int i : behind_writers(order))
        kept.push_back(std::move(g_.nodes[model::at(i)]));
    g_.nodes = std::move(kept);
    return true;
}

std::vector<int> graph_editor::in_order() const {
    std::vector<int> order;
    for (int entry = next_[0]; entry != 0; entry = next_[model::at(entry)])
        order.push_back(entry - 1);
    return order;
}

/// `in_order`, but nodes that now read what a later one writes come behind it.
std::vector<int> graph_editor::behind_writers(const std::vector<int> &in_order) const {
    std::vector<int> result, waiting;
    std::vector<bool> is_there = is_removed_, is_entered = is_removed_;
    for (const int first : in_order) {
        waiting.assign(1, first);
        while (!waiting.empty()) {
            const int i = waiting.back();
            if (!is_entered[model::at(i)]) {
                is_entered[model::at(i)] = true;
                for (const int t : at(i).inputs)
                    if (const int writer = producer(t); writer >= 0 && !is_entered[model::at(writer)])
                        waiting.push_back(writer);
                continue;
            }
            waiting.pop_back();
            if (is_there[model::at(i)])
                continue;
            for (const int t : at(i).inputs)
                if (const int writer = producer(t); writer >= 0 && !is_there[model::at(writer)])
                    report("node " + std::to_string(i) + " (" + at(i).op +
                           ") reads what follows from its own result");
            is_there[model::at(i)] = true;
            result.push_back(i);
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
