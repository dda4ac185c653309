// Operators whose outputs take elements by a rule for each dimension alone: Tile, DepthToSpace, SpaceToDepth.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/element_map.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/ops/element_map_step.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/node_shapes.hpp"

namespace octet::model {
namespace {

blocked_image blocked(const lowering &l) {
    const tensor &x = any_input(l, 0);
    l.output({x.type});
    if (x.dims.size() != 4)
        refuse("input 0 ('" + x.name + "') has dimensions " + to_text(x.dims) + ", allowed are 4");
    return {placed_input(l), l.integer("blocksize")};
}

std::unique_ptr<step> lower_tile(const lowering &l) {
    const tensor &x = any_input(l, 0), &y = l.output({x.type});
    return rearranged(l, tiled(placed_input(l), y.dims));
}

std::unique_ptr<step> lower_depth_to_space(const lowering &l) {
    const blocked_image x = blocked(l);
    need_output_dims(l, x.wide_dims());
    return rearranged(l, depth_to_space(x, l.text("mode", "DCR") == "CRD"));
}

std::unique_ptr<step> lower_space_to_depth(const lowering &l) {
    const blocked_image x = blocked(l);
    need_output_dims(l, x.deep_dims());
    return rearranged(l, space_to_depth(x));
}

// ---- Shapes, and whether rows of a batch stay apart

/// An image whose strides nobody asks for.
blocked_image image_in_blocks(const node_shapes &n) { return {{n.dims(0), {}}, n.integer("blocksize", 0)}; }

void tile_shape(node_shapes &n) {
    memory::dims result = n.dims(0);
    const std::vector<std::int64_t> repeats = n.constant(1);
    if (repeats.size() != result.size())
        refuse(std::to_string(repeats.size()) + " repeats for " + std::to_string(result.size()) +
               " dimensions");
    for (std::size_t i = 0; i < repeats.size(); i++) {
        if (repeats[i] < 0 || repeats[i] > max_size)
            refuse("a dimension is repeated " + std::to_string(repeats[i]) + " times");
        result[i] *= repeats[i];
    }
    n.set_output(n.input(0).type, result);
}

void depth_to_space_shape(node_shapes &n) {
    const std::string mode = n.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD")
        refuse("attribute 'mode' is '" + mode + "', allowed: DCR, CRD");
    n.set_output(n.input(0).type, image_in_blocks(n).wide_dims());
}

void space_to_depth_shape(node_shapes &n) { n.set_output(n.input(0).type, image_in_blocks(n).deep_dims()); }

using namespace row_words;

constexpr row onnx_tile_space_to_depth_rows[] = {
    row("DepthToSpace", 1, lower_depth_to_space, depth_to_space_shape, rows::windows)
        .layouts(follows)
        .moved(code_move::down)
        .becomes(form::moved)
        .assumes("mode", std::string_view("DCR")),
    row("SpaceToDepth", 1, lower_space_to_depth, space_to_depth_shape, rows::windows)
        .layouts(follows)
        .moved(code_move::down),
    row("Tile", 2, lower_tile, tile_shape, rows::tile)
        .layouts(follows)
        .moved(code_move::down)
        .uses_integers(use::passes_on, use::computes)
        .dims_from(1)
        .sizes(flow::first_broadcast)
        .transposed(passing_kind::tile)
        .becomes(form::moved),
};

} // namespace

operator_rows onnx_tile_space_to_depth_operators() { return onnx_tile_space_to_depth_rows; }

} // namespace octet::model
