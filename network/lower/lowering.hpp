#pragma once // SPDX-License-Identifier: Apache-2.0

// The view of a node that its lowering function has. The function reads the node through `lowering`, checks
// what it needs, creates primitives, and returns a step that holds them with their arguments. Failures are
// octet::error sentences about the node; `network` puts "node N (OP): " in front.

#include <functional>
#include <initializer_list>
#include <optional>

#include "network/graph/descs.hpp"
#include "network/graph/evaluator.hpp"
#include "network/graph/node_marks.hpp"
#include "network/lower/buffers.hpp"
#include "network/lower/step.hpp"

namespace octet::model {

constexpr prop_kind inference = prop_kind::forward_inference; ///< of every primitive that a network makes

/// Elements of a result that a kernel takes together, by vectors; those behind the last whole group have scalar code.
struct element_groups {
    dim_t size = 0;             ///< 0: all elements have one code
    bool is_by_channel = false; ///< counted in each pixel, else in the whole tensor
};

/// A runtime's arithmetic for a node (network/runtime.hpp).
struct contract {
    requantization_rule rule;
    std::optional<scale_derivation> derivation = {}; ///< unless it is that of the operator's own lowering
    element_groups groups = {}; ///< whose elements `rule` is of; behind them it is TFLite's
};

class lowering;
/// Returns a profile's contract for a node; nothing if the profile has none for it, or if there is no
/// profile.
using contract_finder = std::function<std::optional<contract>(const lowering &)>;

class lowering {
public:
    /// `rule` is that of the accumulating operators; `evaluate` runs single nodes while others are lowered.
    lowering(const node &n, const graph &g, tensor_buffers &buffers, const engine &e,
             requantization_rule rule, const evaluator &evaluate)
        : node_(n), graph_(g), buffers_(buffers), engine_(e), rule_(rule), evaluate_(evaluate) {}

    /// This lowering under a contract of a profile; `others` finds the contracts of operators that are fused
    /// behind this one.
    lowering under(const contract &c, const contract_finder &others) const {
        lowering other(node_, graph_, buffers_, engine_, c.rule, evaluate_);
        other.contract_ = c;
        other.contract_of_ = others;
        return other;
    }

    const node &get_node() const { return node_; }
    requantization_rule rule() const { return rule_; }
    /// The rule of the node's contract; without one `otherwise`.
    requantization_rule rule_or(requantization_rule otherwise) const {
        return contract_ ? contract_->rule : otherwise;
    }
    /// The groups of elements that are rounded by the contract's rule (tflite/ops/groups.hpp).
    element_groups groups() const { return contract_ ? contract_->groups : element_groups{}; }
    /// This lowering with a rule for all elements.
    lowering ruled_by(requantization_rule rule) const {
        return under({rule, contract_ ? contract_->derivation : std::nullopt}, contract_of_);
    }
    scale_derivation derivation_or(scale_derivation otherwise) const {
        return contract_ ? contract_->derivation.value_or(otherwise) : otherwise;
    }
    const evaluator &get_evaluator() const { return evaluate_; }
    const engine &get_engine() const { return engine_; }
    const graph &get_graph() const { return graph_; }

    /// The tensor that the operator itself computes: the output, or the tensor that it would hand to the
    /// first operator that is fused behind it.
    const tensor &result() const;

    /// The lowering of another node, one that is fused behind this one.
    lowering of(const node &n) const {
        const lowering other(n, graph_, buffers_, engine_, rule_, evaluate_);
        const std::optional<contract> found = contract_of_ ? contract_of_(other) : std::nullopt;
        return found ? other.under(*found, contract_of_) : other;
    }

    /// Tensors of the node. Throw if absent, or of a type that is not in `types`.
    bool has_input(std::size_t i) const { return input_of(node_, i).has_value(); }
    std::size_t input_count() const { return node_.inputs.size(); }
    const tensor &input(std::size_t i) const;
    const tensor &input(std::size_t i, std::initializer_list<data_type> types) const;
    const tensor &output() const;
    const tensor &output(std::initializer_list<data_type> types) const;
    const tensor &output(std::size_t i, std::initializer_list<data_type> types) const; ///< of several

    /// Integers of a constant s32 input (axes, paddings, a permutation).
    std::vector<std::int64_t> constant_integers(std::size_t i) const;

    const node_marks &marks() const { return marks_of(node_); }
    bool has_attribute(const std::string &name) const { return node_.attributes.count(name) != 0; }
    std::int64_t integer(const std::string &name) const;
    std::int64_t integer(const std::string &name, std::int64_t fallback) const;
    std::vector<std::int64_t> integers(const std::string &name,
                                       const std::vector<std::int64_t> &fallback) const;
    float real(const std::string &name) const;
    float real(const std::string &name, float fallback) const;
    std::string text(const std::string &name) const;
    std::string text(const std::string &name, const std::string &fallback) const;

    /// The buffer of an input or of an output, in the tensor's layout or seen through `d`.
    buffer input_buffer(std::size_t i) const;
    buffer input_buffer(std::size_t i, const memory::desc &d) const;
    buffer output_buffer() const;
    buffer output_buffer(const memory::desc &d) const;
    buffer output_buffer(std::size_t i) const; ///< of several

    /// Bytes for the time that the node runs.
    buffer scratch(const memory::desc &d) const { return buffers_.scratch(d); }

    /// Lets the output's buffer outlive runs, filled with copies of `element` when a context is made; asked for
    /// before the buffer.
    void fill_output(std::vector<std::uint8_t> element) const;

    /// A constant input in the layout that the primitive chose, reordered once. Who asks for it may not read the
    /// elements, which saved plans do not have (save_plan in run/plan.cpp knows the exception).
    buffer packed_input(std::size_t i, const memory::desc &plain, const memory::desc &chosen) const;
    /// Constant inputs together in `size` bytes that `fill` writes once for all plans, on one thread, while the
    /// next nodes are lowered. `form` tells them from the same inputs in other forms.
    std::shared_ptr<const joint_constants> packed_inputs(const std::vector<std::size_t> &inputs,
                                                         const std::string &form, std::size_t size,
                                                         const std::function<void(void *)> &fill) const;

    /// Lets the output share the input's buffer.
    void alias_output_to_input(std::size_t i) const;
    /// Lets the output share the input's buffer, which the node writes to.
    void overwrite_input(std::size_t i) const;

private:
    tensor_id input_id(std::size_t i) const;
    tensor_id output_id() const;
    tensor_id output_id(std::size_t i) const;
    template <typename T> const T &attribute_as(const std::string &name, const char *kind) const;

    const node &node_;
    const graph &graph_;
    tensor_buffers &buffers_;
    const engine &engine_;
    const requantization_rule rule_;
    const evaluator &evaluate_;
    std::optional<contract> contract_;
    contract_finder contract_of_;
};

} // namespace octet::model
