// Each operator's map is a formula for each of its dimensions.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/element_map.hpp"

#include <algorithm>
#include <limits>

namespace octet::model {

memory::dims dims_of(const element_map &map) {
    memory::dims dims;
    for (const std::vector<dim_t> &d : map)
        dims.push_back(static_cast<dim_t>(d.size()));
    return dims;
}

placed_dims::placed_dims(const memory::dims &row_major) : dims(row_major), strides(row_major.size()) {
    dim_t stride = 1;
    for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d])
        strides[d] = stride;
}

void check_slice(const memory::dims &x, const memory::dims &begin, const memory::dims &stride,
                 const memory::dims &sizes) {
    if (begin.size() != x.size() || stride.size() != x.size() || sizes.size() != x.size())
        refuse("a slice of " + to_text(sizes) + " of " + to_text(x) + " has another rank");
    for (std::size_t d = 0; d < x.size(); d++) {
        dim_t last = 0; // of which a wrapped sum could lie inside
        const bool wraps = __builtin_mul_overflow(sizes[d] - 1, stride[d], &last) ||
                           __builtin_add_overflow(last, begin[d], &last);
        if (sizes[d] > 0 && (wraps || begin[d] < 0 || begin[d] >= x[d] || last < 0 || last >= x[d]))
            refuse(std::to_string(sizes[d]) + " elements from " + std::to_string(begin[d]) + " on, " +
                   std::to_string(stride[d]) + " apart, are outside " + to_text(x));
    }
}

element_map sliced(const placed_dims &x, const memory::dims &begin, const memory::dims &stride,
                   const memory::dims &sizes) {
    check_slice(x.dims, begin, stride, sizes);
    element_map from;
    for (std::size_t d = 0; d < sizes.size(); d++)
        from.push_back(
            offsets_of(sizes[d], [&](dim_t i) { return (begin[d] + i * stride[d]) * x.strides[d]; }));
    return from;
}

element_map transposed(const placed_dims &x, const std::vector<std::int64_t> &permutation) {
    const std::size_t rank = x.dims.size();
    std::vector<bool> is_used(rank);
    element_map from;
    for (const std::int64_t source : permutation) {
        const auto d = static_cast<std::size_t>(source);
        if (source < 0 || d >= rank || is_used[d])
            break;
        is_used[d] = true;
        from.push_back(offsets_of(x.dims[d], [&](dim_t i) { return i * x.strides[d]; }));
    }
    if (from.size() != rank || permutation.size() != rank)
        refuse("this is not a permutation of " + std::to_string(rank) + " dimensions");
    return from;
}

memory::dims broadcast_strides(const memory::dims &of, const memory::dims &to) {
    memory::dims strides(to.size(), 0);
    dim_t stride = 1;
    for (std::size_t i = 0; i < of.size(); i++) {
        const dim_t size = of[of.size() - 1 - i], wanted = i < to.size() ? to[to.size() - 1 - i] : 1;
        if (size != 1 && size != wanted)
            refuse("dimensions " + to_text(of) + " do not broadcast to " + to_text(to));
        if (size != 1)
            strides[to.size() - 1 - i] = stride;
        stride *= size;
    }
    return strides;
}

element_map expanded(const memory::dims &x, const memory::dims &y) {
    const memory::dims strides = broadcast_strides(x, y);
    element_map from;
    for (std::size_t d = 0; d < y.size(); d++)
        from.push_back(offsets_of(y[d], [&](dim_t i) { return i * strides[d]; }));
    return from;
}

element_map tiled(const placed_dims &x, const memory::dims &y) {
    if (x.dims.size() != y.size())
        refuse("input " + to_text(x.dims) + " and output " + to_text(y) + " differ in rank");
    element_map from;
    for (std::size_t d = 0; d < y.size(); d++) {
        if (y[d] != 0 && (x.dims[d] == 0 || y[d] % x.dims[d] != 0))
            refuse("output " + to_text(y) + " is no multiple of input " + to_text(x.dims));
        from.push_back(offsets_of(y[d], [&](dim_t i) { return i % x.dims[d] * x.strides[d]; }));
    }
    return from;
}

element_map reversed(const placed_dims &x, const std::vector<bool> &is_reversed) {
    element_map from;
    for (std::size_t d = 0; d < x.dims.size(); d++)
        from.push_back(offsets_of(
            x.dims[d], [&](dim_t i) { return (is_reversed[d] ? x.dims[d] - 1 - i : i) * x.strides[d]; }));
    return from;
}

