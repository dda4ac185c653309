// Loops that add up the offsets of a map.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/element_map_step.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "loops/parallel.hpp"
#include "network/graph/index_walk.hpp"
#include "network/ops/view_transpose_pad.hpp"

namespace octet::model {
namespace {

class element_map_step final : public loop_step {
public:
    element_map_step(buffer src, buffer dst, element_map from, std::vector<std::uint8_t> fill)
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
        element_map sorted;
        for (const std::size_t d : order)
            sorted.push_back(std::move(from_[d]));
        from_ = std::move(sorted);
        dims_ = dims_of(from_);
        const std::vector<dim_t> &inner = from_.back();
        is_copied_ = inner[0] != outside;
        has_outside_ = std::find(inner.begin(), inner.end(), outside) != inner.end();
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

    std::string explain() const override { return "a plain loop over the elements of the output"; }

private:
    template <typename T> void rearrange(const run_memory &m) const {
        const T *x = m.at<T>(src_);
        T *y = m.at<T>(dst_), fill;
        std::memcpy(&fill, fill_.data(), sizeof fill);
        loops::parallel_for(element_count(dims_), 1, [&](dim_t begin, dim_t end) {
            for_rows(dims_, begin, end, [&](const stack_index &at, dim_t number, dim_t first, dim_t count) {
                write_part(x, at, first, count, fill, y + number);
            });
        });
    }

    /// `count` elements of a row, from `first` on.
    template <typename T>
    void write_part(const T *x, const stack_index &at, dim_t first, dim_t count, T fill, T *y) const {
        const dim_t *const inner = from_.back().data() + first;
        bool is_outside = false;
        for (std::size_t d = 0; d < at.size(); d++) {
            const dim_t offset = from_[d][static_cast<std::size_t>(at[d])];
            is_outside = is_outside || offset == outside;
            x += offset;
        }
        if (is_outside)
            std::fill_n(y, count, fill);
        else if (is_copied_)
            std::memcpy(y, x + inner[0], static_cast<std::size_t>(count) * sizeof(T));
        else if (has_outside_)
            for (dim_t i = 0; i < count; i++)
                y[i] = inner[i] == outside ? fill : x[inner[i]];
        else
            for (dim_t i = 0; i < count; i++)
                y[i] = x[inner[i]];
    }

    buffer src_, dst_;
    element_map from_; ///< in the order of memory
    memory::dims dims_;
    std::vector<std::uint8_t> fill_;
    bool is_copied_ = false;   ///< innermost rows, as they are
    bool has_outside_ = false; ///< innermost rows have elements that are filled in
};

} // namespace

placed_dims placed_input(const lowering &l) {
    return {l.input(0).dims, l.input_buffer(0).get_desc().get_strides()};
}

std::unique_ptr<step> rearranged_as(const lowering &l, const buffer &dst, element_map from,
                                    std::vector<std::uint8_t> fill) {
    fill.resize(std::max(fill.size(), sizeof(float)));
    return std::make_unique<element_map_step>(l.input_buffer(0), dst, std::move(from), std::move(fill));
}

std::unique_ptr<step> rearranged(const lowering &l, element_map from, std::vector<std::uint8_t> fill) {
    need_output_dims(l, dims_of(from));
    return rearranged_as(l, l.output_buffer(), std::move(from), std::move(fill));
}

std::unique_ptr<step> make_any_padding(const lowering &l, const memory::dims &before,
                                       const memory::dims &after, const std::string &mode,
                                       const std::vector<std::uint8_t> &element) {
    const tensor &x = any_input(l, 0);
    l.output({x.type});
    need_output_dims(l, padded(x.dims, before, after)); // before tables of their size are made
    return rearranged(l, padded(placed_input(l), before, after, mode), element);
}

} // namespace octet::model
