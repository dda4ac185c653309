// As `gather_fusion.cc` of ONNX Runtime 1.30, level 2: indices and ranges that together are all of a tensor
// along one dimension are one Split of it (GatherSliceToSplitFusion).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

struct taken_range {
    node_id node;
    std::int64_t begin, end;
    bool drops_dimension;
};

/// A constant integer without dimensions, or of one.
std::optional<std::int64_t> number_of(const ort_graph &g, tensor_id t) {
    const auto integers = g.integers(t);
    return integers && integers->size() == 1 && g.rank(t) <= 1 ? std::optional(integers->front())
                                                               : std::nullopt;
}

/// The one dimension that a Gather or Slice takes a part of.
std::optional<std::size_t> taken_dimension(const ort_graph &g, node_id i, std::size_t rank) {
    const std::optional<std::int64_t> given =
        g.is(i, "Gather") ? g.attribute<std::int64_t>(i, "axis", 0) : number_of(g, g.input(i, 3));
    const auto all = static_cast<std::int64_t>(rank);
    if (!given || *given < -all || *given >= all)
        return {};
    return static_cast<std::size_t>(*given < 0 ? *given + all : *given);
}

std::optional<taken_range> range_of(const ort_graph &g, node_id i, std::int64_t size) {
    const auto from_front = [&](std::int64_t v) { return v < 0 ? v + size : v; };
    const auto first = number_of(g, g.input(i, 1));
    if (!first)
        return {};
    if (g.is(i, "Gather")) {
        const std::int64_t begin = from_front(*first);
        if (begin < 0 || begin >= size)
            return {};
        return taken_range{i, begin, begin + 1, g.rank(g.input(i, 1)) == 0};
    }
    const auto last = number_of(g, g.input(i, 2));
    if (!last || (g.input(i, 4) && number_of(g, g.input(i, 4)) != 1))
        return {};
    const std::int64_t begin = std::clamp<std::int64_t>(from_front(*first), 0, size),
                       end = std::clamp<std::int64_t>(from_front(*last), 0, size);
    return begin < end ? std::optional<taken_range>({i, begin, end, false}) : std::nullopt;
}

void write_split(ort_graph &g, tensor_id x, std::size_t dim, const std::vector<taken_range> &ranges) {
    node_id first = ranges.front().node; // where the source is there, and nothing has been read
    for (const taken_range &r : ranges)
        first = std::min(first, r.node);
    memory::dims sizes;
    node split{"Split", {x}, {}, {{"axis", static_cast<std::int64_t>(dim)}}};
    std::vector<node> squeezed;
    for (const taken_range &r : ranges) {
        sizes.push_back(r.end - r.begin);
        tensor_id part = g.output(r.node);
        if (r.drops_dimension) {
            memory::dims dims = g.dims(x);
            dims[dim] = 1;
            const tensor_id whole = g.add_like(x, dims);
            squeezed.push_back(
                {"Squeeze", {whole, g.add_integers("axes", {static_cast<dim_t>(dim)})}, {part}, {}});
            part = whole;
        }
        split.outputs.push_back(part);
    }
    split.inputs.push_back(g.add_integers("sizes", sizes));
    for (const taken_range &r : ranges)
        g.remove(r.node);
    g.insert_before(first, std::move(split));
    for (node &n : squeezed)
        g.insert_before(first, std::move(n));
}

void split_tensor(ort_graph &g, tensor_id x) {
    std::vector<node_id> readers;
    for (const node_id r : g.consumers(x))
        if (r && g.input(r, 0) == x && (g.is(r, "Gather") || g.is(r, "Slice")) &&
            std::find(readers.begin(), readers.end(), r) == readers.end())
            readers.push_back(r);
    const auto dim = readers.size() < 2 ? std::nullopt : taken_dimension(g, readers[0], g.rank(x));
    if (!dim || !g.is_known(x, *dim))
        return;
    const dim_t size = g.size(x, *dim);
    std::vector<taken_range> ranges;
    for (const node_id r : readers) {
        const auto range = taken_dimension(g, r, g.rank(x)) == dim ? range_of(g, r, size) : std::nullopt;
        if (!range || g.at(r).outputs.size() != 1)
            return;
        ranges.push_back(*range);
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const taken_range &a, const taken_range &b) { return a.begin < b.begin; });
    std::int64_t next = 0;
    for (const taken_range &r : ranges)
        if (r.begin != std::exchange(next, r.end))
            return;
    if (next == size)
        write_split(g, x, *dim, ranges);
}

} // namespace

void fuse_gathers(ort_graph &g) {
    constexpr std::int64_t first_opset = 13; ///< before it operators have other inputs
    if (g.get_graph().opset < first_opset)
        return;
    for (const tensor_id t : inputs_of(g.get_graph())) // which stay
        split_tensor(g, t);
    g.for_each([&](node_id i) {
        if (g.at(i).outputs.size() == 1)
            split_tensor(g, g.output(i));
    });
}

} // namespace octet::model::ort
