// As `slice_concat_to_space_to_depth_fusion.cc` of ONNX Runtime 1.30, level 1: four Slices of every other
// pixel, side by side as channels (YOLO's Focus), are one SpaceToDepth.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

constexpr std::size_t image_rank = 4, channels = 1, height = 2, width = 3;

/// The part of an image that a Slice takes; `ends` beyond the image are as they are in the file.
struct taken_slice {
    std::array<std::int64_t, image_rank> starts{}, ends, steps;
};

/// Integers of a constant list; empty: something else.
memory::dims list_of(const ort_graph &g, tensor_id t) {
    return t && g.rank(t) == 1 ? g.integers(t).value_or(memory::dims()) : memory::dims();
}

std::optional<taken_slice> taken_by(const ort_graph &g, node_id slice) {
    const memory::dims starts = list_of(g, g.input(slice, 1)), ends = list_of(g, g.input(slice, 2));
    memory::dims axes = list_of(g, g.input(slice, 3)), steps = list_of(g, g.input(slice, 4));
    if (!g.input(slice, 3))
        for (std::size_t k = 0; k < starts.size(); k++)
            axes.push_back(static_cast<dim_t>(k));
    if (!g.input(slice, 4))
        steps.assign(starts.size(), 1);
    if (starts.empty() || ends.size() != starts.size() || axes.size() != starts.size() ||
        steps.size() != starts.size())
        return {};
    taken_slice t;
    t.ends.fill(std::numeric_limits<std::int32_t>::max());
    t.steps.fill(1);
    std::array<bool, image_rank> is_seen{};
    for (std::size_t k = 0; k < starts.size(); k++) {
        const std::int64_t axis = axes[k] < 0 ? axes[k] + std::int64_t{image_rank} : axes[k];
        if (axis < 0 || axis >= std::int64_t{image_rank})
            return {};
        const auto d = static_cast<std::size_t>(axis);
        if (is_seen[d])
            return {};
        is_seen[d] = true;
        t.starts[d] = starts[k];
        t.ends[d] = ends[k];
        t.steps[d] = steps[k];
    }
    return t;
}

/// The place of a Slice's pixels in blocks of 2 x 2, row by row; none for other Slices of `x`.
std::optional<std::int64_t> place_in_block(const ort_graph &g, tensor_id x, const taken_slice &t) {
    for (std::size_t d = 0; d < image_rank; d++) {
        const bool is_thinned = d >= height, is_all = t.ends[d] == std::numeric_limits<std::int32_t>::max();
        if (t.steps[d] != (is_thinned ? 2 : 1) || t.starts[d] < 0 || t.starts[d] > (is_thinned ? 1 : 0) ||
            !(is_all || (g.is_known(x, d) && t.ends[d] >= g.size(x, d))))
            return {};
    }
    return 2 * t.starts[height] + t.starts[width];
}

void form_space_to_depth(ort_graph &g, node_id concat) {
    const auto axis = g.attribute<std::int64_t>(concat, "axis", 0);
    if (g.at(concat).inputs.size() != 4 || (axis != 1 && axis != 1 - std::int64_t{image_rank}))
        return;
    tensor_id x;
    std::vector<std::int64_t> places;
    std::optional<taken_slice> first;
    for (const tensor_id part : g.inputs(concat)) {
        const node_id slice = g.writer(part, "Slice");
        if (!slice || g.only_consumer(part) != concat)
            return;
        x = first ? x : g.input(slice, 0);
        if (g.input(slice, 0) != x || !g.is_float(x) || g.rank(x) != image_rank)
            return;
        const auto t = taken_by(g, slice);
        const auto place = t ? place_in_block(g, x, *t) : std::nullopt;
        if (!place || (first && first->ends != t->ends) ||
            std::find(places.begin(), places.end(), *place) != places.end())
            return;
        first = first ? first : t;
        places.push_back(*place);
    }
    const memory::dims dims = g.dims(x);
    if (dims[height] % 2 != 0 || dims[width] % 2 != 0)
        return; // some are smaller than others: the file does not get so far
    const tensor_numbers parts = g.at(concat).inputs;
    node blocks{"SpaceToDepth", {x}, {}, {{"blocksize", std::int64_t{2}}}};
    if (std::is_sorted(places.begin(), places.end())) {
        g.become(concat, std::move(blocks));
    } else {
        if (!g.is_known(x, channels))
            return;
        const tensor_id y = g.add_like(g.output(concat));
        blocks.outputs = {y};
        memory::dims order;
        for (const std::int64_t place : places)
            for (dim_t c = 0; c < dims[channels]; c++)
                order.push_back(place * dims[channels] + c);
        g.insert_before(concat, std::move(blocks));
        const tensor_id indices = g.add_integers("order of channels", order);
        g.become(concat, node{"Gather", {y, indices}, {}, {{"axis", std::int64_t{1}}}});
    }
    for (const tensor_id part : tensor_ids(parts))
        g.remove(g.producer(part));
}

} // namespace

void fuse_space_to_depth(ort_graph &g) {
    g.for_each("Concat", [&](node_id i) { form_space_to_depth(g, i); });
}

} // namespace octet::model::ort
