// A table of offsets for each dimension of the result, and loops that add them up.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/rearranging.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "network/lower/moving.hpp"

namespace octet::model {
namespace {

class rearranging_step final : public step {
public:
    rearranging_step(buffer src, buffer dst, offsets from, std::vector<std::uint8_t> fill)
        : src_(std::move(src)), dst_(std::move(dst)), from_(std::move(from)), fill_(std::move(fill)) {
        if (from_.empty())
            from_ = {{0}};
        if (std::any_of(from_.begin(), from_.end(), [](const auto &d) { return d.empty(); })) {
            from_.clear(); // nothing to write
            return;
        }
        // Written in the order of memory: images may lie channels-last.
        const memory::dims strides = dst_.get_desc().get_strides();
        std::vector<std::size_t> order(from_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return from_[b].size() > 1 && (from_[a].size() == 1 || strides[a] > strides[b]);
        });
        offsets sorted;
        for (const std::size_t d : order)
            sorted.push_back(std::move(from_[d]));
        from_ = std::move(sorted);
        const std::vector<dim_t> &inner = from_.back();
        is_copied_ = inner[0] != outside;
        for (std::size_t i = 1; i < inner.size(); i++)
            is_copied_ = is_copied_ && inner[i] == inner[0] + static_cast<dim_t>(i);
    }

    void run(const stream &, const run_memory &m) const override {
        if (from_.empty())
            return;
        switch (memory::data_type_size(dst_.get_desc().data_type())) {
        case 1:
            return rearrange<std::uint8_t>(m);
        case 2:
            return rearrange<std::uint16_t>(m);
        default:
            return rearrange<std::uint32_t>(m);
        }
    }

    std::string implementation() const override { return "loop"; }
    std::string explain() const override { return "a plain loop over the elements of the output"; }

private:
    template <typename T> void rearrange(const run_memory &m) const {
        const T *x = m.at<T>(src_);
        T *y = m.at<T>(dst_), fill;
        std::memcpy(&fill, fill_.data(), sizeof fill);
        const std::vector<dim_t> &inner = from_.back();
        thread_local std::vector<std::size_t> at; // keeps its capacity from run to run
        at.assign(from_.size() - 1, 0);
        while (true) {
            const T *row = x;
            bool is_outside = false;
            for (std::size_t d = 0; d < at.size(); d++) {
                const dim_t offset = from_[d][at[d]];
                is_outside = is_outside || offset == outside;
                row += offset;
            }
            if (is_outside)
                std::fill_n(y, inner.size(), fill);
            else if (is_copied_)
                std::memcpy(y, row + inner[0], inner.size() * sizeof(T));
            else
                for (std::size_t i = 0; i < inner.size(); i++)
                    y[i] = inner[i] == outside ? fill : row[inner[i]];
            y += inner.size();
            std::size_t d = at.size();
            while (d > 0 && ++at[d - 1] == from_[d - 1].size())
                at[--d] = 0;
            if (d == 0)
                return;
        }
    }

    buffer src_, dst_;
    offsets from_; ///< in the order of memory
    std::vector<std::uint8_t> fill_;
    bool is_copied_ = false; ///< innermost rows, as they are
};

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

} // namespace

std::unique_ptr<step> rearranged_as(const lowering &l, const buffer &dst, offsets from,
                                    std::vector<std::uint8_t> fill) {
    fill.resize(std::max(fill.size(), sizeof(float)));
    return std::make_unique<rearranging_step>(l.input_buffer(0), dst, std::move(from), std::move(fill));
}

std::unique_ptr<step> rearranged(const lowering &l, offsets from, std::vector<std::uint8_t> fill) {
    memory::dims dims;
    for (const std::vector<dim_t> &d : from)
        dims.push_back(static_cast<dim_t>(d.size()));
    need_output_dims(l, dims);
    return rearranged_as(l, l.output_buffer(), std::move(from), std::move(fill));
}

namespace {

[[noreturn]] void refuse_blocks(const blocked_image &x) {
    refuse("blocks of " + std::to_string(x.block) + " in an image " + to_text(x.dims) +
           " of {N, C, H, W}, allowed: 1 to 32768, divisors of what they are made of");
}

bool is_block(dim_t b) { return b >= 1 && b <= 1 << 15; }

} // namespace

