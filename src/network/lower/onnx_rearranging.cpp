// Operators whose outputs take elements by a rule for each dimension alone: Tile, DepthToSpace, SpaceToDepth.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/moving.hpp"
#include "network/lower/onnx.hpp"
#include "network/lower/rearranging.hpp"

namespace octet::model {
namespace {

blocked_image blocked(const lowering &l) {
    const tensor &x = any_input(l, 0);
    l.output({x.type});
    if (x.dims.size() != 4)
        refuse("input 0 ('" + x.name + "') has dimensions " + to_text(x.dims) + ", allowed are 4");
    return {placed_input(l), l.integer("blocksize")};
}

} // namespace

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

} // namespace octet::model
