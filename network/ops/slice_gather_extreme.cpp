// Slices, splits and gathers by copies with strides; the largest or smallest of a dimension by a loop.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/slice_gather_extreme.hpp"

#include <algorithm>
#include <cstring>

#include "loops/parallel.hpp"
#include "network/ops/broadcast.hpp"
#include "network/ops/element_map_step.hpp"
#include "network/ops/view_transpose_pad.hpp"

namespace octet::model {
namespace {

/// Blocks of a tensor in the order of indices, which are checked before anything is written.
class gather_step final : public step {
public:
    gather_step(buffer data, buffer indices, buffer dst, std::int64_t outer, std::int64_t size,
                std::int64_t count, std::size_t block)
        : data_(std::move(data)), indices_(std::move(indices)), dst_(std::move(dst)), outer_(outer),
          size_(size), count_(count), block_(block) {}

    void run(const stream &, const run_memory &m) const override {
        const auto *index = m.at<std::int32_t>(indices_);
        check_indices(index, count_, size_);
        const auto *data = m.at<std::uint8_t>(data_);
        auto *y = m.at<std::uint8_t>(dst_);
        const auto work = static_cast<std::int64_t>(block_ / sizeof(float)) + 4;
        loops::parallel_for(outer_ * count_, work, [&](std::int64_t begin, std::int64_t end) {
            std::int64_t o = begin / count_, i = begin % count_;
            for (std::int64_t n = begin; n < end; n++) {
                const std::int64_t from = o * size_ + (index[i] < 0 ? index[i] + size_ : index[i]);
                std::memcpy(y + static_cast<std::size_t>(n) * block_,
                            data + static_cast<std::size_t>(from) * block_, block_);
                if (++i == count_) {
                    i = 0;
                    o++;
                }
            }
        });
    }

    std::string implementation() const override { return "copy"; }
    std::string explain() const override {
        return "copies of " + std::to_string(block_) + " bytes, one per index";
    }

private:
    buffer data_, indices_, dst_;
    std::int64_t outer_, size_, count_;
    std::size_t block_;
};

template <typename T> class arg_extreme_step final : public loop_step {
public:
    arg_extreme_step(buffer src, buffer dst, dim_t outer, dim_t size, dim_t inner, const arg_extreme &which)
        : src_(std::move(src)), dst_(std::move(dst)), outer_(outer), size_(size), inner_(inner),
          which_(which) {}

    void run(const stream &, const run_memory &m) const override {
        const T *x = m.at<T>(src_);
        auto *y = m.at<std::int32_t>(dst_);
        loops::parallel_for(outer_ * inner_, size_, [&](dim_t begin, dim_t end) {
            for (dim_t n = begin; n < end; n++)
                y[n] = static_cast<std::int32_t>(best_of(x + n / inner_ * size_ * inner_ + n % inner_));
        });
    }

    std::string explain() const override { return "a plain loop over the elements"; }

private:
    static constexpr dim_t block = 32;

    template <typename IsBetter> static bool any_of_block(const T *x, const IsBetter &is_better) {
        unsigned is_any = 0;
        for (dim_t i = 0; i < block; i++)
            is_any |= static_cast<unsigned>(is_better(x[i]));
        return is_any != 0;
    }
    dim_t best_of(const T *line) const {
        dim_t best = 0;
        for (dim_t first = 1; first < size_; first += block) {
            const dim_t end = std::min(first + block, size_);
            if (inner_ == 1 && end - first == block && !have_better(line + first, line[best]))
                continue;
            for (dim_t k = first; k < end && !stops_at(line[best * inner_]); k++)
                if (is_better(line[k * inner_], line[best * inner_]) || stops_at(line[k * inner_]))
                    best = k;
        }
        return best;
    }
    /// Whether one of a block of neighbours may take the place of the best so far.
    bool have_better(const T *x, T best) const {
        if (which_.stops_at_nan)
            return true;
        if (which_.takes_last)
            return which_.is_smallest ? any_of_block(x, [=](T a) { return a <= best; })
                                      : any_of_block(x, [=](T a) { return a >= best; });
        return which_.is_smallest ? any_of_block(x, [=](T a) { return a < best; })
                                  : any_of_block(x, [=](T a) { return a > best; });
    }
    bool stops_at(T a) const { return which_.stops_at_nan && a != a; }
    bool is_better(T a, T b) const {
        return (which_.is_smallest ? a < b : a > b) || (which_.takes_last && a == b);
    }

    buffer src_, dst_;
    dim_t outer_, size_, inner_;
    arg_extreme which_;
};

} // namespace

std::size_t axis_among(std::int64_t given, std::size_t rank) {
    const auto size = static_cast<std::int64_t>(rank);
    if (given < -size || given >= size)
        refuse("axis " + std::to_string(given) + " is outside the " + std::to_string(rank) + " dimensions");
    return static_cast<std::size_t>(given < 0 ? given + size : given);
}

std::unique_ptr<step> make_slice(const lowering &l, const memory::dims &begin, const memory::dims &stride,
                                 const memory::dims &sizes) {
    const tensor &x = any_input(l, 0), &y = l.output({x.type});
    if (element_count(sizes) != element_count(y.dims))
        refuse("a slice of " + to_text(sizes) + " of " + to_text(x.dims) + " is not " + to_text(y.dims));
    check_slice(x.dims, begin, stride, sizes);
    const buffer dst = l.output_buffer(memory::desc(sizes, x.type, memory::dims()));
    if (x.dims.empty() || std::any_of(stride.begin(), stride.end(), [](dim_t s) { return s != 1; }))
        return rearranged_as(l, dst, sliced(placed_dims(x.dims), begin, stride, sizes));
    auto result = std::make_unique<primitive_step>();
    add_copy(*result, l.input_buffer(0, dense_desc(x).submemory_desc(sizes, begin)), dst);
    return result;
}

std::unique_ptr<step> make_split(const lowering &l, std::size_t input, std::size_t axis, bool drops_axis) {
    const tensor &x = any_input(l, input);
    auto result = std::make_unique<primitive_step>();
    memory::dims begin(x.dims.size(), 0);
    for (std::size_t i = 0; i < l.get_node().outputs.size(); i++) {
        const tensor &y = l.output(i, {x.type});
        memory::dims part = x.dims, expected = x.dims;
        part[axis] = drops_axis ? 1 : y.dims.size() == x.dims.size() ? y.dims[axis] : 0;
        expected[axis] = part[axis];
        if (drops_axis)
            expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(axis));
        if (y.dims != expected || begin[axis] + part[axis] > x.dims[axis])
            refuse("output " + std::to_string(i) + " (" + to_text(y.dims) + ") is no part of " +
                   to_text(x.dims));
        add_copy(*result, l.input_buffer(input, dense_desc(x).submemory_desc(part, begin)),
                 l.output_buffer(i).seen_through(memory::desc(part, x.type, memory::dims())));
        begin[axis] += part[axis];
    }
    return result;
}