memory::dims padded(memory::dims dims, const memory::dims &before, const memory::dims &after) {
    constexpr dim_t most = std::numeric_limits<std::int32_t>::max(); // as dimensions have: no sum wraps
    for (std::size_t d = 0; d < dims.size(); d++) {
        for (const dim_t p : {before.at(d), after.at(d)})
            if (p < -most || p > most)
                refuse("a padding is " + std::to_string(p) + ", allowed: -2^31 + 1 to 2^31 - 1");
        dims[d] += before[d] + after[d];
    }
    return dims;
}

namespace {

/// The element of the input that an index of a padded dimension repeats; `size` elements were not cut off.
dim_t repeated(dim_t i, dim_t size, const std::string &mode) {
    if (i >= 0 && i < size)
        return i;
    if (mode == "edge")
        return i < 0 ? 0 : size - 1;
    if (mode == "reflect")
        return i < 0 ? -i : 2 * (size - 1) - i;
    if (mode == "symmetric")
        return i < 0 ? -i - 1 : 2 * size - 1 - i;
    return mode == "wrap" ? (i % size + size) % size : outside;
}

[[noreturn]] void refuse_blocks(const blocked_image &image) {
    refuse("blocks of " + std::to_string(image.block) + " in an image " + to_text(image.x.dims) +
           " of {N, C, H, W}, allowed: 1 to 32768, divisors of what they are made of");
}

bool is_block(dim_t b) { return b >= 1 && b <= 1 << 15; }

} // namespace

element_map padded(const placed_dims &x, const memory::dims &before, const memory::dims &after,
                   const std::string &mode) {
    const memory::dims expected = padded(x.dims, before, after);
    element_map from;
    for (std::size_t d = 0; d < x.dims.size(); d++) {
        const dim_t first = std::max<dim_t>(-before[d], 0),
                    size = x.dims[d] - first - std::max<dim_t>(-after[d], 0);
        const dim_t most = std::max<dim_t>({before[d], after[d], 0});
        if (size < 0 || (size == 0 && most > 0 && mode != "constant") ||
            (mode == "reflect" && most >= std::max<dim_t>(size, 1)) || (mode == "symmetric" && most > size))
            refuse("padding " + std::to_string(before[d]) + " and " + std::to_string(after[d]) +
                   " of dimension " + std::to_string(d) + " of " + to_text(x.dims) + " in mode " + mode);
        from.push_back(offsets_of(expected[d], [&](dim_t i) {
            const dim_t k = repeated(i - std::max<dim_t>(before[d], 0), size, mode);
            return k == outside ? outside : (k + first) * x.strides[d];
        }));
    }
    return from;
}

memory::dims blocked_image::wide_dims() const {
    const memory::dims &d = x.dims;
    if (d.size() != 4 || !is_block(block) || d[1] % (block * block) != 0)
        refuse_blocks(*this);
    return {d[0], d[1] / (block * block), d[2] * block, d[3] * block};
}

memory::dims blocked_image::deep_dims() const {
    const memory::dims &d = x.dims;
    if (d.size() != 4 || !is_block(block) || d[2] % block != 0 || d[3] % block != 0)
        refuse_blocks(*this);
    return {d[0], d[1] * block * block, d[2] / block, d[3] / block};
}

element_map depth_to_space(const blocked_image &image, bool channels_outside) {
    const memory::dims y = image.wide_dims(), &s = image.x.strides;
    const dim_t b = image.block, apart = channels_outside ? 1 : y[1];
    return {offsets_of(y[0], [&](dim_t i) { return i * s[0]; }),
            offsets_of(y[1], [&](dim_t i) { return (channels_outside ? i * b * b : i) * s[1]; }),
            offsets_of(y[2], [&](dim_t i) { return i / b * s[2] + i % b * b * apart * s[1]; }),
            offsets_of(y[3], [&](dim_t i) { return i / b * s[3] + i % b * apart * s[1]; })};
}

element_map space_to_depth(const blocked_image &image) {
    const memory::dims y = image.deep_dims(), &s = image.x.strides;
    const dim_t b = image.block, channels = image.x.dims[1];
    return {offsets_of(y[0], [&](dim_t i) { return i * s[0]; }),
            offsets_of(y[1],
                       [&](dim_t i) {
                           const dim_t neighbour = i / channels;
                           return i % channels * s[1] + neighbour / b * s[2] + neighbour % b * s[3];
                       }),
            offsets_of(y[2], [&](dim_t i) { return i * b * s[2]; }),
            offsets_of(y[3], [&](dim_t i) { return i * b * s[3]; })};
}

} // namespace octet::model
