// Questions about an epilogue's description.
// SPDX-License-Identifier: Apache-2.0
#include "common/epilogue.hpp"

#include <algorithm>

namespace octet::impl {

bool reads_dst(const epilogue &e) {
    return std::any_of(e.post_ops.begin(), e.post_ops.end(),
                       [](const post_op_entry &entry) { return facts_of(entry).reads_dst; });
}

memory_desc prelu_weights(int mask, const memory_desc &dst) {
    memory_desc md;
    md.ndims = dst.ndims;
    md.data_type = data_type::f32;
    md.format_kind = format_kind::plain;
    dim_t stride = 1;
    const auto place = [&](int d) {
        md.dims[d] = mask & (1 << d) ? dst.dims[d] : 1;
        md.strides[d] = stride;
        stride *= md.dims[d];
    };
    if (dst.ndims > 1)
        place(1);
    for (int d = dst.ndims - 1; d > 1; d--)
        place(d);
    place(0);
    return md;
}

memory_desc operand_desc(const post_op_entry &entry, const memory_desc &dst) {
    const memory_desc *src1 = src1_of(entry);
    return src1 ? *src1 : prelu_weights(*weights_mask_of(entry), dst);
}

} // namespace octet::impl
