// TransposeOptimizer, as far as bytes depend on it: a reduction in front of a Transpose instead of behind it runs over another
// axis, in another order of sums.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/passes/ort/ort_graph.hpp"
#include "network/passes/ort/transformers.hpp"

namespace octet::model::ort {
namespace {

std::vector<std::int64_t> order_of(const ort_graph &g, int transpose) {
    std::vector<std::int64_t> order(g.rank(g.input(transpose, 0)));
    for (std::size_t d = 0; d < order.size(); d++)
        order[d] = static_cast<std::int64_t>(order.size() - 1 - d);
    return g.attribute(transpose, "perm", order);
}

bool is_permutation(std::vector<std::int64_t> order) {
    std::sort(order.begin(), order.end());
    for (std::size_t d = 0; d < order.size(); d++)
        if (order[d] != static_cast<std::int64_t>(d))
            return false;
    return true;
}

/// Reduce(Transpose(x)) -> Transpose(Reduce(x)).
void move_behind(ort_graph &g, int reduction) {
    const int moved = g.input(reduction, 0), before = g.writer(moved, "Transpose"), y = g.output(reduction);
    if (before < 0 || g.only_consumer(moved) != reduction ||
        g.attribute<std::int64_t>(reduction, "keepdims", 1) != 1 || !g.is_float(moved))
        return;
    const std::vector<std::int64_t> order = order_of(g, before);
    auto reduced = g.attribute(reduction, "reduced", std::vector<std::int64_t>{});
    const int x = g.input(before, 0);
    const memory::dims &from = g.dims(x);
    if (order.size() != from.size() || reduced.size() != from.size() || g.rank(y) != from.size() ||
        !is_permutation(order))
        return;
    std::vector<std::int64_t> axes, of_x(from.size());
    memory::dims dims(from.size());
    for (std::size_t d = 0; d < order.size(); d++) {
        const auto axis = static_cast<std::size_t>(order[d]);
        of_x[axis] = reduced[d];
        dims[axis] = g.size(y, d);
        if (reduced[d] == 1 && g.size(moved, d) != 1)
            axes.push_back(order[d]);
    }
    if (axes.empty())
        return;
    node n = g.at(reduction);
    n.inputs = {x};
    n.attributes["reduced"] = of_x;
    n.attributes["axes"] = axes;
    n.outputs = {g.add_like(y, dims)};
    const int result = n.outputs[0];
    g.remove(before);
    g.insert_before(reduction, std::move(n));
    g.become(reduction, node{"Transpose", {result}, {}, {{"perm", order}}});
}

} // namespace

void optimize_transposes(ort_graph &g) {
    for (const char *const op : {"ReduceMean", "ReduceSum"})
        g.for_each(op, [&](int i) { move_behind(g, i); });
}

} // namespace octet::model::ort