memory::dims blocked_image::wide_dims() const {
    if (!is_block(block) || dims[1] % (block * block) != 0)
        refuse_blocks(*this);
    return {dims[0], dims[1] / (block * block), dims[2] * block, dims[3] * block};
}

memory::dims blocked_image::deep_dims() const {
    if (!is_block(block) || dims[2] % block != 0 || dims[3] % block != 0)
        refuse_blocks(*this);
    return {dims[0], dims[1] * block * block, dims[2] / block, dims[3] / block};
}

offsets depth_to_space(const blocked_image &x, bool channels_outside) {
    const memory::dims &s = x.strides;
    const dim_t b = x.block, channels = x.dims[1] / (b * b), apart = channels_outside ? 1 : channels;
    return {offsets_of(x.dims[0], [&](dim_t i) { return i * s[0]; }),
            offsets_of(channels, [&](dim_t i) { return (channels_outside ? i * b * b : i) * s[1]; }),
            offsets_of(x.dims[2] * b, [&](dim_t i) { return i / b * s[2] + i % b * b * apart * s[1]; }),
            offsets_of(x.dims[3] * b, [&](dim_t i) { return i / b * s[3] + i % b * apart * s[1]; })};
}

offsets space_to_depth(const blocked_image &x) {
    const memory::dims &s = x.strides;
    const dim_t b = x.block, channels = x.dims[1];
    return {offsets_of(x.dims[0], [&](dim_t i) { return i * s[0]; }),
            offsets_of(channels * b * b,
                       [&](dim_t i) {
                           const dim_t place = i / channels;
                           return i % channels * s[1] + place / b * s[2] + place % b * s[3];
                       }),
            offsets_of(x.dims[2] / b, [&](dim_t i) { return i * b * s[2]; }),
            offsets_of(x.dims[3] / b, [&](dim_t i) { return i * b * s[3]; })};
}

std::unique_ptr<step> make_tile(const lowering &l) {
    const tensor &x = any_input(l, 0), &y = l.output({x.type});
    const memory::dims strides = l.input_buffer(0).get_desc().get_strides();
    if (x.dims.size() != y.dims.size())
        refuse("input " + to_text(x.dims) + " and output " + to_text(y.dims) + " differ in rank");
    offsets from;
    for (std::size_t d = 0; d < x.dims.size(); d++) {
        if (y.dims[d] != 0 && (x.dims[d] == 0 || y.dims[d] % x.dims[d] != 0))
            refuse("output " + to_text(y.dims) + " is no multiple of input " + to_text(x.dims));
        from.push_back(offsets_of(y.dims[d], [&](dim_t i) { return i % x.dims[d] * strides[d]; }));
    }
    return rearranged(l, std::move(from));
}

std::unique_ptr<step> make_any_padding(const lowering &l, const memory::dims &before,
                                       const memory::dims &after, const std::string &mode,
                                       const std::vector<std::uint8_t> &element) {
    const tensor &x = any_input(l, 0);
    l.output({x.type});
    const memory::dims strides = l.input_buffer(0).get_desc().get_strides();
    const memory::dims expected = padded(x.dims, before, after);
    need_output_dims(l, expected); // before tables of their size are made
    offsets from;
    for (std::size_t d = 0; d < x.dims.size(); d++) {
        // What is cut off is gone before anything is repeated.
        const dim_t first = std::max<dim_t>(-before[d], 0),
                    size = x.dims[d] - first - std::max<dim_t>(-after[d], 0);
        const dim_t most = std::max<dim_t>({before[d], after[d], 0});
        if (size < 0 || (size == 0 && most > 0 && mode != "constant") ||
            (mode == "reflect" && most >= std::max<dim_t>(size, 1)) || (mode == "symmetric" && most > size))
            refuse("padding " + std::to_string(before[d]) + " and " + std::to_string(after[d]) +
                   " of dimension " + std::to_string(d) + " of " + to_text(x.dims) + " in mode " + mode);
        from.push_back(offsets_of(expected[d], [&](dim_t i) {
            const dim_t k = repeated(i - std::max<dim_t>(before[d], 0), size, mode);
            return k == outside ? outside : (k + first) * strides[d];
        }));
    }
    return rearranged(l, std::move(from), element);
}

} // namespace octet::model
