#pragma once // SPDX-License-Identifier: Apache-2.0

// All that the runtime of graphs knows of a framework. Shared code asks a dialect, or the row of an operator
// (graph/operator_facts.hpp), and names neither; dialects/dialects.cpp has the list.

#include <initializer_list>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "network/graph/evaluator.hpp"
#include "network/graph/operator_facts.hpp"
#include "network/rewrites.hpp"

namespace octet {
inline namespace v0 {

struct network_options;

namespace model {

class runtime;

/// The rows of a dialect's families by name.
class operator_table {
public:
    using family = operator_rows (*)();
    explicit operator_table(std::initializer_list<family> families);

    /// Null for an operator that is not known.
    const operator_facts *find(std::string_view op) const;
    /// Operators that files may have, in the order of their names.
    std::vector<std::string> listed() const;

private:
    std::unordered_map<std::string_view, const operator_facts *> rows_;
};

struct dialect {
    std::string_view name; ///< `graph::framework`

    /// Made when it is asked for: a process that loads files of one framework never makes the other's table.
    const operator_table &(*operators)() = nullptr;

    // ---- Its files

    /// The name in a graph of an operator in a domain.
    std::string (*operator_name)(const std::string &domain, const std::string &op) = nullptr;
    /// Makes of nodes as they come nodes of the table; null: they are. See `complete_onnx_graph`.
    void (*complete)(graph &g, std::vector<bool> is_int64) = nullptr;
    bool has_narrow_attributes = false; ///< its integers have 32 bits

    // ---- Its networks

    /// Types and all dimensions of what nodes compute follow from those of the inputs. Otherwise files say
    /// them, and only dimensions follow, where inputs get others.
    bool infers_all = false;
    /// An operand of fewer dimensions meets another dimension than the batch when it is broadcast.
    bool may_broadcast_batch = false;
    requantization_rule quantization = requantization_rule::automatic; ///< how it makes codes of real numbers

    /// The runtime of a profile that `check_profile` allows (network/runtime.hpp), or of none; null: the
    /// operators' own lowerings are the only one.
    std::shared_ptr<const runtime> (*find_runtime)(const std::string &profile) = nullptr;

    // ---- Passes, in this order

    /// The framework's own rewrites, in its order, and what Octet's operators need. `evaluate` computes
    /// constants.
    rewrite_history (*prepare)(graph &g, const network_options &options, const evaluator &evaluate) = nullptr;
    /// Chooses between layouts of images where operators know several; null: they know one.
    void (*assign_layouts)(graph &g) = nullptr;
    /// Joins operators that no pass for all dialects joins (passes/fusion.hpp); null: none.
    void (*fuse)(graph &g) = nullptr;
};

/// Null for a framework that is not known.
const dialect *find_dialect(std::string_view framework);
/// Throws octet::error for a framework that is not known.
const dialect &dialect_of(std::string_view framework);

/// The facts of an operator of a dialect or graph where it is known, and none where it is not.
///@{
const operator_facts &facts_of(const dialect &spoken, std::string_view op);
const operator_facts &facts_of(const graph &g, std::string_view op);
inline const operator_facts &facts_of(const graph &g, const node &n) { return facts_of(g, n.op); }
///@}

} // namespace model
} // namespace v0
} // namespace octet
