// Operators whose outputs take elements by a rule for each dimension alone: Tile, DepthToSpace, SpaceToDepth.

#include "network/lower/moving.hpp"
#include "network/lower/onnx.hpp"
#include "network/lower/rearranging.hpp"

namespace octet::model {
namespace {

blocked_image blocked(const lowering &l) {
    const tensor &x = any_input(l, 0);
    l.output({x.type});
    const dim_t block = l.integer("blocksize");
    if (x.dims.size() != 4 || block < 1 || block > 1 << 15)
        refuse("blocks of " + std::to_string(block) + " in an input " + to_text(x.dims));
    return {x.dims, l.input_buffer(0).get_desc().get_strides(), block};
}

} // namespace

std::unique_ptr<step> lower_tile(const lowering &l) { return make_tile(l); }

std::unique_ptr<step> lower_depth_to_space(const lowering &l) {
    return rearranged(l, depth_to_space(blocked(l), l.text("mode", "DCR") == "CRD"));
}

std::unique_ptr<step> lower_space_to_depth(const lowering &l) {
    return rearranged(l, space_to_depth(blocked(l)));
}

} // namespace octet::model
