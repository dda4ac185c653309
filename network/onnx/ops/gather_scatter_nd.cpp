// Elements and blocks in the places that indices name, which are checked before anything is written:
// GatherElements, GatherND, ScatterElements, ScatterND.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "loops/parallel.hpp"
#include "network/graph/element_map.hpp"
#include "network/graph/index_walk.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/slice_gather_extreme.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

// ---- Places

/// Blocks of a tensor, each named by one or more indices, on the way through `walk`.
struct named_blocks {
    memory::dims walk,
        base; ///< dimensions, and how far each moves in the tensor without an index, in elements
    memory::dims sizes, strides; ///< what each index counts, and how far it moves
    dim_t block;                 ///< elements
    memory::dims all;            ///< dimensions of all blocks together
};

void need_integers(const tensor &indices) {
    if (indices.type != data_type::s32)
        refuse("input 1 ('" + indices.name + "') is " + type_text(indices) + ", allowed are integers");
}

/// One element for each index, which replaces the coordinate of an axis. No other dimension is longer than the data's.
named_blocks elements_along_axis(const tensor &data, const tensor &indices, std::int64_t given_axis) {
    need_integers(indices);
    const memory::dims &x = data.dims, &d = indices.dims, strides = placed_dims(x).strides;
    const std::size_t axis = axis_among(given_axis, x.size());
    bool fits = x.size() == d.size();
    for (std::size_t i = 0; fits && i < x.size(); i++)
        fits = i == axis || d[i] <= x[i];
    if (!fits)
        refuse("indices " + to_text(d) + " do not fit into " + to_text(x));
    named_blocks n{d, strides, {x[axis]}, {strides[axis]}, 1, d};
    n.base[axis] = 0;
    return n;
}

