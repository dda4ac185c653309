// Sorts the destination's dimensions by stride and joins neighbours along which every operand continues.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/nest.hpp"

#include <algorithm>

namespace octet::impl::stream {

namespace {

/// A broadcast operand has stride 0 in both, and 0 continues 0 whatever the size.
/// True if `outer` continues where `inner` ends, in all operands.
bool continues(const nest::loop &inner, const nest::loop &outer) {
    for (int i = 0; i < max_operands; i++)
        if (outer.strides[i] != inner.strides[i] * inner.size)
            return false;
    return true;
}

} // namespace

operand_strides strides_of(const memory_desc &md) {
    operand_strides strides{};
    for (int d = 0; d < md.ndims; d++)
        strides[d] = md.dims[d] == 1 ? 0 : md.strides[d];
    return strides;
}

memory_desc dense_in_order_of(const memory_desc &like, memory_desc md) {
    std::vector<int> order; // innermost first
    for (int d = 0; d < like.ndims; d++)
        order.push_back(d);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return like.dims[a] == 1 ? like.dims[b] != 1 : like.dims[b] != 1 && like.strides[a] < like.strides[b];
    });
    dim_t stride = 1;
    for (const int d : order) {
        md.strides[d] = stride;
        stride *= md.dims[d];
    }
    md.offset0 = 0;
    return md;
}

dim_t nest::rows() const {
    dim_t count = 1;
    for (std::size_t l = 1; l < loops.size(); l++)
        count *= loops[l].size;
    return count;
}

nest make_nest(const memory_desc &dst, const std::vector<operand_strides> &operands) {
    std::vector<nest::loop> sorted;
    for (int d = 0; d < dst.ndims; d++) {
        if (dst.dims[d] == 1)
            continue;
        nest::loop loop{dst.dims[d], {}};
        for (std::size_t i = 0; i < operands.size(); i++)
            loop.strides[i] = operands[i][d];
        sorted.push_back(loop);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const nest::loop &a, const nest::loop &b) { return a.strides[0] < b.strides[0]; });
    nest n;
    for (const nest::loop &loop : sorted) {
        if (!n.loops.empty() && continues(n.loops.back(), loop))
            n.loops.back().size *= loop.size;
        else
            n.loops.push_back(loop);
    }
    if (n.loops.empty()) { // a single element
        n.loops.push_back({1, {}});
        for (std::size_t i = 0; i < operands.size(); i++)
            n.loops[0].strides[i] = 1;
    }
    return n;
}

dim_t locate(const nest &n, dim_t row, operand_offsets &offsets) {
    offsets = {};
    dim_t run = 1;
    for (std::size_t l = 1; l < n.loops.size(); l++) {
        const nest::loop &loop = n.loops[l];
        const dim_t index = row % loop.size;
        row /= loop.size;
        if (l == 1)
            run = loop.size - index;
        for (int i = 0; i < max_operands; i++)
            offsets[i] += index * loop.strides[i];
    }
    return run;
}

} // namespace octet::impl::stream
