// As `reshape_fusion.cc` of ONNX Runtime 1.30, level 1: sizes that a network computes become those that a
// Reshape copies or finds out itself, and views one after the other are one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

bool keeps_zeros(const ort_graph &g, node_id reshape) {
    return g.attribute<std::int64_t>(reshape, "allowzero", 0) != 0;
}

// ---- Computed sizes

/// A square product of a tensor, and a row.
bool is_linear(const ort_graph &g, tensor_id source, tensor_id root) {
    const node_id sum = g.writer(root, "Add"), product = g.writer(g.input(sum, 0), "MatMul");
    const tensor_id row = g.input(sum, 1);
    if (!product || !g.producer(source) || !g.is_constant(row) || g.rank(row) != 1)
        return false;
    const node_id before = g.producer(g.input(product, 0));
    const tensor_id w = g.input(product, 1);
    return (!before || before == g.producer(source)) && g.is_known(w) &&
           g.dims(w) == memory::dims{g.size(row, 0), g.size(row, 0)};
}

/// Whether a size of `source` is, for all that is known, that of what is reshaped.
bool is_size_of(const ort_graph &g, tensor_id source, tensor_id root, std::size_t dim) {
    const node_id pool = g.writer(root, "GlobalAveragePool");
    return source == root || (dim == 0 && pool && g.input(pool, 0) == source) ||
           (g.rank(root) > 0 && g.have_equal_sizes(source, root)) ||
           (dim < g.rank(source) && dim < g.rank(root) && g.are_equal(source, dim, root, dim)) ||
           is_linear(g, source, root);
}

void copy_sizes(ort_graph &g, node_id reshape) {
    const size_node *list = g.sizes_of(g.input(reshape, 1));
    if (!list || !g.is_of_open_sizes(g.input(reshape, 1)) || list->entries.empty() || list->readers != 1 ||
        keeps_zeros(g, reshape))
        return;
    memory::dims sizes;
    for (const size_entry &e : list->entries)
        if (e.constant)
            sizes.push_back(*e.constant);
        else if (e.source && e.dim == sizes.size() && is_size_of(g, e.source, g.input(reshape, 0), e.dim))
            sizes.push_back(0);
        else
            sizes.push_back(-1);
    if (std::count(sizes.begin(), sizes.end(), -1) <= 1)
        g.set_input(reshape, 1, g.add_integers("shape", sizes));
}

// ---- Views one after the other

/// The only reader of a view, where it is another one of known sizes.
node_id next_view(const ort_graph &g, node_id i) {
    const node_id next = g.only_consumer(g.output(i));
    const bool is_view =
        (g.is(next, "Reshape") && !keeps_zeros(g, next)) || g.is(next, "Squeeze") || g.is(next, "Unsqueeze");
    return is_view && g.is_known(g.output(next)) ? next : node_id();
}

void join_views(ort_graph &g, node_id first) {
    if (keeps_zeros(g, first))
        return;
    node_id last = first;
    for (node_id next = next_view(g, last); next; next = next_view(g, last)) {
        if (last != first)
            g.remove(last);
        last = next;
    }
    if (last == first)
        return;
    const tensor_id shape = g.add_integers("shape", g.dims(g.output(last)));
    g.become(last, "Reshape", {g.input(first, 0), shape});
    g.remove(first);
}

} // namespace

void fuse_reshapes(ort_graph &g) {
    g.for_each("Reshape", [&](node_id i) {
        const tensor_id before = g.input(i, 1);
        copy_sizes(g, i);
        if (g.input(i, 1) == before)
            join_views(g, i);
    });
}

} // namespace octet::model::ort
