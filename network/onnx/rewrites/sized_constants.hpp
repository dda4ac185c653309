#pragma once // SPDX-License-Identifier: Apache-2.0

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "network/graph/operator_facts.hpp"

namespace octet::model {

/// One number of a computed list of sizes: a constant, a dimension of a tensor, or what a network makes of
/// those.
struct size_entry {
    tensor_id source; ///< the tensor whose dimension it is
    std::size_t dim = 0;
    std::optional<std::int64_t> constant;

    bool is(std::int64_t value) const { return constant == value; }
    bool is_size(tensor_id of, std::size_t d) const { return source == of && dim == d; }
};

/// A node that computed sizes, which a constant has taken the place of.
struct size_node {
    node computing;
    std::size_t readers = 0; ///< of its results, where equal nodes are one (CommonSubexpressionElimination)
    tensor_id equal_to;      ///< the first tensor that an equal node writes
    std::vector<size_entry> entries; ///< of a Concat of sizes
};

/// Constants that a network computes from sizes of its tensors.
struct sized_constants {
    std::set<tensor_id> tensors;
    std::vector<tensor_id> in_order; ///< the same, as they were computed
    std::set<tensor_id> measured;    ///< of which a Shape took the sizes
    /// Floats of `tensors` that ONNX Runtime computes only when it runs, because it does not know all
    /// dimensions of the tensor whose sizes they are.
    std::set<tensor_id> open_floats;
    /// Constants of `tensors` that follow from an unknown size; none until they have been found.
    std::optional<std::set<tensor_id>> open;
    std::map<tensor_id, size_node> nodes; ///< by what they wrote
    /// For constants whose shape follows such values, too, the dimensions that do (positions up to a computed
    /// end).
    std::map<tensor_id, std::vector<bool>> open_dims;
};

/// Returns the elements of a constant of integers; nothing for any other tensor, or none.
std::optional<memory::dims> constant_integers(const graph &g, tensor_id t);

/// Whether nodes compute the same of equal inputs.
bool are_alike(const graph &g, const node &a, const node &b);

/// Returns for each dimension of a node's output whether it follows the values of inputs that are among
/// `sized`, or their open dimensions. Reshape has a rule of its own and is not asked. Empty if no dimension
/// does.
std::vector<bool> open_dims(const graph &g, const node &n, const operator_facts &facts,
                            const sized_constants &sized);

/// Makes constants of integers that follow from sizes alone (`fold_integers`), before all other passes, and
/// returns them. A Shape that ONNX Runtime keeps stays beside its constant, since it reads a tensor that
/// passes want to replace.
sized_constants take_sized_constants(graph &g);

} // namespace octet::model