void check_indices(const std::int32_t *index, dim_t count, dim_t size) {
    const dim_t wrong =
        loops::first_of(count, 1, [&](dim_t i) { return index[i] < -size || index[i] >= size; });
    if (wrong < count)
        throw error(status::invalid_arguments,
                    "index " + std::to_string(wrong) + " is " + std::to_string(index[wrong]) +
                        ", allowed: " + std::to_string(-size) + " to " + std::to_string(size - 1));
}

std::unique_ptr<step> make_gather(const lowering &l, std::size_t axis) {
    const tensor &x = any_input(l, 0), &indices = l.input(1, {data_type::s32}), &y = l.output({x.type});
    const auto middle = x.dims.begin() + static_cast<std::ptrdiff_t>(axis);
    memory::dims expected(x.dims.begin(), middle);
    expected.insert(expected.end(), indices.dims.begin(), indices.dims.end());
    expected.insert(expected.end(), middle + 1, x.dims.end());
    need_output_dims(l, expected);
    const auto block =
        static_cast<std::size_t>(element_count({middle + 1, x.dims.end()})) * memory::data_type_size(y.type);
    return std::make_unique<gather_step>(l.input_buffer(0), l.input_buffer(1), l.output_buffer(),
                                         element_count({x.dims.begin(), middle}), *middle,
                                         element_count(indices.dims), block);
}

std::unique_ptr<step> make_arg_extreme(const lowering &l, std::size_t axis, const arg_extreme &which) {
    const tensor &x = l.input(0, {data_type::f32, data_type::s8, data_type::u8}),
                 &y = l.output({data_type::s32});
    const auto at = x.dims.begin() + static_cast<std::ptrdiff_t>(axis);
    const dim_t outer = element_count({x.dims.begin(), at}), inner = element_count({at + 1, x.dims.end()});
    if (element_count(y.dims) != outer * inner || *at == 0)
        refuse("input " + to_text(x.dims) + " does not give " + to_text(y.dims));
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    switch (x.type) {
    case data_type::f32:
        return std::make_unique<arg_extreme_step<float>>(src, dst, outer, *at, inner, which);
    case data_type::s8:
        return std::make_unique<arg_extreme_step<std::int8_t>>(src, dst, outer, *at, inner, which);
    default:
        return std::make_unique<arg_extreme_step<std::uint8_t>>(src, dst, outer, *at, inner, which);
    }
}

std::unique_ptr<step> make_expand(const lowering &l) {
    const tensor &x = any_input(l, 0), &y = l.output({x.type});
    if (element_count(x.dims) == element_count(y.dims))
        return make_view(l);
    return broadcast_step(l, {{l.input_buffer(0), broadcast_strides(x.dims, y.dims)}},
                          copying(memory::data_type_size(y.type)));
}

} // namespace octet::model
