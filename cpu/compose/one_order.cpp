// Finds the tensors whose strides have another order than the destination's, and describes their copies.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/one_order.hpp"

#include "cpu/stream/nest.hpp"

namespace octet::impl::one_order {

namespace {

bool has_strides_of(const memory_desc &a, const memory_desc &b) {
    for (int d = 0; d < a.ndims; d++)
        if (a.dims[d] != 1 && a.strides[d] != b.strides[d])
            return false;
    return true;
}

void copy_if_needed(int arg, memory_desc &md, const memory_desc &dst,
                    std::vector<channels_last::copy> &copies) {
    if (md.format_kind != format_kind::plain)
        return;
    const memory_desc inside = stream::dense_in_order_of(dst, md);
    if (has_strides_of(md, inside))
        return;
    copies.push_back({arg, md, inside, true, false});
    md = inside;
}

} // namespace

std::vector<channels_last::copy> copies_of(const std::vector<operand> &operands, epilogue &out) {
    std::vector<channels_last::copy> copies;
    for (const operand &o : operands)
        copy_if_needed(o.arg, *o.md, out.dst, copies);
    for (int i = 0; i < static_cast<int>(out.post_ops.size()); i++) {
        post_op_entry &entry = out.post_ops[static_cast<std::size_t>(i)];
        if (memory_desc *src1 = src1_of(entry))
            copy_if_needed(operand_of(entry, i), *src1, out.dst, copies);
    }
    return copies;
}

} // namespace octet::impl::one_order
