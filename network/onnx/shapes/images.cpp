// Images are written in blocks where weights and bias are constants and channels fit.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/shapes/images.hpp"

#include "network/graph/node_marks.hpp"

namespace octet::model {

bool computes_in_blocks(const graph &g, const node &conv) {
    const auto at = [&](std::size_t i) {
        return input_of(conv, i) ? &tensor_at(g, input_of(conv, i)) : nullptr;
    };
    const tensor *const w = at(conv_weights), *const bias = at(conv_bias);
    if (!w || w->dims.size() != 4 || !w->is_constant || (bias && !bias->is_constant) ||
        marks_of(conv).has_dequantized)
        return false;
    constexpr dim_t channel_alignment = 4;
    const dim_t groups = attribute_or<std::int64_t>(conv, "group", 1), channels = w->dims[1],
                outputs = groups > 0 ? w->dims[0] / groups : 0;
    if (groups > 1 && channels == 1 && outputs == 1) // depthwise
        return groups % channel_alignment == 0;
    if (groups > 1)
        return channels % channels_of_block == 0 && outputs % channels_of_block == 0;
    return channels < channels_of_block || channels % channel_alignment == 0;
}

} // namespace octet::model