/// Rows of indices name the dimensions behind those of the batch, which both have.
named_blocks blocks_of_rows(const tensor &data, const tensor &indices, std::int64_t batch_dims) {
    need_integers(indices);
    const memory::dims &x = data.dims, &d = indices.dims, strides = placed_dims(x).strides;
    const auto rank = static_cast<std::int64_t>(x.size());
    const bool has_batch = batch_dims >= 0 && batch_dims < static_cast<std::int64_t>(d.size()) &&
                           batch_dims < rank && std::equal(x.begin(), x.begin() + batch_dims, d.begin());
    if (!has_batch || d.back() < 1 || d.back() > rank - batch_dims)
        refuse("indices " + to_text(d) + " do not name elements of " + to_text(x) +
               (batch_dims == 0 ? "" : " behind " + std::to_string(batch_dims) + " equal dimensions"));
    const auto last = batch_dims + d.back();
    const memory::dims rest(x.begin() + last, x.end());
    named_blocks n{{d.begin(), d.end() - 1},
                   memory::dims(d.size() - 1),
                   {x.begin() + batch_dims, x.begin() + last},
                   {strides.begin() + batch_dims, strides.begin() + last},
                   element_count(rest),
                   {d.begin(), d.end() - 1}};
    std::copy_n(strides.begin(), batch_dims, n.base.begin());
    n.all.insert(n.all.end(), rest.begin(), rest.end());
    if (n.all.size() > max_ndims)
        refuse("the output has " + std::to_string(n.all.size()) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
    return n;
}

class named_step : public loop_step {
public:
    named_step(const lowering &l, named_blocks n)
        : data_(l.input_buffer(0)), indices_(l.input_buffer(1)), dst_(l.output_buffer()), n_(std::move(n)),
          size_(memory::data_type_size(l.output().type)) {}

    std::string explain() const override {
        return "copies of " + std::to_string(n_.block) + " elements, one per index";
    }

protected:
    dim_t count() const { return element_count(n_.walk); } ///< of blocks

    /// Throws if an index is outside.
    void check_indices(const run_memory &m) const {
        const auto *index = m.at<std::int32_t>(indices_);
        const auto depth = static_cast<dim_t>(n_.sizes.size());
        const auto size_at = [&](dim_t i) { return n_.sizes[static_cast<std::size_t>(i % depth)]; };
        const dim_t wrong = loops::first_of(
            count() * depth, 2, [&](dim_t i) { return index[i] < -size_at(i) || index[i] >= size_at(i); });
        if (wrong < count() * depth)
            throw error(status::invalid_arguments, "index " + std::to_string(wrong) + " is " +
                                                       std::to_string(index[wrong]) +
                                                       ", allowed: " + std::to_string(-size_at(wrong)) +
                                                       " to " + std::to_string(size_at(wrong) - 1));
    }
    /// Calls f(number of a block, its first element) for blocks `begin` to `end` - 1.
    template <typename F> void for_each_block(const run_memory &m, dim_t begin, dim_t end, const F &f) const {
        if (begin >= end)
            return;
        const std::size_t depth = n_.sizes.size();
        const auto *index = m.at<std::int32_t>(indices_) + begin * static_cast<dim_t>(depth);
        stack_index at = index_of(begin, n_.walk, n_.walk.size());
        for (dim_t i = begin; i < end; i++, next_index(at, n_.walk)) {
            dim_t place = offset_at(at, n_.base);
            for (std::size_t k = 0; k < depth; k++, index++)
                place += n_.strides[k] * (*index < 0 ? *index + n_.sizes[k] : *index);
            f(i, place);
        }
    }
    std::size_t bytes(dim_t elements) const { return static_cast<std::size_t>(elements) * size_; }

    buffer data_, indices_, dst_;
    named_blocks n_;
    std::size_t size_; ///< of an element
};

class gather_named final : public named_step {
public:
    using named_step::named_step;

    void run(const stream &, const run_memory &m) const override {
        check_indices(m);
        const auto *data = m.at<std::uint8_t>(data_);
        auto *y = m.at<std::uint8_t>(dst_);
        loops::parallel_for(count(), n_.block + 4, [&](dim_t begin, dim_t end) {
            for_each_block(m, begin, end, [&](dim_t i, dim_t place) {
                std::memcpy(y + bytes(i * n_.block), data + bytes(place), bytes(n_.block));
            });
        });
    }
};

struct replaced {
    template <typename T> static T join(T, T b) { return b; }
};
struct added {
    template <typename T> static T join(T a, T b) { return static_cast<T>(a + b); }
};
struct multiplied {
    template <typename T> static T join(T a, T b) { return static_cast<T>(a * b); }
};
struct lowered {
    template <typename T> static T join(T a, T b) { return a < b ? a : b; }
};
struct raised {
    template <typename T> static T join(T a, T b) { return a > b ? a : b; }
};

/// A copy of the data, into which updates are joined one after the other.
template <typename T, typename F> class scatter_named final : public named_step {
public:
    scatter_named(const lowering &l, named_blocks n)
        : named_step(l, std::move(n)), updates_(l.input_buffer(2)),
          elements_(element_count(l.output().dims)) {}

    void run(const stream &, const run_memory &m) const override {
        check_indices(m);
        const T *const data = m.at<T>(data_), *const updates = m.at<T>(updates_);
        T *const y = m.at<T>(dst_);
        // A range of results takes all updates in order and joins what falls into it: it should be worth
        // looking at them.
        constexpr dim_t worth = 1 << 15;
        parallel_loop(elements_, worth + 4 * count(), [&](dim_t begin, dim_t end) {
            std::memcpy(y + begin, data + begin, bytes(end - begin));
            for_each_block(m, 0, count(), [&](dim_t i, dim_t place) {
                const T *const block = updates + i * n_.block;
                const dim_t first = std::max<dim_t>(begin - place, 0), last = std::min(end - place, n_.block);
                for (dim_t k = first; k < last; k++)
                    y[place + k] = F::join(y[place + k], block[k]);
            });
        });
    }

private:
    buffer updates_;
    dim_t elements_; ///< of the result
};

void need_updates(const tensor &x, const tensor &updates, const named_blocks &n) {
    if (updates.dims != n.all || updates.type != x.type)
        refuse("updates are " + to_text(updates.dims) + " of " + type_text(updates) +
               ", allowed: " + to_text(n.all) + " of " + type_text(x));
}

template <typename T> std::unique_ptr<step> scatter_of(const lowering &l, named_blocks n) {
    const std::string how = l.text("reduction", "none");
    if (how == "none")
        return std::make_unique<scatter_named<T, replaced>>(l, std::move(n));
    if constexpr (std::is_same_v<T, float>) {
        if (how == "add")
            return std::make_unique<scatter_named<T, added>>(l, std::move(n));
        if (how == "mul")
            return std::make_unique<scatter_named<T, multiplied>>(l, std::move(n));
        if (how == "min")
            return std::make_unique<scatter_named<T, lowered>>(l, std::move(n));
        if (how == "max")
            return std::make_unique<scatter_named<T, raised>>(l, std::move(n));
    }
    refuse_as_unimplemented("attribute 'reduction' is '" + how +
                            "', allowed: none, and of f32 add, mul, min and max");
}

std::unique_ptr<step> scatter(const lowering &l, named_blocks n) {
    const tensor &x = any_input(l, 0);
    need_updates(x, l.input(2), n);
    l.output({x.type});
    need_output_dims(l, x.dims);
    switch (memory::data_type_size(x.type)) {
    case 1:
        return scatter_of<std::uint8_t>(l, std::move(n));
    case 4:
        return x.type == data_type::f32 ? scatter_of<float>(l, std::move(n))
                                        : scatter_of<std::int32_t>(l, std::move(n));
    default:
        return scatter_of<std::uint16_t>(l, std::move(n));
    }
}

std::unique_ptr<step> gather(const lowering &l, named_blocks n) {
    l.output({any_input(l, 0).type});
    need_output_dims(l, n.all);
    return std::make_unique<gather_named>(l, std::move(n));
}

// The elements that a node names, for lowering and for shapes.
template <typename Node> named_blocks elements_of(const Node &n) {
    return elements_along_axis(n.input(0), n.input(1), n.integer("axis", 0));
}
template <typename Node> named_blocks batched_blocks_of(const Node &n) {
    return blocks_of_rows(n.input(0), n.input(1), n.integer("batch_dims", 0));
}
template <typename Node> named_blocks blocks_of(const Node &n) {
    return blocks_of_rows(n.input(0), n.input(1), 0);
}

template <named_blocks (*Named)(const lowering &)>
std::unique_ptr<step> lower_gather_named(const lowering &l) {
    return gather(l, Named(l));
}
template <named_blocks (*Named)(const lowering &)>
std::unique_ptr<step> lower_scatter_named(const lowering &l) {
    return scatter(l, Named(l));
}
template <named_blocks (*Named)(const node_shapes &)> void gather_named_shape(node_shapes &n) {
    n.set_output(n.input(0).type, Named(n).all);
}
template <named_blocks (*Named)(const node_shapes &)> void scatter_named_shape(node_shapes &n) {
    need_updates(n.input(0), n.input(2), Named(n));
    n.set_output_like(0);
}

using namespace row_words;

constexpr row onnx_gather_scatter_nd_rows[] = {
    row("GatherElements", 2, lower_gather_named<elements_of<lowering>>,
        gather_named_shape<elements_of<node_shapes>>, rows::never)
        .uses_integers(use::passes_on, use::computes)
        .sizes(flow::indices),
    row("GatherND", 2, lower_gather_named<batched_blocks_of<lowering>>,
        gather_named_shape<batched_blocks_of<node_shapes>>, rows::never)
        .uses_integers(use::passes_on, use::computes)
        .sizes(flow::named_blocks),
    row("ScatterElements", 3, lower_scatter_named<elements_of<lowering>>,
        scatter_named_shape<elements_of<node_shapes>>, rows::never)
        .sizes(flow::first),
    row("ScatterND", 3, lower_scatter_named<blocks_of<lowering>>, scatter_named_shape<blocks_of<node_shapes>>,
        rows::never)
        .sizes(flow::first),
};

} // namespace

operator_rows onnx_gather_scatter_nd_operators() { return onnx_gather_scatter_nd_rows; }

} // namespace octet::model
