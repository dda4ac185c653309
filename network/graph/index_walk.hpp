#pragma once // SPDX-License-Identifier: Apache-2.0

// The indices of a tensor one after the other, the last dimension fastest, as its elements lie when they are
// dense.

#include <algorithm>

#include "network/graph/graph.hpp"

namespace octet::model {

/// An index on the stack, so that loops of a run allocate nothing and may lie inside each other.
class stack_index {
public:
    /// The first index; refuses a rank that no tensor has.
    explicit stack_index(std::size_t rank) : rank_(rank) {
        if (rank > max_ndims)
            refuse("an index has " + std::to_string(rank) + " dimensions; allowed are up to " +
                   std::to_string(max_ndims));
    }
    std::size_t size() const { return rank_; }
    dim_t &operator[](std::size_t d) { return at_[d]; }
    dim_t operator[](std::size_t d) const { return at_[d]; }

private:
    std::size_t rank_;
    dim_t at_[max_ndims] = {};
};

/// Goes on to the next index into the first `at.size()` of the dimensions; the first one follows the last.
template <typename Index> void next_index(Index &at, const memory::dims &dims) {
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == dims[d];)
        at[d] = 0;
}

/// The index of the element that has `number` elements before it, into the first `rank` of the dimensions.
inline stack_index index_of(dim_t number, const memory::dims &dims, std::size_t rank) {
    stack_index at(rank);
    for (std::size_t d = rank; d-- > 0; number /= dims[d])
        at[d] = number % dims[d];
    return at;
}

/// Returns the offset of the element at an index, in elements: Σ at[d] · strides[d].
template <typename Index> dim_t offset_at(const Index &at, const memory::dims &strides) {
    dim_t offset = 0;
    for (std::size_t d = 0; d < at.size(); d++)
        offset += at[d] * strides[d];
    return offset;
}

/// Calls f(offset) for each index, in order.
template <typename F>
void for_each_offset(const memory::dims &dims, const memory::dims &strides, const F &f) {
    stack_index at(dims.size());
    for (dim_t left = element_count(dims); left > 0; left--, next_index(at, dims))
        f(offset_at(at, strides));
}

/// Calls f(index of a row, number of the first element, its place in the row, how many elements) for each row of dense
/// dimensions, or part of one, that elements `begin` to `end` - 1 are in.
template <typename F> void for_rows(const memory::dims &dims, dim_t begin, dim_t end, const F &f) {
    if (begin >= end)
        return;
    const std::size_t inner = dims.size() - 1;
    stack_index at = index_of(begin / dims[inner], dims, inner);
    for (dim_t first = begin % dims[inner], count; begin < end;
         begin += count, first = 0, next_index(at, dims)) {
        count = std::min(dims[inner] - first, end - begin);
        f(at, begin, first, count);
    }
}

} // namespace octet::model
