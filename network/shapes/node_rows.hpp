#pragma once // SPDX-License-Identifier: Apache-2.0

// Whether an operator keeps the rows of a batch apart: whether row n of its outputs depends on row n of its
// inputs alone, for a node with its attributes. A tensor that depends on the network's inputs begins with the
// batch, which is 1 in the graph that is asked, so that a tensor whose first dimension is something else is
// seen at once. Which operator has which question is in its row; questions of one operator alone stand with
// it.

#include <algorithm>
#include <cstring>
#include <optional>

#include "network/graph/graph.hpp"
#include "network/graph/node_marks.hpp"

namespace octet::model {

/// A node of a graph whose batch is 1, with what is known of its inputs.
class node_rows {
public:
    node_rows(const graph &g, const node &n, const std::vector<bool> &depends)
        : g_(g), n_(n), depends_(depends) {}

    std::size_t count() const { return n_.inputs.size(); }
    std::size_t output_count() const { return n_.outputs.size(); }
    bool has(std::size_t i) const { return input_of(n_, i).has_value(); }
    const tensor &input(std::size_t i) const { return tensor_at(g_, input_of(n_, i)); }
    bool depends(std::size_t i) const { return has(i) && depends_[input_of(n_, i).index()]; }
    std::size_t rank(std::size_t i = 0) const { return input(i).dims.size(); }

    /// Dimensions of an input in a batch of so many rows.
    memory::dims dims(std::size_t i, dim_t batch) const {
        memory::dims d = input(i).dims;
        if (depends(i) && !d.empty())
            d[0] = batch;
        return d;
    }

    bool only_depends_on_first() const {
        for (std::size_t i = 1; i < count(); i++)
            if (depends(i))
                return false;
        return depends(0);
    }
    /// Whether all tensors that depend on the network's inputs have one rank: broadcasting would shift the
    /// batch of a shorter one.
    bool ranks_are_equal() const {
        std::optional<std::size_t> rank_of_all;
        for (std::size_t i = 0; i < count(); i++)
            if (depends(i) && rank(i) != rank_of_all.value_or(rank(i)))
                return false;
            else if (depends(i))
                rank_of_all = rank(i);
        for (std::size_t i = 0; i < count(); i++) // a longer constant shifts it, too
            if (has(i) && !depends(i) && rank(i) > *rank_of_all)
                return false;
        return true;
    }

    /// Elements of the output, which has one row here.
    dim_t result_count() const { return element_count(tensor_at(g_, output_of(n_)).dims); }
    /// Whether rows of the output begin where groups of four elements do.
    bool has_whole_groups() const { return result_count() % 4 == 0; }

    const node_marks &marks() const { return marks_of(n_); }
    std::int64_t integer(const std::string &name, std::int64_t absent) const {
        const auto found = n_.attributes.find(name);
        const auto *value =
            found == n_.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
        return value ? *value : absent;
    }
    /// Integers of an attribute or of a constant input, none if there is neither.
    std::optional<std::vector<std::int64_t>> list(const std::string &name, std::size_t i) const {
        const auto found = n_.attributes.find(name);
        if (found != n_.attributes.end())
            if (const auto *value = std::get_if<std::vector<std::int64_t>>(&found->second))
                return *value;
        if (!has(i) || depends(i) || input(i).type != data_type::s32 ||
            input(i).data.size() != static_cast<std::size_t>(element_count(input(i).dims)) * 4)
            return std::nullopt;
        std::vector<std::int64_t> values(input(i).data.size() / 4);
        for (std::size_t k = 0; k < values.size(); k++) {
            std::int32_t value = 0;
            std::memcpy(&value, input(i).data.data() + 4 * k, 4);
            values[k] = value;
        }
        return values;
    }

    /// The axis is none of the batch's.
    bool is_inner(std::int64_t axis, std::size_t rank) const {
        return axis != 0 && axis != -static_cast<std::int64_t>(rank);
    }
    bool has_inner_axis(std::int64_t absent) const { return is_inner(integer("axis", absent), rank()); }
    bool has_inner_axes(const std::string &name, std::size_t i, std::size_t rank) const {
        const auto axes = list(name, i);
        return axes && !axes->empty() &&
               std::all_of(axes->begin(), axes->end(), [&](std::int64_t a) { return is_inner(a, rank); });
    }

private:
    const graph &g_;
    const node &n_;
    const std::vector<bool> &depends_;
};

namespace rows {

// Questions, each for a family of operators.

bool never(const node_rows &o);
bool broadcast(const node_rows &o);
bool first_input(const node_rows &o);
bool broadcast_in_groups(const node_rows &o);
bool first_input_in_groups(const node_rows &o);
bool windows(const node_rows &o);
bool windows_in_groups(const node_rows &o);
bool inner_axis_or_last(const node_rows &o);
bool inner_axis_or_first(const node_rows &o);
bool last_axis(const node_rows &o);
bool reduce(const node_rows &o);
bool transpose(const node_rows &o);
bool tflite_pad(const node_rows &o);
bool tile(const node_rows &o);
bool expand(const node_rows &o);
bool concatenation(const node_rows &o);
bool gather(const node_rows &o);
bool gemm(const node_rows &o);
bool matrices(const node_rows &o);
bool qlinear_matrices(const node_rows &o);

} // namespace rows

} // namespace octet::model
