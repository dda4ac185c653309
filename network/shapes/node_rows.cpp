// One small function for each question; rows of operators name them.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/node_rows.hpp"

namespace octet::model::rows {

/// The answer for what mixes rows (a scale of a whole tensor), keeps a state, or moves the batch, and for
/// shapes, known before.
bool never(const node_rows &) { return false; }
bool broadcast(const node_rows &o) { return o.ranks_are_equal(); }
bool first_input(const node_rows &o) { return o.only_depends_on_first(); }
/// The operators `..._in_groups` compute the elements behind the last group of four otherwise than the rest.
bool broadcast_in_groups(const node_rows &o) { return broadcast(o) && o.has_whole_groups(); }
bool first_input_in_groups(const node_rows &o) { return first_input(o) && o.has_whole_groups(); }
bool windows(const node_rows &o) { return o.only_depends_on_first() && o.rank() >= 3; }
bool windows_in_groups(const node_rows &o) { return windows(o) && o.has_whole_groups(); }
bool inner_axis_or_last(const node_rows &o) {
    return o.only_depends_on_first() && o.rank() >= 2 && o.has_inner_axis(-1);
}
bool inner_axis_or_first(const node_rows &o) { return o.only_depends_on_first() && o.has_inner_axis(0); }
bool last_axis(const node_rows &o) { return o.only_depends_on_first() && o.rank() >= 2; }
bool reduce(const node_rows &o) { return o.only_depends_on_first() && o.has_inner_axes("axes", 1, o.rank()); }
bool transpose(const node_rows &o) {
    const auto order = o.list("perm", 1);
    return order && o.only_depends_on_first() && !order->empty() && order->front() == 0;
}
bool tflite_pad(const node_rows &o) {
    const auto pads = o.list("paddings", 1); // pairs
    return pads && o.only_depends_on_first() && pads->size() == 2 * o.rank() && (*pads)[0] == 0 &&
           (*pads)[1] == 0;
}
bool tile(const node_rows &o) {
    const auto multiples = o.list("repeats", 1);
    return multiples && o.only_depends_on_first() && !multiples->empty() && multiples->front() == 1;
}
bool expand(const node_rows &o) { // to a higher rank, the batch would come later
    const auto shape = o.list("shape", 1);
    return shape && o.only_depends_on_first() && shape->size() <= o.rank();
}
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

} // namespace octet::model::rows
