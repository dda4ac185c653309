// One small function for each question; the operators' table names them.
// SPDX-License-Identifier: Apache-2.0
#include "network/node_rows.hpp"

namespace octet::model::rows {

/// The answer for what mixes rows (a scale of a whole tensor), keeps a state, or moves the batch, and for shapes, known before.
bool never(const node_rows &) { return false; }
bool broadcast(const node_rows &o) { return o.ranks_are_equal(); }
bool first_input(const node_rows &o) { return o.only_depends_on_first(); }
/// What computes the last elements of a tensor, behind groups of four, otherwise than the rest.
bool broadcast_in_groups(const node_rows &o) { return broadcast(o) && o.has_whole_groups(); }
bool first_input_in_groups(const node_rows &o) { return first_input(o) && o.has_whole_groups(); }
bool windows(const node_rows &o) { return o.only_depends_on_first() && o.rank() >= 3; }
bool inner_axis_or_last(const node_rows &o) {
    return o.only_depends_on_first() && o.rank() >= 2 && o.has_inner_axis(-1);
}
bool inner_axis_or_first(const node_rows &o) { return o.only_depends_on_first() && o.has_inner_axis(0); }
bool last_axis(const node_rows &o) { return o.only_depends_on_first() && o.rank() >= 2; }
bool flatten(const node_rows &o) { return o.only_depends_on_first() && o.integer("axis", 1) >= 1; }
bool reduce(const node_rows &o) { return o.only_depends_on_first() && o.has_inner_axes("axes", 1, o.rank()); }
bool tflite_squeeze(const node_rows &o) {
    return o.only_depends_on_first() && o.has_inner_axes("squeeze_dims", 1, o.rank());
}
bool unsqueeze(const node_rows &o) {
    const auto axes = o.list("axes", 1);
    return axes && o.only_depends_on_first() && o.has_inner_axes("axes", 1, o.rank() + axes->size());
}
bool expand_dims(const node_rows &o) {
    return o.only_depends_on_first() && o.has_inner_axes("axis", 1, o.rank() + 1);
}
bool transpose(const node_rows &o) {
    const auto order = o.list("perm", 1);
    return order && o.only_depends_on_first() && !order->empty() && order->front() == 0;
}
bool pad(const node_rows &o) {
    const auto pads = o.list("pads", 1);
    return pads && o.only_depends_on_first() && pads->size() == 2 * o.rank() && pads->front() == 0 &&
           (*pads)[o.rank()] == 0;
}
bool tflite_pad(const node_rows &o) {
    const auto pads = o.list("paddings", 1); // pairs
    return pads && o.only_depends_on_first() && pads->size() == 2 * o.rank() && (*pads)[0] == 0 &&
           (*pads)[1] == 0;
}
bool tflite_slice(const node_rows &o) {
    const auto begin = o.list("begin", 1), size = o.list("size", 2);
    return begin && size && o.only_depends_on_first() && !begin->empty() && begin->front() == 0 &&
           size->size() == begin->size() && size->front() == -1;
}
bool strided_slice(const node_rows &o) {
    const auto strides = o.list("strides", 3);
    const std::int64_t all = o.integer("begin_mask", 0) & o.integer("end_mask", 0),
                       others = o.integer("ellipsis_mask", 0) | o.integer("new_axis_mask", 0) |
                                o.integer("shrink_axis_mask", 0);
    return strides && o.only_depends_on_first() && !strides->empty() && strides->front() == 1 &&
           (all & 1) != 0 && (others & 1) == 0;
}
bool split(const node_rows &o) { // the axis comes first
    return !o.depends(0) && o.depends(1) && o.has_inner_axes("axis", 0, o.rank(1));
}
bool split_v(const node_rows &o) {
    return o.only_depends_on_first() && o.has_inner_axes("axis", 2, o.rank());
}
bool pack(const node_rows &o) {
    for (std::size_t i = 0; i < o.count(); i++)
        if (!o.depends(i) || o.rank(i) != o.rank())
            return false;
    return o.is_inner(o.integer("axis", 0), o.rank() + 1);
}
bool tile(const node_rows &o) {
    const auto multiples = o.list("repeats", 1);
    return multiples && o.only_depends_on_first() && !multiples->empty() && multiples->front() == 1;
}
bool expand(const node_rows &o) { // to a higher rank, the batch would come later
    const auto shape = o.list("shape", 1);
    return shape && o.only_depends_on_first() && shape->size() <= o.rank();
}
bool slice(const node_rows &o) { return o.only_depends_on_first() && o.has_inner_axes("axes", 3, o.rank()); }
/// All tensors that are joined depend on the inputs: a constant would have one row for all.
bool concatenation(const node_rows &o) {
    for (std::size_t i = 0; i < o.count(); i++)
        if (o.has(i) && !o.depends(i) && o.rank(i) > 1)
            return false;
    std::size_t i = 0;
    while (i < o.count() && !o.depends(i))
        i++;
    return o.ranks_are_equal() && o.is_inner(o.integer("axis", 1), o.rank(i));
}
bool gather(const node_rows &o) {
    if (o.depends(0))
        return !o.depends(1) && o.has_inner_axis(0);
    return o.depends(1) && o.integer("axis", 0) == 0 && o.rank(1) >= 1; // rows of a table
}
bool gemm(const node_rows &o) { return o.only_depends_on_first() && o.integer("transA", 0) == 0; }
/// Matrices of a batch, or one matrix for all; the second is input `b`.
bool are_matrices(const node_rows &o, std::size_t b) {
    for (std::size_t i = 0; i < o.count(); i++)
        if (i != 0 && i != b && o.depends(i))
            return false;
    if (!o.depends(b))
        return o.depends(0) && o.rank(0) >= 2 && o.has(b) && o.rank(b) <= o.rank(0);
    return o.has(0) && o.rank(b) >= 3 && (o.depends(0) ? o.rank(0) == o.rank(b) : o.rank(0) <= o.rank(b));
}
bool matrices(const node_rows &o) { return are_matrices(o, 1); }
bool qlinear_matrices(const node_rows &o) { return are_matrices(o, 3); }
bool fused_matrices(const node_rows &o) { // of two dimensions, the first would become a matrix's columns
    return matrices(o) && (o.rank(0) >= 3 || o.integer("transA", 0) == 0) &&
           o.integer("transBatchA", 0) == 0 && o.integer("transBatchB", 0) == 0;
}
bool batch_matmul(const node_rows &o) { // with adj_x the batch of a matrix would be summed
    return matrices(o) && (o.rank(0) >= 3 || o.integer("adj_x", 0) == 0);
}
/// The image is the last of three inputs.
bool transposed_convolution(const node_rows &o) {
    return !o.depends(0) && !o.depends(1) && o.depends(2) && o.rank(2) >= 3 && !o.depends(3);
}
bool resize(const node_rows &o) {
    for (std::size_t i = 1; i < o.count(); i++) // scales, in the place of their operator set
        if (o.has(i) && o.input(i).type == data_type::f32 && o.input(i).data.size() >= sizeof(float)) {
            float first = 0;
            std::memcpy(&first, o.input(i).data.data(), sizeof first);
            if (o.input(i).dims == memory::dims{static_cast<dim_t>(o.rank())} && first != 1.f)
                return false;
        }
    return windows(o);
}
/// Ids of words, segments and positions, a mask; the tables are constants.
bool embedding(const node_rows &o) {
    constexpr std::size_t ids = 0, segments = 1, mask = 7, positions = 8;
    for (std::size_t i = 0; i < o.count(); i++)
        if (o.depends(i) && ((i != ids && i != segments && i != mask && i != positions) || o.rank(i) != 2))
            return false;
    return o.depends(ids);
}

} // namespace octet::model::rows
