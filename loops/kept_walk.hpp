#pragma once // SPDX-License-Identifier: Apache-2.0

// Reductions in the order of memory, divided among threads: each result takes in its elements in order,
// whoever does it.

#include <vector>

#include "loops/parallel.hpp"
#include "octet/types.hpp"

namespace octet::loops {

/// A dense tensor whose elements belong to results: how far results lie apart along each dimension, 0 along those that
/// are reduced.
class kept_walk {
public:
    kept_walk(const std::vector<dim_t> &dims, const std::vector<dim_t> &strides) {
        for (std::size_t d = 0; d < dims.size(); d++)
            append(dims[d], strides[d]);
        if (dims_.empty())
            dims_ = strides_ = {1};
        for (std::size_t d = 0; d < dims_.size(); d++)
            if (strides_[d] != 0 && (strides_[divided_] == 0 || dims_[d] > dims_[divided_]))
                divided_ = d;
    }

    /// Calls f(first element, its result, how many) for rows of the last dimension, or parts of them; results
    /// of a row lie `result_step` apart. Threads divide the longest dimension that is kept; an element is as
    /// much work as adding up `work` of them.
    template <typename F> void for_each_row(dim_t work, const F &f) const {
        dim_t count = 1;
        for (const dim_t d : dims_)
            count *= d;
        if (count == 0)
            return;
        if (strides_[divided_] == 0) // one result
            return walk(0, dims_[divided_], f);
        parallel_for(dims_[divided_], count / dims_[divided_] * work,
                     [&](dim_t begin, dim_t end) { walk(begin, end, f); });
    }
    dim_t result_step() const { return strides_.back(); }

private:
    /// Dimensions that one stride serves are one.
    void append(dim_t size, dim_t stride) {
        if (size == 1)
            return;
        if (!dims_.empty() && strides_.back() == stride * size) {
            dims_.back() *= size;
            strides_.back() = stride;
            return;
        }
        dims_.push_back(size);
        strides_.push_back(stride);
    }

    template <typename F> void walk(dim_t begin, dim_t end, const F &f) const {
        const std::size_t last = dims_.size() - 1;
        dim_t sizes[max_ndims], steps[max_ndims], at[max_ndims] = {}, step = 1, element = 0, result = 0,
                                                  rows = 1;
        for (std::size_t d = dims_.size(); d-- > 0; step *= dims_[d]) {
            sizes[d] = dims_[d];
            steps[d] = step;
            if (d == divided_) {
                sizes[d] = end - begin;
                element = begin * step;
                result = begin * strides_[d];
            }
            rows *= d == last ? 1 : sizes[d];
        }
        for (; rows > 0; rows--) {
            f(element, result, sizes[last]);
            for (std::size_t d = last; d-- > 0;) {
                element += steps[d];
                result += strides_[d];
                if (++at[d] < sizes[d])
                    break;
                at[d] = 0;
                element -= sizes[d] * steps[d];
                result -= sizes[d] * strides_[d];
            }
        }
    }

    std::vector<dim_t> dims_, strides_;
    std::size_t divided_ = 0; ///< kept, if one is
};

} // namespace octet::loops
