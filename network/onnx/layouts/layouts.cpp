// One walk over the nodes in order: each takes the layout that its row (graph/operator_facts.hpp) and its
// inputs suggest, and a copy is inserted where a neighbour has the other.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/layouts/layouts.hpp"

#include <algorithm>
#include <map>

#include "network/dialect.hpp"
#include "network/graph/graph_editor.hpp"
#include "network/onnx/shapes/images.hpp"

namespace octet::model {
namespace {

/// Few channels are copied as fast by the convolution itself, which pads and gathers its rows anyway.
constexpr dim_t few_channels = 4;

class layout_assignment {
public:
    explicit layout_assignment(graph &g) : g_(g), e_(g) {}

    void run() {
        const std::size_t count = e_.node_count();
        for (std::size_t i = 0; i < count; i++)
            visit(node_id(i));
        for (const tensor_id t : outputs_of(e_.get_graph()))
            if (at(t).is_channels_last)
                deliver(t);
        e_.finish();
    }

private:
    tensor &at(tensor_id t) { return tensor_at(e_.get_graph(), t); }
    const tensor &at(tensor_id t) const { return e_.tensor_at(t); }

    /// A tensor of which both layouts differ.
    bool is_image(tensor_id t) const {
        const memory::dims &d = at(t).dims;
        return d.size() >= 3 && d.size() <= 5 && d[1] > 1 && element_count(d) > d[0] * d[1];
    }

    layout_support support_of(const node &n) const {
        if (attribute_or<std::int64_t>(n, "channels_last", 0) != 0) // dimensions of another order
            return layout_support::row_major;
        const operator_facts &facts = facts_of(g_, n);
        const bool pools_floats = facts.layout == layout_support::channels_last &&
                                  facts.fusion != fusion_part::accumulates &&
                                  at(output_of(n)).type == data_type::f32; // row by row
        return pools_floats || convolves_planes(n) ? layout_support::row_major : facts.layout;
    }
    /// A float convolution that is no primitive of convolutions.
    bool convolves_planes(const node &n) const {
        return (n.op == "Conv" || n.op == "ConvAdd") && at(output_of(n)).type == data_type::f32 &&
               !computes_in_blocks(g_, n);
    }
    bool works_channels_last(const node &n) const {
        return support_of(n) == layout_support::channels_last || support_of(n) == layout_support::gathers;
    }

    /// Images that a node reads, and weights that are computed; constant ones have a layout of their own.
    std::vector<std::size_t> images_of(const node &n) const {
        std::vector<std::size_t> images;
        for (std::size_t k = 0; k < n.inputs.size(); k++)
            if (input_of(n, k) && !at(input_of(n, k)).is_constant && is_image(input_of(n, k)))
                images.push_back(k);
        return images;
    }

    bool feeds_images(tensor_id t) const {
        const std::vector<node_id> &readers = e_.consumers(t);
        return any_of(readers,
                      [&](node_id r) { return r && works_channels_last(e_.at(r)) && e_.input(r, 0) == t; });
    }

    void visit(node_id i) {
        node n = e_.at(i);
        const layout_support h = support_of(n);
        const std::vector<std::size_t> images = images_of(n);
        const bool some_are_last = std::any_of(
            images.begin(), images.end(), [&](std::size_t k) { return at(input_of(n, k)).is_channels_last; });
        if (h == layout_support::chooses && is_image(output_of(n)) &&
            (some_are_last || feeds_images(output_of(n))))
            at(output_of(n)).is_channels_last = true;
        if (h == layout_support::chooses || h == layout_support::converts)
            return;
        const bool makes_last = works_channels_last(n) || (h == layout_support::follows && some_are_last);
        for (const std::size_t k : images) {
            const bool is_weights = k > 0 && works_channels_last(n); // computed ones
            if (at(input_of(n, k)).is_channels_last != (makes_last && !is_weights) && !reads_any_layout(n, k))
                n.inputs[k] = converted(input_of(n, k), i);
        }
        if (makes_last && is_image(output_of(n)))
            at(output_of(n)).is_channels_last = true;
        if (n.inputs != e_.at(i).inputs)
            e_.replace(i, std::move(n));
    }

    bool reads_any_layout(const node &n, std::size_t k) const {
        return k == 0 && support_of(n) == layout_support::gathers &&
               at(input_of(n, k)).dims[1] <= few_channels;
    }

    tensor_id other_layout(tensor_id t) {
        tensor copy = at(t);
        copy.is_channels_last = !copy.is_channels_last;
        return e_.add_tensor(std::move(copy));
    }

    /// `t` in its other layout, copied once before its first reader.
    tensor_id converted(tensor_id t, node_id reader) {
        const auto [copy, is_new] = copies_.try_emplace(t);
        if (is_new) {
            copy->second = other_layout(t);
            e_.insert_before(reader, {layout_operator, {t}, {copy->second}, {}});
        }
        return copy->second;
    }

    /// An output of the network: its writer makes a copy in the other layout.
    void deliver(tensor_id t) {
        const node_id writer = e_.producer(t);
        const tensor_id inside = other_layout(t);
        at(inside).is_channels_last = true;
        at(t).is_channels_last = false;
        for (const node_id reader : std::vector<node_id>(e_.consumers(t)))
            if (reader) {
                node n = e_.at(reader);
                model::replace(n.inputs, t, inside);
                e_.replace(reader, std::move(n));
            }
        node n = e_.at(writer);
        model::replace(n.outputs, t, inside);
        e_.replace(writer, std::move(n));
        e_.insert_after(writer, {layout_operator, {inside}, {t}, {}});
    }

    const graph &g_;
    graph_editor e_;
    std::map<tensor_id, tensor_id> copies_;
};

} // namespace

void assign_layouts(graph &g) { layout_assignment(g).run(); }

} // namespace octet::model
