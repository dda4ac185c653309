// Operators whose outputs take elements by a rule for each dimension alone: Tile, DepthToSpace, SpaceToDepth, and paddings
// that repeat elements or cut some off.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "network/lower/moving.hpp"
#include "network/lower/onnx.hpp"

namespace octet::model {
namespace {

/// For each dimension of the output an offset into the input per index; offsets of all dimensions add up.
using offsets = std::vector<std::vector<dim_t>>;
constexpr dim_t outside = -1; ///< instead of an offset: what is filled in

class rearranging_step final : public step {
public:
    rearranging_step(buffer src, buffer dst, offsets from, std::vector<std::uint8_t> fill)
        : src_(std::move(src)), dst_(std::move(dst)), from_(std::move(from)), fill_(std::move(fill)) {
        if (from_.empty())
            from_ = {{0}};
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

/// Offsets of indices into one dimension of the input.
template <typename F> std::vector<dim_t> offsets_of(dim_t count, const F &offset_at) {
    std::vector<dim_t> result(static_cast<std::size_t>(count));
    for (dim_t i = 0; i < count; i++)
        result[static_cast<std::size_t>(i)] = offset_at(i);
    return result;
}

std::unique_ptr<step> rearranged(const lowering &l, offsets from, std::vector<std::uint8_t> fill = {}) {
    memory::dims dims;
    for (const std::vector<dim_t> &d : from)
        dims.push_back(static_cast<dim_t>(d.size()));
    need_output_dims(l, dims);
    fill.resize(std::max(fill.size(), sizeof(float)));
    return std::make_unique<rearranging_step>(l.input_buffer(0), l.output_buffer(), std::move(from),
                                              std::move(fill));
}

/// Of an image of four dimensions, with the strides in which it lies.
struct blocks {
    memory::dims dims, strides;
    dim_t size;
    explicit blocks(const lowering &l)
        : dims(any_input(l, 0).dims), strides(l.input_buffer(0).get_desc().get_strides()),
          size(l.integer("blocksize")) {
        l.output({l.input(0).type});
        if (dims.size() != 4 || size < 1 || size > 1 << 15)
            refuse("blocks of " + std::to_string(size) + " in an input " + to_text(dims));
    }
};

/// The element of the input that an index of a padded dimension repeats; `size` elements were not cut off.
dim_t repeated(dim_t i, dim_t size, const std::string &mode) {
    if (i >= 0 && i < size)
        return i;
    if (mode == "edge")
        return i < 0 ? 0 : size - 1;
    if (mode == "reflect")
        return i < 0 ? -i : 2 * (size - 1) - i;
    return mode == "wrap" ? (i % size + size) % size : outside;
}

} // namespace

std::unique_ptr<step> lower_tile(const lowering &l) {
    const tensor &x = any_input(l, 0), &y = l.output({x.type});
    const memory::dims strides = l.input_buffer(0).get_desc().get_strides();
    if (x.dims.size() != y.dims.size())
        refuse("input " + to_text(x.dims) + " and output " + to_text(y.dims) + " differ in rank");
    offsets from;
    for (std::size_t d = 0; d < x.dims.size(); d++)
        from.push_back(offsets_of(y.dims[d], [&](dim_t i) { return i % x.dims[d] * strides[d]; }));
    return rearranged(l, std::move(from));
}

std::unique_ptr<step> lower_depth_to_space(const lowering &l) {
    const blocks x(l);
    const dim_t b = x.size, channels = x.dims[1] / (b * b);
    const bool is_column_major = l.text("mode", "DCR") == "CRD"; // channels first, places in the block inside
    const dim_t apart = is_column_major ? 1 : channels;          // of places, in channels
    return rearranged(
        l, {offsets_of(x.dims[0], [&](dim_t i) { return i * x.strides[0]; }),
            offsets_of(channels, [&](dim_t i) { return (is_column_major ? i * b * b : i) * x.strides[1]; }),
            offsets_of(x.dims[2] * b,
                       [&](dim_t i) { return i / b * x.strides[2] + i % b * b * apart * x.strides[1]; }),
            offsets_of(x.dims[3] * b,
                       [&](dim_t i) { return i / b * x.strides[3] + i % b * apart * x.strides[1]; })});
}

std::unique_ptr<step> lower_space_to_depth(const lowering &l) {
    const blocks x(l);
    const dim_t b = x.size, channels = x.dims[1];
    return rearranged(l, {offsets_of(x.dims[0], [&](dim_t i) { return i * x.strides[0]; }),
                          offsets_of(channels * b * b,
                                     [&](dim_t i) {
                                         const dim_t place = i / channels;
                                         return i % channels * x.strides[1] + place / b * x.strides[2] +
                                                place % b * x.strides[3];
                                     }),
                          offsets_of(x.dims[2] / b, [&](dim_t i) { return i * b * x.strides[2]; }),
                          offsets_of(x.dims[3] / b, [&](dim_t i) { return i * b * x.strides[3]; })});
}

std::unique_ptr<step> make_any_padding(const lowering &l, const memory::dims &before,
                                       const memory::dims &after, const std::string &mode,
                                       const std::vector<std::uint8_t> &element) {
    const tensor &x = any_input(l, 0);
    l.output({x.type});
    const memory::dims strides = l.input_buffer(0).get_desc().get_strides();
    offsets from;
    for (std::size_t d = 0; d < x.dims.size(); d++) {
        // What is cut off is gone before anything is repeated.
        const dim_t first = std::max<dim_t>(-before.at(d), 0),
                    size = x.dims[d] - first - std::max<dim_t>(-after.at(d), 0);
        const dim_t most = std::max<dim_t>({before[d], after[d], 0});
        if (size < 0 || (size == 0 && most > 0 && mode != "constant") ||
            (mode == "reflect" && most >= std::max<dim_t>(size, 1)))
            refuse("padding " + std::to_string(before[d]) + " and " + std::to_string(after[d]) +
                   " of dimension " + std::to_string(d) + " of " + to_text(x.dims) + " in mode " + mode);
        from.push_back(offsets_of(x.dims[d] + before[d] + after[d], [&](dim_t i) {
            const dim_t k = repeated(i - std::max<dim_t>(before[d], 0), size, mode);
            return k == outside ? outside : (k + first) * strides[d];
        }));
    }
    return rearranged(l, std::move(from), element);
}

} // namespace octet::model
