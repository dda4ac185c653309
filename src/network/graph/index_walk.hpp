#pragma once // SPDX-License-Identifier: Apache-2.0

// The indices of a tensor one after the other, the last dimension fastest, as its elements lie when they are dense.

#include "network/graph/graph.hpp"

namespace octet::model {

/// Goes on to the next index into the first `at.size()` of the dimensions; the first one follows the last.
inline void next_index(memory::dims &at, const memory::dims &dims) {
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == dims[d];)
        at[d] = 0;
}

/// Where the element at an index lies, in elements.
inline dim_t offset_at(const memory::dims &at, const memory::dims &strides) {
    dim_t offset = 0;
    for (std::size_t d = 0; d < at.size(); d++)
        offset += at[d] * strides[d];
    return offset;
}

/// Calls f(offset) for each index, in order. Not to be called within itself.
template <typename F>
void for_each_offset(const memory::dims &dims, const memory::dims &strides, const F &f) {
    thread_local memory::dims at; // keeps its capacity from run to run
    at.assign(dims.size(), 0);
    for (dim_t left = element_count(dims); left > 0; left--, next_index(at, dims))
        f(offset_at(at, strides));
}

} // namespace octet::model
