// The masks are applied dimension by dimension, as TensorFlow Lite does.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/strided_slice.hpp"

#include <algorithm>

namespace octet::model {
namespace {

bool has(std::int64_t mask, std::size_t i) { return (mask >> i & 1) != 0; }

/// One entry of the lists, on a dimension of `size` elements, as TensorFlow's StartForAxis and StopForAxis have it.
struct range {
    dim_t first, count;
    range(dim_t size, dim_t begin, dim_t end, dim_t stride, bool from_start, bool to_end, bool is_one) {
        const dim_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? size : size - 1;
        const auto clamped = [&](dim_t i) { return std::clamp(i < 0 ? i + size : i, lowest, highest); };
        first = !from_start ? clamped(begin) : stride > 0 ? lowest : highest;
        const dim_t stop = is_one ? first + 1 : !to_end ? clamped(end) : stride > 0 ? highest : lowest;
        const dim_t step = is_one ? 1 : stride;
        count = std::max<dim_t>(0, (stop - first + step + (step > 0 ? -1 : 1)) / step);
        if (is_one && (first < 0 || first >= size))
            refuse("index " + std::to_string(begin) + " is outside a dimension of " + std::to_string(size));
    }
};

} // namespace

strided_slice strided_slice_of(const memory::dims &x, const std::vector<std::int64_t> &begin,
                               const std::vector<std::int64_t> &end, const std::vector<std::int64_t> &strides,
                               const slice_masks &masks) {
    const std::size_t entries = begin.size();
    if (end.size() != entries || strides.size() != entries || entries > max_ndims)
        refuse("there are " + std::to_string(entries) + " begins, " + std::to_string(end.size()) +
               " ends and " + std::to_string(strides.size()) +
               " strides; allowed are as many of each, up to " + std::to_string(max_ndims));
    std::size_t named = 0; // dimensions that entries are about; an ellipsis takes the others
    for (std::size_t i = 0; i < entries; i++)
        named += !has(masks.ellipsis, i) && !has(masks.new_axis, i);
    if (named > x.size())
        refuse(std::to_string(named) + " entries are about dimensions, but there are " + to_text(x));

    strided_slice s;
    const auto take_whole = [&](std::size_t count) {
        for (; count > 0; count--) {
            const dim_t size = x[s.begin.size()];
            s.begin.push_back(0);
            s.stride.push_back(1);
            s.sizes.push_back(size);
            s.result.push_back(size);
        }
    };
    bool has_ellipsis = false;
    for (std::size_t i = 0; i < entries; i++) {
        if (has(masks.ellipsis, i)) {
            if (has_ellipsis)
                refuse("ellipsis_mask has two bits");
            has_ellipsis = true;
            take_whole(x.size() - named);
        } else if (has(masks.new_axis, i)) {
            s.result.push_back(1);
        } else {
            if (strides[i] == 0)
                refuse("a stride is 0");
            const bool is_one = has(masks.shrink_axis, i);
            const range r(x[s.begin.size()], begin[i], end[i], strides[i], has(masks.begin, i),
                          has(masks.end, i), is_one);
            s.begin.push_back(r.count == 0 ? 0 : r.first);
            s.stride.push_back(is_one ? 1 : strides[i]);
            s.sizes.push_back(r.count);
            if (!is_one)
                s.result.push_back(r.count);
        }
    }
    take_whole(x.size() - s.begin.size());
    return s;
}

} // namespace octet::model
