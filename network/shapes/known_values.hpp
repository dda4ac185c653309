#pragma once // SPDX-License-Identifier: Apache-2.0

// Results of operators on numbers that are known before a network runs: a function for each operator, which
// its row names (`known`). Elements are s32 or f32, and a double holds either: one operation on doubles,
// rounded to f32, is the operation on f32, because a double has more than twice the bits of an f32 and two
// more. Functions of numbers are here; those that move elements stand with their operators.

#include <optional>

#include "network/graph/element_map.hpp"
#include "network/graph/index_walk.hpp"
#include "network/graph/node_marks.hpp"
#include "network/graph/operator_facts.hpp"

namespace octet::model {

using known_values = std::vector<double>;

/// A node whose inputs are known, or their dimensions where its function needs no more.
class known_node {
public:
    known_node(const graph &g, const node &n, std::vector<known_values> inputs)
        : g_(g), n_(n), inputs_(std::move(inputs)) {}

    std::size_t input_count() const { return inputs_.size(); }
    const known_values &input(std::size_t i) const { return inputs_.at(i); }
    const memory::dims &dims(std::size_t i) const { return tensor_at(g_, input_of(n_, i)).dims; }
    const memory::dims &output_dims() const { return tensor_at(g_, output_of(n_)).dims; }
    bool has_integers(std::size_t i) const { return tensor_at(g_, input_of(n_, i)).type != data_type::f32; }
    /// The element of an input that is read for an element of the output; sizes of 1 and missing leading ones
    /// are broadcast.
    double broadcast_element(std::size_t i, const memory::dims &at) const;

    const attribute *find(const std::string &name) const;
    const node_marks &marks() const { return marks_of(n_); }
    std::int64_t integer(const std::string &name, std::int64_t absent) const {
        return attribute_or(n_, name, absent);
    }
    std::vector<std::int64_t> integers(const std::string &name) const {
        return attribute_or(n_, name, std::vector<std::int64_t>());
    }
    /// Attribute "axis" among `rank` dimensions; negative ones count from the end.
    std::size_t axis(std::size_t rank) const {
        const std::int64_t given = integer("axis", 0);
        return static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(rank) : given);
    }

    /// An output whose elements are f(flat index, coordinates).
    template <typename F> known_values filled(const F &f) const {
        const memory::dims &y = output_dims();
        known_values result(static_cast<std::size_t>(element_count(y)));
        memory::dims at(y.size());
        for (std::size_t i = 0; i < result.size(); i++) {
            result[i] = f(i, at);
            next_index(at, y);
        }
        return result;
    }
    /// Elements of input 0, by the map that `map()` makes; it is not made where there are none.
    template <typename Map> known_values moved(const Map &map) const {
        if (element_count(output_dims()) == 0)
            return {};
        const element_map from = map();
        return filled([&](std::size_t, const memory::dims &at) {
            dim_t offset = 0;
            for (std::size_t d = 0; d < at.size(); d++)
                offset += from[d][static_cast<std::size_t>(at[d])];
            return inputs_[0][static_cast<std::size_t>(offset)];
        });
    }

private:
    const graph &g_;
    const node &n_;
    std::vector<known_values> inputs_;
};

/// Returns the known result of a node. `numbers_of(tensor index)` returns the numbers of an input, or nothing
/// if they are not known.
template <typename Numbers>
std::optional<known_values> known_result(const graph &g, const node &n, const operator_facts &facts,
                                         const Numbers &numbers_of) {
    if (!facts.known)
        return {};
    std::vector<known_values> inputs;
    if (!facts.is_known_from_dims)
        for (const tensor_id t : inputs_of(n)) {
            std::optional<known_values> numbers = numbers_of(t);
            if (!numbers)
                return {};
            inputs.push_back(std::move(*numbers));
        }
    return facts.known(known_node(g, n, std::move(inputs)));
}

/// Index of an element of a dense tensor with these dimensions.
std::size_t flat_index(const memory::dims &dims, const memory::dims &at);

// Nothing where a function does not know its result, which the node then computes when the network runs.
namespace numbers {

std::optional<known_values> add(const known_node &n);
std::optional<known_values> sub(const known_node &n);
std::optional<known_values> mul(const known_node &n);
std::optional<known_values> div(const known_node &n);
std::optional<known_values> mod(const known_node &n);
std::optional<known_values> min(const known_node &n);
std::optional<known_values> max(const known_node &n);
std::optional<known_values> both(const known_node &n);   ///< And
std::optional<known_values> either(const known_node &n); ///< Or
std::optional<known_values> equal(const known_node &n);
std::optional<known_values> less(const known_node &n);
std::optional<known_values> less_or_equal(const known_node &n);
std::optional<known_values> greater(const known_node &n);
std::optional<known_values> greater_or_equal(const known_node &n);
std::optional<known_values> neg(const known_node &n);
std::optional<known_values> inverse(const known_node &n); ///< Not
std::optional<known_values> floor(const known_node &n);
std::optional<known_values> ceil(const known_node &n);
std::optional<known_values> sqrt(const known_node &n);
std::optional<known_values> cast(const known_node &n);
std::optional<known_values> where(const known_node &n);

std::optional<known_values> view(const known_node &n); ///< the elements of input 0 under other dimensions
std::optional<known_values> range(const known_node &n);
std::optional<known_values> constant_of_shape(const known_node &n);
std::optional<known_values> non_zero(const known_node &n);
std::optional<known_values> shape(const known_node &n); ///< needs dimensions alone
std::optional<known_values> size(const known_node &n);  ///< likewise

} // namespace numbers

} // namespace octet::model
